"""Header sections in the form of records."""

import struct
from pathlib import Path

import pytest

from tests import forge
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


def test_groups_that_overlap_are_taken_once(tmp_path: Path) -> None:
    """Each event is in one group; otherwise a small section could name all events any number of times."""
    groups = (("a", 0, 2), ("b", 1, 3), ("c", 2, 0), ("d", 2, 2), ("e", 0, 4))
    events = tuple(forge.Event(ids=(number,)) for number in range(1, 5))
    session = forge.Session(events=events, features=forge.Features(groups=groups))
    recording = opened(tmp_path, forge.write_file(session, [forge.Sample()]))
    assert [event.group_leader for event in recording.session.events] == [0, 0, 2, 2]
