"""``perf record -s``: what each thread had counted when it ended; in sum in ``info`` and ``report``."""

import json
from pathlib import Path

import pytest

from tests.forge import Event, Read, Sample, Session, Stamp, write_file
from tests.forge import kernel as k
from tests.support.command import perf2x, recording

KIND = k.IP | k.TID | k.TIME | k.IDENTIFIER
EVENTS = [
    Event(ids=(11, 12), sample_type=KIND, config=0, read_format=k.READ_ID),
    Event(ids=(21,), sample_type=KIND, config=2, read_format=k.READ_ID),
    Event(ids=(31,), sample_type=KIND, config=3, read_format=k.READ_GROUP),
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    reads = [(7, 11, (500, 11)), (7, 12, (30, 12)), (8, 11, (2**63, 11)), (8, 21, (4, 21)), (8, 31, (2, 9, 9))]
    records = [Read(pid=7, tid=tid, words=words, stamp=Stamp(7, tid, 5, id=at)) for tid, at, words in reads]
    samples = [Sample(ip=0x1000, pid=7, tid=7, time=at, id=row) for at, row in enumerate((11, 21, 31), 1)]
    path = tmp_path / "perf.data"
    path.write_bytes(write_file(Session(events=EVENTS), [*samples, *records]))
    return path


def test_totals_of_threads_that_ended(file: Path) -> None:
    ran = perf2x("info", file, "--json")
    assert not ran.code, ran.err
    assert [event.get("counted") for event in json.loads(ran.out)["events"]] == [2**63 + 530, 4, None]
    assert f"{2**63 + 530:,} counted\n" in perf2x("info", file).out
    ran = perf2x("report", file, "--format", "json", "-q")
    assert [event.get("counted") for event in json.loads(ran.out)["events"]][:2] == [2**63 + 530, 4]
    assert perf2x("report", file, "-q").out.count(" counted`\n") == 2


def test_several_recordings_have_no_such_totals(file: Path) -> None:
    ran = perf2x("report", file, recording("calls"), "-q")
    assert ran.code == 0 and "counted" not in ran.out
