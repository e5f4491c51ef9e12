"""A folder with Pyodide for ``perf2x web --pyodide``: what PERF2X_PYODIDE names, and stand-ins for what that lacks."""

import hashlib
import json
import os
import shutil
import zipfile
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

import pytest

from tests.support.pinned_pyodide import packages

SOURCE = os.environ.get("PERF2X_PYODIDE", "")  # now: tests do not see it
STAND_IN = Path(__file__).parent / "stand_ins" / "msgspec.py"


def pyodide_folder(folder: Path) -> Path:
    """The folder, filled; skips where there is no Pyodide with numpy."""
    if not SOURCE:
        pytest.skip("no Pyodide with numpy here: PERF2X_PYODIDE=FOLDER, with its pyodide-lock.json and wheels")
    shutil.copytree(SOURCE, folder, dirs_exist_ok=True)
    lock = json.loads((folder / "pyodide-lock.json").read_text())
    for name, files in {"msgspec": _stand_in, "protobuf": _pure_protobuf}.items():
        if name not in lock["packages"]:
            lock["packages"][name] = _wheel(folder, name, dict(files()))
    assert set(packages()) <= set(lock["packages"]), "Pyodide without numpy"
    (folder / "pyodide-lock.json").write_text(json.dumps(lock))
    return folder


def _wheel(folder: Path, name: str, files: dict[str, bytes]) -> dict[str, object]:
    """Write files as a wheel; its entry in Pyodide's list."""
    wheel = folder / f"{name}-0-py3-none-any.whl"
    about = {"METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 0\n", "WHEEL": "Wheel-Version: 1.0\n"}
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as out:
        for path, content in [*files.items(), *((f"{name}-0.dist-info/{at}", text) for at, text in about.items())]:
            out.writestr(path, content)
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    fixed = {"depends": [], "install_dir": "site", "package_type": "package", "unvendored_tests": False, "version": "0"}
    return {"name": name, "file_name": wheel.name, "imports": [name], "sha256": digest, **fixed}


def _stand_in() -> Iterator[tuple[str, bytes]]:
    yield STAND_IN.name, STAND_IN.read_bytes()


def _pure_protobuf() -> Iterator[tuple[str, bytes]]:
    """The package's Python files: without its native part they are slow, and enough."""
    for file in distribution("protobuf").files or ():
        if file.suffix == ".py":
            yield file.as_posix(), file.read_binary()
