"""Threads and epochs that are looked up once equal those of every sample by itself."""

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perf2x.stitcher.stacks.stack_interner import StackInterner
from perf2x.stitcher.stitch import ThreadLookup

IDS = st.sampled_from([-(2**31), -1, 0, 1, 2, 2**31 - 1])
SAMPLES = st.tuples(IDS, IDS, st.integers(0, 4))
BATCHES = st.lists(st.lists(SAMPLES, min_size=1, max_size=30), max_size=4)


def name_of(tid: int, sequence: int) -> int:
    return -1 if sequence == 0 else (tid + sequence // 2) % 3


def start_of(tid: int, sequence: int) -> int:
    return 3 if tid == 2 and sequence >= 3 else -1


def epoch_of(pid: int, sequence: int) -> int:
    return -1 if pid == 1 else (pid % 5) * 7 + sequence


@dataclass
class History:
    """Answers of a process history, and how many were asked for."""

    asked: list[tuple[int, int]] = field(default_factory=list)

    @property
    def names(self) -> "History":
        return self

    @property
    def spaces(self) -> "History":
        return self

    def at(self, tid: np.ndarray, sequence: np.ndarray) -> np.ndarray:
        return np.array([name_of(*row) for row in zip(tid.tolist(), sequence.tolist(), strict=True)], np.int64)

    def fork_sequence(self, tid: np.ndarray, sequence: np.ndarray) -> np.ndarray:
        return np.array([start_of(*row) for row in zip(tid.tolist(), sequence.tolist(), strict=True)], np.int64)

    def epoch(self, pid: np.ndarray, sequence: np.ndarray) -> np.ndarray:
        self.asked += zip(pid.tolist(), sequence.tolist(), strict=True)
        return np.array([epoch_of(*row) for row in zip(pid.tolist(), sequence.tolist(), strict=True)], np.int64)


def columns_of(samples: list[tuple[int, int, int]]) -> tuple[np.ndarray, ...]:
    return tuple(np.array([sample[at] for sample in samples], np.int64) for at in range(3))


@given(BATCHES)
def test_threads_and_epochs_are_those_of_each_sample(batches: list[list[tuple[int, int, int]]]) -> None:
    interner = StackInterner()
    threads = ThreadLookup(History(), interner, by_thread=True)  # type: ignore[arg-type]
    found: list[int] = []
    for samples in batches:
        numbers, epochs = threads.find(*columns_of(samples))
        found += numbers.tolist()
        assert epochs.tolist() == [epoch_of(pid, sequence) for pid, _, sequence in samples]
    flat = [sample for samples in batches for sample in samples]
    expected = [(pid, tid, name_of(tid, sequence), start_of(tid, sequence)) for pid, tid, sequence in flat]
    table = interner.threads()
    columns = (table.pid, table.tid, table.comm, table.fork_sequence)
    rows = [*zip(*(column.tolist() for column in columns), strict=True)]
    assert [rows[number] for number in found] == expected
    assert sorted(rows) == sorted(set(expected))
    for row, sequence in zip(rows, table.first_sequence.tolist(), strict=True):
        assert sequence == min(when for (_, _, when), thread in zip(flat, expected, strict=True) if thread == row)


@given(BATCHES)
def test_namesakes_are_the_first_thread_of_their_name(batches: list[list[tuple[int, int, int]]]) -> None:
    interner = StackInterner()
    threads = ThreadLookup(History(), interner, by_thread=False)  # type: ignore[arg-type]
    found = [number for samples in batches for number in threads.find(*columns_of(samples))[0].tolist()]
    flat = [sample for samples in batches for sample in samples]
    table = interner.threads()
    columns = (table.pid, table.tid, table.comm, table.fork_sequence)
    rows = [*zip(*(column.tolist() for column in columns), strict=True)]
    expected = [(pid, tid, name_of(tid, sequence), start_of(tid, sequence)) for pid, tid, sequence in flat]
    assert sorted(rows) == sorted(set(expected))
    for row, number in zip(expected, found, strict=True):
        assert number == (rows.index(row) if row[2] < 0 else table.comm.tolist().index(row[2]))


def test_threads_and_epochs_are_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that is renamed, and another one: both by samples in a row and by samples that take turns."""
    history, interner, interned = History(), StackInterner(), list[int]()
    threads, number = ThreadLookup(history, interner, by_thread=True), interner.intern_threads  # type: ignore[arg-type]
    monkeypatch.setattr(interner, "intern_threads", lambda *columns: interned.extend(columns[1]) or number(*columns))
    for _ in range(3):
        threads.find(*columns_of([*[(7, 8, 3)] * 20, *[(7, 8, 4)] * 20, *[(7, 9, 3)] * 20]))
        threads.find(*columns_of([(7, 8, 3), (7, 8, 4), (7, 9, 3)] * 20))
    assert interned == [8, 8, 9]
    assert history.asked == [(7, 3), (7, 4), (7, 3)]
    threads.find(*columns_of([(7, 8, 5)]))
    assert interned == [8, 8, 9, 8], "as of another sequence number"
    assert history.asked[3:] == [(7, 5)]
    assert len(interner.threads().pid) == 3, "its name is the same"
