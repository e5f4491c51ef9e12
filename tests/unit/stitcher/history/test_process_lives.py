"""Lives of processes and names of threads against a walk over the records, one after the other."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perf2x.base.columnar.dictionary_column import DictionaryColumn
from perf2x.model.recording.sideband import Comms, Tasks
from perf2x.stitcher.history import address_spaces
from perf2x.stitcher.history.address_spaces import ProcessImages, find_images
from perf2x.stitcher.history.process_history import ThreadNames

IDS = st.integers(-1, 5)
Event = tuple[Any, ...]
EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("map"), IDS),
        st.tuples(st.just("fork"), IDS, IDS, st.booleans()),
        st.tuples(st.just("comm"), IDS, st.sampled_from("abc"), st.booleans()),
    ),
    max_size=30,
)


def numbers(events: list[Event], kind: str, field: int, dtype: type = np.int32) -> np.ndarray:
    return np.array([event[field] for event in events if event[0] == kind], dtype)


def tables(events: list[Event]) -> tuple[Tasks, np.ndarray, Comms, np.ndarray]:
    """Each event's sequence number is its place, from 1 on; threads have the ids of their processes."""
    of_forks, of_comms = (
        np.array([sequence for sequence, event in enumerate(events, 1) if event[0] == kind], np.int64)
        for kind in ("fork", "comm")
    )
    child, parent = numbers(events, "fork", 1), numbers(events, "fork", 2)
    time = of_forks.astype(np.uint64)
    forks = Tasks(time, of_forks, child, parent, child, parent, numbers(events, "fork", 3, np.bool_))
    tid, names = numbers(events, "comm", 1), DictionaryColumn.of(event[2] for event in events if event[0] == "comm")
    comms = Comms(of_comms.astype(np.uint64), of_comms, tid, tid, names, numbers(events, "comm", 3, np.bool_))
    return forks, of_forks, comms, of_comms


def found(events: list[Event]) -> ProcessImages:
    forks, fork_sequence, comms, comm_sequence = tables(events)
    mapped = np.array([sequence for sequence, event in enumerate(events, 1) if event[0] == "map"], np.int64)
    return find_images(numbers(events, "map", 1, np.int64), mapped, forks, fork_sequence, comms, comm_sequence)


def walked(events: list[Event], most: int) -> tuple[set[tuple[object, ...]], int]:
    """(life, parent, life before, ancestors) of each, where lives are named (process, born); number of those cut."""
    current: dict[int, tuple[int, int]] = {}
    depth: dict[tuple[int, int], int] = {}
    lives: dict[tuple[int, int], tuple[object, ...]] = {}
    first_mapped: dict[int, int] = {}
    cut = 0
    for sequence, event in enumerate(events, 1):
        if event[0] == "map":
            first_mapped.setdefault(event[1], sequence)

    def begin(pid: int, sequence: int, parent: object = None, before: object = None) -> tuple[int, int]:
        nonlocal cut
        ancestors = depth[parent] + 1 if parent else 0  # type: ignore[index]
        if ancestors >= most:
            parent, ancestors, cut = None, 0, cut + 1
        current[pid] = life = pid, sequence
        depth[life], lives[life] = ancestors, (parent, before, ancestors)
        return life

    def of(pid: int) -> tuple[int, int]:
        return current.get(pid) or begin(pid, 0)

    for sequence, event in enumerate(events, 1):
        if event[0] == "comm" and event[3]:
            begin(event[1], sequence, before=of(event[1]))
        elif event[0] == "fork" and event[1] != event[2]:
            if first_mapped.get(event[1], sequence) < sequence:
                of(event[1])
            begin(event[1], sequence, None if event[3] else of(event[2]))
    for pid in first_mapped:
        of(pid)
    return {(life, *facts) for life, facts in lives.items()}, cut


@pytest.mark.parametrize("most", [1, 2, 3, 2048])
@given(events=EVENTS)
def test_lives_begin_with_forks_with_execs_and_before_all(most: int, events: list[Event]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(address_spaces, "MAX_FORK_DEPTH", most)
        lives = found(events)
    names = [*zip(lives.pid.tolist(), lives.began_at.tolist(), strict=True), None]
    others = [[names[row] for row in column.tolist()] for column in (lives.parent, lives.image_before_exec)]
    expected, cut = walked(events, most)
    assert len(lives.pid) == len(expected)
    assert set(zip(names[:-1], *others, lives.depth.tolist(), strict=True)) == expected
    assert lives.cut_count == cut


@given(EVENTS)
def test_threads_are_named_by_themselves_or_like_who_made_them(events: list[Event]) -> None:
    forks, fork_sequence, comms, comm_sequence = tables(events)
    names = ThreadNames(comms, comm_sequence, forks, fork_sequence)
    current: dict[int, str] = {}
    tids = np.arange(-2, 7)
    for sequence, event in enumerate([("none",), *events]):
        if event[0] == "fork":
            current.pop(event[1], None)
            if event[2] in current:
                current[event[1]] = current[event[2]]
        elif event[0] == "comm":
            current[event[1]] = event[2]
        at = names.at(tids, np.full(len(tids), sequence)).tolist()
        assert [names.distinct_names[row] if row >= 0 else None for row in at] == [
            current.get(tid) for tid in tids.tolist()
        ]


def test_a_name_is_inherited_down_a_long_line_of_forks() -> None:
    events = [("comm", 0, "a", False), *(("fork", pid, pid - 1, False) for pid in range(1, 5000))]
    forks, fork_sequence, comms, comm_sequence = tables(events)
    names = ThreadNames(comms, comm_sequence, forks, fork_sequence)
    assert names.distinct_names[int(names.at(np.array([4999]), np.array([5000]))[0])] == "a"
    lives = found(events)
    assert (lives.cut_count, int(lives.depth.max())) == (4999 // address_spaces.MAX_FORK_DEPTH, 2047)
