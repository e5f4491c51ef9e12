"""A machine at its worst, against which tests must hold: ``python -m tests.support.poison DIR > environment``.

It has files with wrong names in every place that perf2x and perf look at, under the build ids of all recordings of the
repository, and an environment that sets options. CI runs the tests in it: one that passes with an empty home directory
and fails here sees the machine.
"""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.support.recordings import CORPUS, ROOT
from tests.support.tiny_elf import TinySection, TinySymbol, symbol_sections, tiny_elf

WRONG = "poison"
"""No recording has a function of this name."""


def recorded_objects() -> Iterator[tuple[str, str]]:
    """(name, build id in hexadecimal digits or "") of everything that was sampled in the repository's recordings."""
    for path in sorted([*CORPUS.glob("*/perf.data"), *ROOT.glob("examples/*/perf.data")]):
        words = [sys.executable, "-m", "perf2x", "info", "--json", "--symbols", str(path)]
        ran = subprocess.run(words, capture_output=True, text=True, check=False)
        symbols = json.loads(ran.stdout).get("symbols") if ran.returncode == 0 else None
        for row in symbols["objects"] if symbols else ():
            yield row["name"], row["build_id"]


def wrong_object(build_id: bytes) -> bytes:
    """An ELF file that says of every address that it is ``WRONG``."""
    note = b"\x04\0\0\0" + len(build_id).to_bytes(4, "little") + b"\x03\0\0\0GNU\0" + build_id
    sections = [
        TinySection(".text", b"\x90" * 16, 0, flags=6),
        TinySection(".note.gnu.build-id", note, 0x7FFFFF00, type="NOTE", flags=2),
        *symbol_sections([TinySymbol(WRONG, 0, 1 << 47)], 3),
    ]
    return tiny_elf(sections)


def put(path: Path, content: bytes) -> None:
    """Write a file and the directories that lead to it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def poison(folder: Path) -> Mapping[str, str]:
    """Fill ``folder`` and return the variables that lead there."""
    home, root = folder / "home", folder / "root"
    for name, build_id in set(recorded_objects()):
        content = wrong_object(bytes.fromhex(build_id))
        if build_id:
            first, rest = build_id[:2], build_id[2:]
            cached = home / ".debug" / ".build-id" / first / rest
            for kind in ("elf", "debug", "vdso"):
                put(cached / kind, content)
            put(cached / "kallsyms", f"0000000000000000 T {WRONG}\n".encode())
            put(root / "usr/lib/debug/.build-id" / first / f"{rest}.debug", content)
        if re.fullmatch(r"(/[\w.+-]+)+", name):
            put(root / name[1:], content)
    for pid in range(1, 1000):
        put(root / f"tmp/perf-{pid}.map", f"0 7fffffffffff {WRONG}\n".encode())
    return {
        "HOME": str(home),
        "USERPROFILE": str(home),
        "PERF2X_SYSROOT": str(root),
        "DEBUGINFOD_URLS": "http://127.0.0.1:9",
        "NO_COLOR": "1",
        "COLUMNS": "40",
        "GITHUB_ACTIONS": "true",
        "GITHUB_STEP_SUMMARY": str(folder / "summary"),
        "TZ": "Asia/Kathmandu",
    }


if __name__ == "__main__":
    os.environ.pop("PERF2X_SYSROOT", None)
    for variable, value in poison(Path(sys.argv[1]).absolute()).items():
        print(f"export {variable}={shlex.quote(value)}")
