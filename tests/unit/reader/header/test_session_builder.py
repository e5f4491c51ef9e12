"""Header sections in the form of records."""

import struct
from pathlib import Path

import pytest

from tests.support.reading import opened


def record(kind: int, payload: bytes) -> bytes:
    return struct.pack("<IHH", kind, 0, 8 + len(payload)) + payload


ATTR = record(64, struct.pack("<IIQQQQQ", 1, 64, 0, 1000, 7, 0, 0).ljust(64, b"\0") + struct.pack("<Q", 5))


@pytest.mark.parametrize("last", [20, 32, 33, 35, 500])
def test_the_end_mark_is_no_section(tmp_path: Path, last: int) -> None:
    """perf 6.1 ends with an empty section 32, a number that perf 7.2 gave to CPU_DOMAIN_INFO."""
    stream = struct.pack("<8sQ", b"PERFILE2", 16) + ATTR + record(80, struct.pack("<Q", last))
    recording = opened(tmp_path, stream)
    assert not recording.diagnostics.counts
    assert not recording.session.features
