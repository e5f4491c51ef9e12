"""Readings of perf stat record, delivered as what counters grew by."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec.structs import replace as change

from perf2x.errors import FormatError
from perf2x.kernel.load import load
from perf2x.kernel.load_options import LoadOptions
from perf2x.model.recording.events import Samples, Want
from perf2x.reader import open_recording
from perf2x.reader.recording import PerfRecording
from perf2x.reader.records.perf_stat import samples_from_readings
from tests.forge.events import Event
from tests.forge.records import Record
from tests.forge.samples import Sample
from tests.forge.session import Session, write_file
from tests.forge.userspace import Stat, StatConfig, StatRound, ThreadMap

EVENTS = (Event(name="cycles", ids=(10, 11)), Event(name="instructions", ids=(20,)))
MS = 1_000_000


def opened(folder: Path, records: list[Record], order: str = "<", events: tuple[Event, ...] = EVENTS) -> PerfRecording:
    path = folder / "stat.data"
    path.write_bytes(write_file(Session(events=events, order=order), records))
    return open_recording(str(path))


def rows(recording: PerfRecording) -> list[tuple[int, ...]]:
    """Event, thread, CPU, time and period of every sample."""
    found: list[tuple[int, ...]] = []
    for batch in recording.samples(Want.COUNTS):
        assert isinstance(batch, Samples) and batch.time is not None and batch.cpu is not None
        assert len(batch.chain.values) == 0
        columns = (batch.event, batch.tid, batch.cpu, batch.time, batch.period)
        found += zip(*(column.tolist() for column in columns), strict=True)
    return found


def grown(recording: PerfRecording) -> list[tuple[int, ...]]:
    """Those that counted something."""
    return sorted(row for row in rows(recording) if row[-1])


@pytest.mark.parametrize("order", ["<", ">"])
def test_growth_between_rounds(tmp_path: Path, order: str) -> None:
    records = [
        ThreadMap(threads=((700, "worker"), (701, ""))), StatConfig(values=(5, 100, 1)),
        Stat(id=10, value=5), Stat(id=11, value=7, thread=1), Stat(id=20, value=0), StatRound(time=100 * MS),
        Stat(id=10, value=9), Stat(id=11, value=7, thread=1), Stat(id=20, value=30), StatRound(time=200 * MS),
    ]  # fmt: skip
    found = opened(tmp_path, records, order)
    assert grown(found) == [
        (0, 700, -1, 100 * MS, 5), (0, 700, -1, 200 * MS, 4), (0, 701, -1, 100 * MS, 7), (1, 700, -1, 200 * MS, 30),
    ]  # fmt: skip
    began = [row for row in rows(found) if row[3] == 1]
    assert began == [(0, 700, -1, 1, 0), (0, 701, -1, 1, 0), (1, 700, -1, 1, 0)]
    assert found.session.is_perf_stat and found.sample_count == 0
    assert [*found.samples(Want.CHAIN)] == []


def test_cpus_are_added_up_where_perf_was_told_to(tmp_path: Path) -> None:
    readings: list[Record] = [Stat(id=10, value=5, cpu=0), Stat(id=11, value=6, cpu=1), StatRound(time=MS)]
    apart = opened(tmp_path, [ThreadMap(threads=((-1, ""),)), StatConfig(values=(0, 0, 1)), *readings])
    assert grown(apart) == [(0, -1, 0, MS, 5), (0, -1, 1, MS, 6)]
    together = opened(tmp_path, [ThreadMap(threads=((-1, ""),)), StatConfig(), *readings])
    assert grown(together) == [(0, -1, -1, MS, 11)]


def test_counters_that_shared_the_hardware_are_extrapolated(tmp_path: Path) -> None:
    records = [
        Stat(id=10, value=500, enabled=100, running=50), Stat(id=20, value=0, enabled=100, running=0),
        StatRound(time=MS), Stat(id=10, value=800, enabled=200, running=150), StatRound(time=2 * MS),
    ]  # fmt: skip
    found = opened(tmp_path, [ThreadMap(threads=((1, "a"),)), *records])
    assert grown(found) == [(0, 1, -1, MS, 1000), (0, 1, -1, 2 * MS, 300)]
    assert found.diagnostics["readings_extrapolated"] == 2
    assert found.diagnostics.counts["events_not_counted"].first == "instructions"


def test_readings_behind_the_last_round_and_of_no_event_are_left_out(tmp_path: Path) -> None:
    records = [Stat(id=10, value=5), Stat(id=99, value=1), StatRound(time=MS), Stat(id=10, value=50)]
    found = opened(tmp_path, records)
    assert grown(found) == [(0, -1, -1, MS, 5)]


def test_readings_of_a_file_without_events(tmp_path: Path) -> None:
    found = opened(tmp_path, [Stat(id=10, value=5), StatRound(time=MS)])
    assert len(samples_from_readings(found.sideband, found.session)) == 2
    assert len(samples_from_readings(found.sideband, change(found.session, events=()))) == 0


def test_impossible_numbers_are_bounded(tmp_path: Path) -> None:
    huge = (1 << 64) - 1
    records = [
        ThreadMap(threads=((1 << 40, "far"), (-(1 << 62), "farther"))),
        Stat(id=10, value=huge, enabled=huge, running=1, thread=huge >> 33), StatRound(time=huge),
        Stat(id=10, value=3, enabled=huge, running=2, thread=huge >> 33), StatRound(time=0),
    ]  # fmt: skip
    loaded = load(str(_path(opened(tmp_path, records))), LoadOptions(counts=True, timeline=True))
    loaded.profile.check()
    assert loaded.profile.samples.value.max() == 1 << 48


def test_samples_beside_readings_are_a_sampled_recording(tmp_path: Path) -> None:
    events = (replace(EVENTS[0], period=1),)
    found = opened(tmp_path, [Stat(id=10, value=5), StatRound(time=MS), Sample(ip=1)], events=events)
    assert not found.session.is_perf_stat and found.sample_count == 1
    assert Counter(len(batch) for batch in found.samples(Want.COUNTS)) == {1: 1}


def test_what_shows_stacks_refuses_counts(tmp_path: Path) -> None:
    path = _path(opened(tmp_path, [Stat(id=10, value=5), StatRound(time=MS)]))
    with pytest.raises(FormatError, match="perf stat record counts events and takes no samples"):
        load(str(path), LoadOptions())


def test_counts_do_not_add_up_with_samples(tmp_path: Path) -> None:
    counted = _path(opened(tmp_path, [Stat(id=10, value=5), StatRound(time=MS)]))
    sampled = tmp_path / "sampled.data"
    sampled.write_bytes(write_file(Session(events=(replace(EVENTS[0], period=1),)), [Sample(ip=1)]))
    with pytest.raises(FormatError, match=r"stat\.data: it has counts of perf stat record"):
        load([str(counted), str(sampled)], LoadOptions(counts=True))


def test_a_file_of_perf_stat_that_was_killed(tmp_path: Path) -> None:
    path = _path(opened(tmp_path, [Stat(id=10, value=5)]))
    with pytest.raises(FormatError, match="perf stat was killed before it ended a round of readings"):
        load(str(path), LoadOptions(counts=True, allow_empty=False))


def _path(recording: PerfRecording) -> Path:
    return Path(recording.session.source)
