"""A recording that a process cannot map is refused for its size: 32 bits, or ulimit -v."""

import errno
from pathlib import Path
from typing import IO

import pytest

from tests.support.command import perf2x, recording


@pytest.mark.parametrize(
    "error", [ValueError("mmap length is too large"), OSError(errno.ENOMEM, "Cannot allocate memory")], ids=repr
)
def test_a_file_too_large_to_map_is_refused(error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: IO[bytes]) -> None:
        raise error

    monkeypatch.setattr("perf2x.reader.containers.input_file.map_file", refuse)
    source = recording("calls")
    ran = perf2x("convert", source, "-o", tmp_path / "out.folded")
    said = f"{source}: too large for this process: Python has 32 bits, or ulimit -v is set"
    assert (ran.code, ran.err) == (1, f"perf2x: {said}\n")
