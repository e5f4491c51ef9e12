"""An image's last mappings are those of all its epochs since they were made."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perf2x.base.abi.uapi import CpuMode
from perf2x.base.columnar.dictionary_column import DictionaryColumn
from perf2x.model.recording.sideband import Comms, Ksymbols, Mmaps, Tasks
from perf2x.stitcher.history.address_spaces import KERNEL, AddressSpaces
from perf2x.stitcher.history.mapping_lookup import MappingLookup, lookup_contexts

EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("map"), st.integers(1, 4), st.integers(0, 6), st.integers(1, 4)),
        st.tuples(st.just("kernel"), st.just(-1), st.integers(0, 6), st.integers(1, 4)),
        st.tuples(st.just("gone"), st.just(-1), st.integers(0, 6), st.integers(1, 4)),
        st.tuples(st.just("fork"), st.integers(1, 4), st.integers(1, 4), st.booleans()),
        st.tuples(st.just("exec"), st.integers(1, 4), st.none(), st.none()),
    ),
    max_size=14,
)


def column(rows, field, dtype) -> np.ndarray:
    return np.array([row[field] for row in rows], dtype)


def spaces_of(events) -> AddressSpaces:
    """The sequence number of an event is its place in the list, from 1 on."""
    of = {
        kind: [(sequence, *event) for sequence, event in enumerate(events, 1) if event[0] in kind.split()]
        for kind in KINDS
    }
    maps, forks, comms, symbols = (of[kind] for kind in KINDS)
    sequences = [column(rows, 0, np.int64) for rows in (maps, forks, comms, symbols)]
    times = [sequence.astype(np.uint64) for sequence in sequences]
    count, pid = len(maps), column(maps, 2, np.int32)
    mmaps = Mmaps(
        time=times[0], position=sequences[0], start=column(maps, 3, np.uint64), pid=pid, tid=pid,
        length=column(maps, 4, np.uint64), pgoff=np.zeros(count, np.uint64), prot=np.full(count, 5, np.int32),
        flags=np.zeros(count, np.int32), filename=DictionaryColumn.of(["x"] * count),
        build_id=DictionaryColumn.of([b""] * count),
        cpumode=np.where(pid < 0, CpuMode.KERNEL, CpuMode.USER).astype(np.uint8),
        is_data=np.zeros(count, np.bool_), file_hash=np.ones(count, np.uint64), inode=np.ones(count, np.uint64),
    )  # fmt: skip
    child, parent = column(forks, 2, np.int32), column(forks, 3, np.int32)
    tasks = Tasks(times[1], sequences[1], child, parent, child, parent, column(forks, 4, np.bool_))
    pid, yes = column(comms, 2, np.int32), np.ones(len(comms), np.bool_)
    names = Comms(times[2], sequences[2], pid, pid, DictionaryColumn.of(["x"] * len(comms)), yes)
    gone = np.ones(len(symbols), np.bool_)
    start, length = column(symbols, 3, np.uint64), column(symbols, 4, np.uint64)
    symbol = Ksymbols(
        times[3],
        sequences[3],
        start,
        length,
        np.ones(len(symbols), np.int32),
        gone,
        DictionaryColumn.of(["x"] * len(symbols)),
    )
    return AddressSpaces(mmaps, sequences[0], tasks, sequences[1], names, sequences[2], symbol, sequences[3])


KINDS = ("map kernel", "fork", "exec", "gone")


@given(EVENTS)
def test_last_mappings_are_those_of_all_epochs_since_they_were_made(events) -> None:
    """Of every process and of the kernel, at every moment and every address, inside execve as well."""
    spaces = spaces_of(events)
    grid = np.meshgrid([KERNEL, -1, 1, 2, 3, 4, 9], np.arange(-1, len(events) + 1), np.arange(12), [0, 1])
    pid, sequence, place, through = (axis.ravel().astype(np.int64) for axis in grid)
    epoch, address, through_exec = spaces.epoch(pid, sequence), place.astype(np.uint64), through != 0
    last = spaces.last_epoch(epoch)
    found = spaces.find(epoch, address, through_exec)
    at_last = spaces.find(last, address, through_exec)
    holds = spaces.made_at[at_last] <= spaces.sequence(epoch)
    assert (at_last[holds] == found[holds]).all()
    assert ((spaces.made_at[found] <= spaces.sequence(epoch)) | (found < 0)).all()
    assert (spaces.last_epoch(last) == last).all()
    is_kernel = np.isin(epoch, spaces.kernel_epochs)
    assert (last[is_kernel] == epoch[is_kernel]).all()
    lookup = MappingLookup(spaces, len(spaces.made_at) - 1)
    half = len(epoch) // 2
    contexts, parts = lookup_contexts(epoch, through_exec), (slice(None, None, 2), slice(half, None), slice(None))
    for part in parts:
        assert (lookup.find(contexts[part], spaces.ranges.intervals(address[part])[0]) == found[part]).all()
    assert set(np.flatnonzero(lookup.is_hit[:-1]).tolist()) == set(found[found >= 0].tolist())


def test_an_interval_is_looked_up_once_for_all_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Process 1 makes 30 mappings one after the other; 15 of them are asked for while the others are made."""
    spaces = spaces_of([("map", 1, 0x1000 * place, 0x1000) for place in range(30)])
    lookup, asked, find = MappingLookup(spaces, 30), [], spaces.find
    monkeypatch.setattr(spaces, "find", lambda epoch, *rest: asked.append(len(epoch)) or find(epoch, *rest))
    sequence, address = (
        np.tile(np.arange(31, 61) // 2, 15),
        np.repeat(np.arange(15, dtype=np.uint64) << np.uint64(12), 30),
    )
    epoch = spaces.epoch(np.full(450, 1), sequence)
    context = lookup_contexts(epoch, np.zeros(450, np.bool_))
    assert lookup.find(context, spaces.ranges.intervals(address)[0]).tolist() == (address >> np.uint64(12)).tolist()
    assert sum(asked) == 15


def test_one_image_has_one_last_epoch() -> None:
    """Process 1 maps three times, then execs and maps again; what lay at 5 later lies under another mapping."""
    spaces = spaces_of([("map", 1, 5, 2), ("map", 1, 8, 1), ("map", 1, 5, 1), ("exec", 1), ("map", 1, 0, 1)])
    epoch = spaces.epoch(np.full(5, 1), np.arange(1, 6))
    assert len(set(epoch.tolist())) == 5
    last = spaces.last_epoch(epoch)
    assert last.tolist() == [epoch[2]] * 3 + [epoch[4]] * 2
    here = np.zeros(3, np.bool_)
    assert spaces.find(last[:3], np.array([5, 5, 6], np.uint64), here).tolist() == [2, 2, 0]
    assert (spaces.made_at[[2, 2, 0]] <= spaces.sequence(epoch[:3])).tolist() == [False, False, True]


def test_a_child_has_what_its_parent_mapped_before_the_fork_alone() -> None:
    spaces = spaces_of(
        [
            ("map", 1, 0, 2), ("fork", 2, 1, False), ("map", 1, 3, 2), ("map", 1, 0, 2), ("fork", 3, 2, False),
            ("map", 2, 5, 1),
        ]
    )  # fmt: skip
    epoch, address = spaces.epoch(np.array([1, 2, 3]), np.full(3, 6)), np.array([0, 3, 5], np.uint64)
    found = spaces.find(np.repeat(epoch, 3), np.tile(address, 3), np.zeros(9, np.bool_))
    assert found.reshape(3, 3).tolist() == [[2, 1, -1], [0, -1, 3], [0, -1, -1]]
