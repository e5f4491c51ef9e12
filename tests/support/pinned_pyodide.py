"""Takes another Pyodide, or stand-ins for its files, for the one that ``perf2x web`` is pinned to."""

import base64
import hashlib
import json
from pathlib import Path

import pytest

from perf2x.cli.web import write_folder


def packages() -> list[str]:
    """Names of the packages that the page needs of Pyodide."""
    return list(json.loads(write_folder._page_file("pyodide.json"))["lock"]["packages"])


def pin(patch: pytest.MonkeyPatch, folder: Path) -> None:
    """Expect the files of this folder."""
    real = write_folder._page_file
    lock = json.loads((folder / "pyodide-lock.json").read_text())
    held = {name: lock["packages"][name] for name in packages()}
    for one in held.values():
        one["sha256"] = hashlib.sha256((folder / one["file_name"]).read_bytes()).hexdigest()
    core = ["pyodide.mjs", "python_stdlib.zip", *sorted(path.name for path in folder.glob("pyodide.asm.*"))]
    digests = {name: base64.b64encode(hashlib.sha256((folder / name).read_bytes()).digest()).decode() for name in core}
    pinned = json.loads(real("pyodide.json")) | {
        "core": {name: f"sha256-{digest}" for name, digest in digests.items()},
        "lock": {"info": lock["info"], "packages": held},
    }
    content = json.dumps(pinned).encode()
    patch.setattr(write_folder, "_page_file", lambda name: content if name == "pyodide.json" else real(name))
