"""The committed module holds the committed schema.

cd converter/perf2x/emitters/pprof
python -m grpc_tools.protoc -I../../../../proto --python_out=. --pyi_out=. profile.proto
with grpcio-tools 1.76.0: what a later one generates needs a later protobuf to run.
"""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]


def test_generated_module_is_up_to_date(tmp_path) -> None:
    pytest.importorskip("grpc_tools", reason="grpcio-tools is not installed (pip install 'perf2x[dev]')")
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{ROOT / 'proto'}", f"--python_out={tmp_path}"]
    subprocess.run([*command, f"--pyi_out={tmp_path}", "profile.proto"], check=True)
    made, committed = (
        (folder / "profile_pb2.py").read_text() for folder in (tmp_path, ROOT / "converter/perf2x/emitters/pprof")
    )
    assert schema_in(made) == schema_in(committed), "profile_pb2.py is stale: see the top of this file"


def schema_in(module) -> bytes:
    """The serialized schema; all else differs with the version of protoc that generated the module."""
    return ast.literal_eval(re.search(r"AddSerializedFile\((b'.*')\)$", module, re.MULTILINE)[1])
