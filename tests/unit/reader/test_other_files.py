"""Files that are no recording are called by their names."""

import gzip
from pathlib import Path

import pytest

from tests.support.command import perf2x, recording

FILES = {
    b"": "it is empty",
    b"\x7fELF\2\1\1" + bytes(64): "an ELF program",
    b"\x89PNG\r\n\x1a\n" + bytes(64): "an image",
    b"SIMPLEPERF\1\0" + bytes(64): "simpleperf's protobuf",
    b'{"traceEvents": []}': "JSON from another tool",
    b"<?xml version='1.0'?><svg/>": "a page or an image",
    b"\n\n# Total Lost Samples: 0\n#\n# Samples: 3\n": "output of perf report",
    b"  42 0x401136/0x401140/P/-/-/0  0x1/0x2/P/-/-/0 \n": "branches as text, printed by",
    b"7/9 4.88: 1 branches:uH: call 401140 main (/p) => 401100 work (/p)\n": "branches as text",
    b"@[\n    read+1\n]: 1\n": "output of bpftrace",
    b"Sampling at 49 Hertz of all threads by user + kernel stack... Hit Ctrl-C to end.\n": "output of a bcc tool",
    b"starting" + bytes(9): "starts with b'starting'",
}


@pytest.mark.parametrize("data", FILES, ids=lambda data: repr(data[:12]))
def test_what_a_file_is(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(data)
    ran = perf2x("top", path)
    assert (ran.code, ran.out) == (1, "")
    assert FILES[data] in ran.said
    if data:
        path.write_bytes(gzip.compress(data))
        assert FILES[data] in perf2x("top", path).said


def test_own_profiles_are_known(tmp_path: Path) -> None:
    path = tmp_path / "own.pb.gz"
    assert perf2x("convert", recording("calls"), "-o", path, "-q").code == 0
    assert "a pprof profile, not a recording" in perf2x("top", path).said


@pytest.mark.parametrize("data", [b"\n" * 4096, b" " * 4096, b"#\n" * 2048, b" 0x1/0x1" * 512])
def test_no_pattern_takes_long(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(data)
    assert perf2x("top", tmp_path / "file").code == 1
