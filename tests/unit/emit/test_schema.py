"""The committed module is what the committed schema generates.

python -m grpc_tools.protoc -Iproto --python_out=converter/perf2x/emit --pyi_out=converter/perf2x/emit profile.proto
"""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def test_generated_module_is_up_to_date(tmp_path):
    pytest.importorskip("grpc_tools", reason="grpcio-tools is not installed (pip install 'perf2x[dev]')")
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{ROOT / 'proto'}", f"--python_out={tmp_path}"]
    subprocess.run([*command, f"--pyi_out={tmp_path}", "profile.proto"], check=True)
    for name in ("profile_pb2.py", "profile_pb2.pyi"):
        committed = (ROOT / "converter/perf2x/emit" / name).read_text()
        assert (tmp_path / name).read_text() == committed, f"{name} is stale: see the top of this file"
