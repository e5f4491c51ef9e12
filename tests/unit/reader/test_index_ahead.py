"""An index that several processes make is that of a walk from the first record to the last, wherever they begin."""

import os
import struct
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perf2x.model.diagnostics import Diagnostics
from perf2x.model.recording.events import Want
from perf2x.reader import PerfRecording, first_walk, index_ahead, open_recording
from perf2x.reader.block import WalkedPart
from perf2x.reader.index_ahead import IndexWorkers
from perf2x.reader.record_framing import find_record
from tests import forge
from tests.forge import kernel as k
from tests.support.recordings import corpus_cases

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux only")

EVENT = forge.Event(sample_type=k.IDENTIFIER | k.IP | k.TID | k.TIME | k.CALLCHAIN | k.RAW, ids=(5,))
OTHER = replace(EVENT, name="other", ids=(6,))
SESSION = forge.Session((EVENT, OTHER))
LOOKALIKE = 9, 2, 24
"""Type, misc and size of a header in a payload."""


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forged recordings are small; parts and blocks must be smaller."""
    monkeypatch.setattr(first_walk, "SPAN", 1 << 13)
    monkeypatch.setattr(first_walk, "FEW_RECORDS", 4)
    monkeypatch.setattr(index_ahead, "RECORDS_EACH", 8)
    monkeypatch.setattr(index_ahead, "_TURNS", 1)
    monkeypatch.setattr(index_ahead, "_TAKING_OVER", 0)


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Number of records of each part that the first process took over."""
    numbers: list[int] = []
    pass_part = first_walk._SectionWalk.pass_part

    def noted(walk: Any, part: WalkedPart) -> None:
        numbers.append(sum(map(len, part.sizes)))
        pass_part(walk, part)

    monkeypatch.setattr(first_walk._SectionWalk, "pass_part", noted)
    return numbers


def sample(number: int, raw: bytes = b"1234") -> forge.Sample:
    chain = tuple(range(number % 7))
    return forge.Sample(event=number % 2, id=5 + number % 2, ip=1, pid=2, tid=number, time=number, chain=chain, raw=raw)


def many(count: int = 400) -> list[forge.Record]:
    """Samples of two events, and a name now and then."""
    made = [[sample(number), forge.Comm(pid=2, tid=number, comm=f"name {number}")] for number in range(count)]
    return [record for number, pair in enumerate(made) for record in pair[: 2 if number % 9 == 0 else 1]]


def facts(recording: PerfRecording) -> Any:
    """All that a recording says, as plain values."""
    batches = list(recording.samples(~Want.AGAIN))
    columns = {
        name: np.concatenate([np.asarray(getattr(batch, name)) for batch in batches]).tolist()
        for name in ("position", "event", "tid", "period")
    } if batches else {}  # fmt: skip
    side = recording.sideband
    tables = {
        name: [
            list(map(str, getattr(table, column))) for column in ("position", "time", "tid") if hasattr(table, column)
        ]
        for name in side.__struct_fields__
        if hasattr(table := getattr(side, name), "position")
    }
    texts = side.comms.comm, side.mmaps.filename, side.mmaps.build_id
    names = *map(list, texts), [row.tolist() for row in side.deferred.chain.rows()]
    counts = [(count.name, count.count, count.first) for count in recording.diagnostics.counts.values()]
    return (
        recording.session,
        recording.sample_count,
        columns,
        tables,
        names,
        side.record_counts,
        side.stream_end,
        counts,
    )


def read(path: Path, processes: int) -> Any:
    workers = IndexWorkers(lambda samples: processes)
    return facts(open_recording(str(path), diagnostics=Diagnostics(), workers=workers))  # type: ignore[arg-type]


def written(folder: Path, records: list[forge.Record], session: forge.Session = SESSION) -> Path:
    path = folder / "perf.data"
    path.write_bytes(forge.write_file(session, records))
    return path


@pytest.mark.parametrize("case", corpus_cases(), ids=str)
def test_every_number_of_processes_reads_the_same(case: Any) -> None:
    alone = read(case.data, 1)
    for processes in (2, 3, 5):
        assert read(case.data, processes) == alone


@pytest.mark.parametrize("order", ["<", ">"])
def test_parts_are_taken_over(order: str, tmp_path: Path, taken: list[int]) -> None:
    path = written(tmp_path, many(), replace(SESSION, order=order))
    alone = read(path, 1)
    assert not taken
    assert read(path, 3) == alone
    assert len(taken) == 2 and sum(taken) > 200, "two thirds of the records are read elsewhere"


@pytest.mark.parametrize("processes", [2, 3, 5])
def test_lookalikes_that_lead_to_a_record_are_no_records(processes: int, tmp_path: Path, taken: list[int]) -> None:
    """In front of raw data is its size, 32 bits, so that the words of the file begin four bytes later."""
    raw = bytes(4) + struct.pack("<IHH", *LOOKALIKE) + bytes(16) + struct.pack("<IHH", 9, 2, 8) * 500
    path = written(tmp_path, [sample(number, raw) for number in range(60)])
    assert read(path, processes) == read(path, 1)
    assert not taken, "each process began at a lookalike"


@pytest.mark.parametrize("processes", [2, 3, 5])
def test_lookalikes_that_lead_nowhere_are_passed(processes: int, tmp_path: Path, taken: list[int]) -> None:
    raw = bytes(4) + (struct.pack("<IHH", *LOOKALIKE) + bytes(16)) * 100 + bytes(800)
    path = written(tmp_path, [sample(number, raw) for number in range(60)])
    assert read(path, processes) == read(path, 1)
    assert len(taken) == processes - 1


def test_records_of_odd_sizes_end_what_others_find(tmp_path: Path) -> None:
    records = many()
    records.insert(210, forge.Raw(type=200, body=b"123"))
    path = written(tmp_path, records)
    assert read(path, 3) == read(path, 1)


def test_damage_is_noted_as_by_one_process(tmp_path: Path) -> None:
    records = many()
    for at, damage in (
        (390, replace(sample(1), time=2**63)),
        (200, forge.Raw(type=3, body=b"\1")),
        (300, forge.Raw(type=1)),
    ):
        records.insert(at, damage)
    records[260] = replace(forge.Comm(pid=2, tid=1, comm="late"), stamp=forge.Stamp(time=2**63, id=5))
    path = written(tmp_path, records)
    assert read(path, 3) == read(path, 1)
    assert read(path, 1)[-1], "there is some"


@pytest.mark.parametrize("record", [forge.BuildId(filename="/bin/x"), forge.EventUpdate(kind=2, id=5, value="renamed")])
def test_blocks_with_records_of_the_session_are_read_by_the_first_process(
    record: forge.Record, tmp_path: Path, taken: list[int]
) -> None:
    records = many()
    records.insert(300, record)
    path = written(tmp_path, records)
    assert read(path, 2) == read(path, 1)
    assert len(taken) == 2, "in front of the block and behind it"


LATE = replace(OTHER, name="late", ids=(7,)).encode("<") + struct.pack("<Q", 7)


@pytest.mark.parametrize(
    "header", [forge.Raw(type=64, body=LATE), forge.Raw(type=32774, body=struct.pack("<3Q", 1, 1, 7))], ids=str
)
@pytest.mark.parametrize("at", [60, 150, 320])
def test_events_that_come_late_are_those_of_later_records(
    at: int, header: forge.Record, tmp_path: Path, taken: list[int]
) -> None:
    """Samples have an id in front of the record that tells whose it is: what becomes of them depends on blocks."""
    mixed: list[forge.Record] = [replace(sample(number), event=0, id=5 + number % 3) for number in range(400)]
    mixed.insert(at, header)
    path = written(tmp_path, mixed)
    assert read(path, 2) == read(path, 1)
    assert taken, "parts were taken over first"


@pytest.mark.parametrize("told", [False, True])
def test_trace_between_records_moves_what_follows(
    told: bool, tmp_path: Path, taken: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_ahead, "WINDOW", 1 << 11)
    records = [*([forge.AuxtraceInfo()] if told else []), *many()]
    records.insert(380, forge.Auxtrace(data=bytes(4096)))
    path = written(tmp_path, records)
    assert read(path, 5) == read(path, 1)
    assert bool(taken) is not told, "of a recording with trace nothing is read ahead"


@pytest.mark.parametrize(
    "session",
    [
        forge.Session((replace(EVENT, flags=frozenset()), OTHER)),
        forge.Session((replace(EVENT, sample_type=EVENT.sample_type | k.READ, read_format=k.READ_ID), OTHER)),
        replace(SESSION, features=forge.Features(compressed=(1, 1, 3, 2, 1 << 20))),
    ],
)
def test_records_that_depend_on_earlier_ones_are_read_in_turn(
    session: forge.Session, tmp_path: Path, taken: list[int]
) -> None:
    path = written(tmp_path, [sample(2 * number + 1) for number in range(400)], session)
    assert read(path, 3) == read(path, 1)
    assert not taken


def test_workers_read_several_regions(tmp_path: Path, taken: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_ahead, "_TURNS", 3)
    monkeypatch.setattr(index_ahead, "_TAKING_OVER", 0.25)
    path = written(tmp_path, many())
    assert read(path, 3) == read(path, 1)
    assert len(taken) == 6 and 260 < sum(taken) < 280, "the first one reads a fifth, and the first block"


@pytest.mark.parametrize("dies", [1, 2])
def test_the_part_of_a_process_that_dies_is_read_here(
    dies: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken: list[int]
) -> None:
    read_part: Callable[..., Iterator[Any]] = index_ahead._read
    begins: list[int] = []

    def dying(builder: Any, section: Any, begin: int, *rest: int) -> Iterator[Any]:
        if begin > len(section.data) * dies // 3 - 100 and begin < len(section.data) * dies // 3 + 9000:
            os._exit(9)
        return read_part(builder, section, begin, *rest)

    path = written(tmp_path, many())
    alone = read(path, 1)
    monkeypatch.setattr(index_ahead, "_read", dying)
    assert read(path, 3) == alone
    assert len(taken) == 1, begins


def test_short_recordings_are_read_by_one_process(tmp_path: Path, taken: list[int], monkeypatch: Any) -> None:
    monkeypatch.setattr(index_ahead, "RECORDS_EACH", 10_000)
    path = written(tmp_path, many())
    assert read(path, 3) == read(path, 1)
    assert not taken


def test_few_large_records_are_read_by_several(tmp_path: Path, taken: list[int], monkeypatch: Any) -> None:
    """Those with user stack dumps: their pages take longer to map than their headers to read."""
    monkeypatch.setattr(index_ahead, "RECORDS_EACH", 600)
    path = written(tmp_path, [sample(number, raw=bytes(1996)) for number in range(400)])
    assert read(path, 3) == read(path, 1)
    assert taken


def test_nothing_is_asked_about_what_is_read_in_one_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, many())
    asked: list[int] = []

    def ahead(*_: Any) -> Iterator[WalkedPart]:
        asked.append(1)
        return iter(())

    monkeypatch.setattr(IndexWorkers, "ahead", ahead)
    for span, expected in ((path.stat().st_size, []), (1 << 13, [1])):
        monkeypatch.setattr(first_walk, "SPAN", span)
        read(path, 3)
        assert asked == expected


WORDS = st.sampled_from(
    [(0, 0, 0), (9, 2, 8), (9, 2, 16), (1, 0, 24), (128, 0, 64), (129, 0, 8), (9, 2, 12), (9, 2, 800)]
)


@pytest.mark.parametrize("order", ["<", ">"])
@given(words=st.lists(WORDS, max_size=60))
def test_a_found_record_leads_to_the_end(order: str, words: list[tuple[int, int, int]]) -> None:
    data = b"".join(struct.pack(order + "IHH", *word) for word in words)
    found = find_record(np.frombuffer(data, np.uint8), order)  # type: ignore[arg-type]
    assert found == next((8 * at for at in range(len(words)) if leads_out(words, at)), -1)


def leads_out(words: list[tuple[int, int, int]], at: int) -> bool:
    """Follow lookalikes one by one."""
    while at < len(words):
        kind, _, size = words[at]
        if not (1 <= kind <= 128 and 8 <= size <= 32768 and size % 8 == 0):
            return False
        at += size // 8
    return True
