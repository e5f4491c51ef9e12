"""Prints one working CPython of this machine for each version that pyproject.toml claims: ``3.12 /path/to/python``.

Looks into PATH, into pyenv's versions (its shims stand in PATH for versions that they then refuse to run), and asks uv,
named as the first argument, which also tries to install what is missing. Says on standard error what is not to be had.
"""

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ASK = (
    "import json, sys, sysconfig, venv, ensurepip; print(json.dumps([sys.implementation.name, sys.version_info[:2], "
    "sys.version_info[3], sysconfig.get_config_var('Py_GIL_DISABLED') or 0, sys.executable]))"
)


def said(*words: str | Path, seconds: int = 30) -> str:
    """Output of a command; "" when it fails, takes too long or is none."""
    try:
        ran = subprocess.run(words, capture_output=True, text=True, timeout=seconds, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return ran.stdout if ran.returncode == 0 else ""


def claimed() -> list[str]:
    """Versions of the classifiers."""
    project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
    found = (re.fullmatch(r".* :: Python :: (3\.\d+)", line) for line in project["classifiers"])
    return [match[1] for match in found if match]


def candidates(uv: str) -> Iterator[str | Path]:
    """Everything that may be a Python, whether it runs or not."""
    for folder in os.get_exec_path():
        if Path(folder).is_dir():
            yield from sorted(path for path in Path(folder).iterdir() if re.fullmatch(r"python3(\.\d+)?", path.name))
    for version in said("pyenv", "versions", "--bare").split():
        yield Path(said("pyenv", "prefix", version).strip()) / "bin" / "python3"
    rows = json.loads(said(uv, "python", "list", "--only-installed", "--output-format", "json") or "[]")
    yield from (row["path"] for row in rows if row["path"])


def working(uv: str) -> dict[str, str]:
    """{version: path}: the first of each that runs, is a final release of CPython with a GIL, and can make a venv."""
    found: dict[str, str] = {}
    for path in candidates(uv):
        answer = said(path, "-I", "-c", ASK)
        if answer:
            name, (major, minor), level, free_threaded, executable = json.loads(answer)
            if (name, level, free_threaded) == ("cpython", "final", 0):
                found.setdefault(f"{major}.{minor}", executable)
    return found


def main() -> None:
    """Print the Pythons."""
    uv = sys.argv[1] if len(sys.argv) > 1 else "uv"
    found = working(uv)
    for version in claimed():
        if version not in found:
            said(uv, "python", "install", version, seconds=120)
            if path := said(uv, "python", "find", "--managed-python", "--no-project", version).strip():
                found[version] = path
        if version in found:
            print(version, found[version])
        else:
            print(f"no CPython {version} here, and none to be installed", file=sys.stderr)


if __name__ == "__main__":
    main()
