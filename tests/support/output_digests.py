"""Digests of what commands say of recordings, to be compared between machines: `.ci/narrow` has one of 32 bits.

    python -m tests.support.output_digests [RECORDING …]

Without arguments it takes every recording in examples/ and tests/corpus/.
"""

import sys
import tempfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from perf2x.base.installed_packages import entry_points_by_name
from perf2x.kernel.registry import EMITTERS
from tests.support.command import Ran, perf2x
from tests.support.isolation import isolated
from tests.support.recordings import ROOT

COMMANDS = "report", "info", "dump"


def _digests(recording: str, folder: Path) -> Iterator[str]:
    """Lines: digests of the file and of what was said, the exit code, and what was done."""
    for name in sorted(entry_points_by_name(EMITTERS)):
        target = folder / "out"
        ran = perf2x("convert", recording, "--to", name, "-o", target, "--jobs", 1)
        content = target.read_bytes() if target.is_file() else b""
        target.unlink(missing_ok=True)
        yield f"{_digest(ran, content)} {recording} {name}"
    for name in COMMANDS:
        yield f"{_digest(perf2x(name, recording))} {recording} {name}"


def _digest(ran: Ran, content: bytes = b"") -> str:
    said = ran.out + ran.err
    return f"{sha256(content).hexdigest()[:16]} {sha256(said.encode()).hexdigest()[:16]} {ran.code}"


def main() -> None:
    """Print the digests of the recordings that are named, as paths from the repository's root."""
    found = sorted(path for folder in ("examples", "tests/corpus") for path in (ROOT / folder).rglob("perf.data*"))
    recordings = sys.argv[1:] or [str(path.relative_to(ROOT)) for path in found]
    made = Path(tempfile.gettempdir()) / "perf2x-digests"  # a name that wraps alike everywhere
    made.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        isolated(patch, made)
        for recording in recordings:
            for line in _digests(recording, made):
                print(line, flush=True)


if __name__ == "__main__":
    main()
