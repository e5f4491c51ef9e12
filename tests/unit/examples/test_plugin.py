"""The example plugin, really installed: found, listed, run, and kept to the contract."""

import importlib.util
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

PLUGIN = Path(__file__).parents[3] / "examples/plugin"

USE = """
import io
from perf2x.kernel.registry import EMITTERS, build_emitter
from perf2x.base.installed_packages import entry_points_by_name
from perf2x.testing import ProfileBuilder
assert {"tree-csv", "tree-json", "pprof"} <= set(entry_points_by_name(EMITTERS))
builder = ProfileBuilder()
builder.event(); builder.thread()
builder.sample([builder.function("main"), builder.function("work")], value=30)
builder.sample([builder.function("main")], value=10)
out = io.BytesIO()
build_emitter("tree-csv", {"root": "mine"}).emit(builder.build(), out)
print(out.getvalue().decode(), end="")
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> dict[str, str]:
    for needed in ("pip", "setuptools"):
        if importlib.util.find_spec(needed) is None:
            pytest.skip(f"{needed} is not installed")
    if int(version("setuptools").split(".")[0]) < 77:
        pytest.skip("this setuptools does not know license expressions (pip install 'perf2x[dev]')")
    target = tmp_path_factory.mktemp("plugins")
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation"]
    copy = tmp_path_factory.mktemp("source")  # building leaves files beside the source
    for file in PLUGIN.iterdir():
        (copy / file.name).write_bytes(file.read_bytes()) if file.is_file() else None
    subprocess.run([*install, "--target", str(target), str(copy)], check=True)
    return {**os.environ, "PYTHONPATH": str(target)}


@pytest.mark.slow
def test_installed_plugin_is_found_and_takes_options(installed) -> None:
    ran = subprocess.run([sys.executable, "-c", USE], env=installed, capture_output=True, text=True, check=True)
    assert ran.stdout == "level,value,self,label\n0,40,0,mine\n1,40,10,main\n2,30,30,work\n"


@pytest.mark.slow
def test_installed_plugin_keeps_the_contract(installed) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(PLUGIN)]
    ran = subprocess.run(command, env=installed, capture_output=True, text=True, check=False, cwd=PLUGIN)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_plugin_stays_short() -> None:
    assert len((PLUGIN / "perf2x_tree.py").read_text().splitlines()) <= 75
