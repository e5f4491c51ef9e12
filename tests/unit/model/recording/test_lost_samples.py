"""Each lost sample counts once, as perf report counts it, in every command and in timelines."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from perf2x import read
from tests.forge import Comm, Event, Lost, LostSamples, Record, Sample, Session, Stamp, write_file
from tests.forge import kernel as k
from tests.support.command import perf2x

LOST_BIT = 1 << 4
"""PERF_FORMAT_LOST"""
TYPE = Event().sample_type | k.IDENTIFIER | k.CPU
STAMP = Stamp(pid=7, tid=7, time=50, cpu=1, id=1)


def event(name: str, ident: int, read_format: int = LOST_BIT) -> Event:
    return Event(name=name, sample_type=TYPE, ids=(ident,), read_format=read_format)


def written(path: Path, records: Sequence[Record], read_format: int = LOST_BIT, start: int = 0) -> Path:
    """A recording of 10 samples of the first of two events, and of ``records``."""
    events = event("cpu-clock", 1, read_format), event("task-clock", 2, read_format)
    samples = [Sample(id=1, pid=7, tid=7, ip=0x1000, time=start + time, period=1) for time in range(10, 110, 10)]
    path.write_bytes(write_file(Session(events=events), [Comm(pid=7, tid=7, comm="app"), *samples, *records]))
    return path


CHUNKS = (Lost(id=1, lost=4, stamp=STAMP), Lost(id=1, lost=5, stamp=Stamp(pid=7, tid=7, time=70, cpu=0, id=2)))
"""The kernel's record as soon as there is room: the event is the next that was written."""
FINAL = (LostSamples(lost=6, stamp=Stamp(id=1)), LostSamples(lost=4, stamp=Stamp(id=2)))
"""perf's record at its end, without a time."""
MIXED_UP = LostSamples(lost=2, stamp=STAMP)
"""The kernel's record for a hardware buffer."""
FILTERED = LostSamples(lost=90, misc=k.MISC_15, stamp=Stamp(id=1))
"""Samples that the user's BPF filter dropped."""


@pytest.mark.parametrize(
    ("records", "read_format", "samples", "others"),
    [
        ((*CHUNKS, *FINAL), LOST_BIT, {"cpu-clock": 6, "task-clock": 4}, {}),
        (CHUNKS, LOST_BIT, {}, {"cpu-clock": 9}),
        (CHUNKS, 0, {}, {"cpu-clock": 9}),
        ((*CHUNKS, MIXED_UP), 0, {"cpu-clock": 2}, {"cpu-clock": 9}),
        ((*CHUNKS, MIXED_UP), LOST_BIT, {"cpu-clock": 2}, {"cpu-clock": 9}),
        ((*CHUNKS, MIXED_UP, *FINAL), LOST_BIT, {"cpu-clock": 8, "task-clock": 4}, {}),
        ((*CHUNKS, FILTERED), LOST_BIT, {"cpu-clock": 0}, {"cpu-clock": 9}),
        ((FILTERED, *FINAL), LOST_BIT, {"cpu-clock": 6, "task-clock": 4}, {}),
        ((*CHUNKS, *FINAL), 0, {"cpu-clock": 6, "task-clock": 4}, {"cpu-clock": 9}),
        (FINAL, LOST_BIT, {"cpu-clock": 6, "task-clock": 4}, {}),
        ((), LOST_BIT, {}, {}),
    ],
    ids=[
        "both",
        "killed",
        "old",
        "old PEBS",
        "killed PEBS",
        "PEBS",
        "filter",
        "filter and losses",
        "old, no times",
        "end",
        "none",
    ],
)
def test_each_loss_counts_once_everywhere(records, read_format, samples, others, tmp_path: Path) -> None:
    path = written(tmp_path / "perf.data", records, read_format)
    lost = sum(samples.values()) + sum(others.values())
    share = 100 * lost / (10 + lost)
    facts = json.loads(perf2x("info", path, "--json").out)
    assert (facts["lost"]["samples"], facts["lost"]["records"]) == (samples, others)
    stats = tmp_path / "stats.json"
    gate = "--fail-if", f"lost={share - 0.01 if lost else 0}"
    ran = perf2x("convert", path, "-q", "-o", tmp_path / "out.folded", "--stats", stats, *gate)
    assert ran.code == (3 if lost else 0)
    told = json.loads(stats.read_text())
    assert told["lost"] == {"samples": sum(samples.values()), "records": sum(others.values())}
    assert told["percent"]["lost"] == pytest.approx(share, abs=1e-4)
    report = json.loads(perf2x("report", path, "--format", "json").out)
    assert report["percent"]["lost"] == pytest.approx(share, abs=1e-4)
    losses = read(path, timeline=True).profile.losses
    assert losses is not None and int(losses.lost.sum()) == lost


def test_timelines_show_when_and_the_rest_at_the_end(tmp_path: Path) -> None:
    losses = read(written(tmp_path / "perf.data", (*CHUNKS, *FINAL)), timeline=True).profile.losses
    columns = (getattr(losses, name).tolist() for name in ("time", "cpu", "lost", "samples_only"))
    assert list(zip(*columns, strict=True)) == [(0, -1, 1, True), (50, 1, 4, False), (70, 0, 5, False)]


def test_files_of_one_session_share_their_last_counts(tmp_path: Path) -> None:
    """perf record --switch-output writes the counts of the whole session to its last file."""
    first = written(tmp_path / "perf.data.1", CHUNKS)
    last = written(tmp_path / "perf.data.2", FINAL, start=1000)
    stats = tmp_path / "stats.json"
    words = "-q", "-o", tmp_path / "out.folded", "--stats", stats
    assert perf2x("convert", first, last, *words).code == 0
    assert json.loads(stats.read_text())["lost"] == {"samples": 10, "records": 0}
    assert perf2x("convert", first, *words).code == 0
    assert json.loads(stats.read_text())["lost"] == {"samples": 0, "records": 9}
