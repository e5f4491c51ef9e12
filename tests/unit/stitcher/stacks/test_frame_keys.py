"""Frame keys: which frames share a key, and that decoding loses nothing."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perf2x.base.abi.uapi import CpuMode
from perf2x.base.columnar.dictionary_column import DictionaryColumn
from perf2x.model.recording.sideband import Mmaps
from perf2x.stitcher.history.kernel_mappings import end_addresses
from perf2x.stitcher.history.mapping_lookup import MappingLookup, lookup_contexts
from perf2x.stitcher.history.profile_mappings import AddressLayout, MergedMappings, merge_mappings
from perf2x.stitcher.history.ranges_over_time import OverlappingRanges
from perf2x.stitcher.stacks import frame_keys as frame_keys_module
from perf2x.stitcher.stacks.frame_keys import (
    FrameKeys,
    decode_keys,
    distinct_keys,
    renumber_keys,
    return_bits,
    root_frame_keys,
    without_return_flag,
)
from tests.support.profile_builder import make_session

LIBC = "/lib/libc.so.6"
TOP = 2**64 - 1
STARTS = [0, 0x1000, 0x1800, 0x5000, 0x7FFF_FFFF_F000, 1 << 47, 0xFFFF_8000_0000_0000, 0xFFFF_FFFF_8100_0000]
LENGTHS = [0, 1, 0x800, 0x1000, 0x3000, 1 << 21, 1 << 50, TOP]
RANGES = st.lists(st.tuples(st.integers(0, 2), st.sampled_from(STARTS), st.sampled_from(LENGTHS)), max_size=8)
NEAR = st.tuples(st.sampled_from([*STARTS, TOP]), st.integers(-3, 0x3001)).map(lambda at: (at[0] + at[1]) % 2**64)
QUESTIONS = st.lists(st.tuples(st.integers(-1, 2), NEAR), max_size=30)


class StaticSpaces:
    """Stand-in for AddressSpaces: numbered processes whose ranges never change."""

    def __init__(self, process: np.ndarray, start: np.ndarray, length: np.ndarray) -> None:
        row = np.arange(len(start))
        self.ranges = OverlappingRanges(process, start, end_addresses(start, length), row, row)
        self.epoch_count, self.made_at = 3, np.append(row, -1)
        self.asked = 0

    def last_epoch(self, epoch: np.ndarray) -> np.ndarray:
        return epoch

    def sequence(self, epoch: np.ndarray) -> np.ndarray:
        return np.full(len(epoch), len(self.made_at))

    def find(self, epoch: np.ndarray, address: np.ndarray, through: np.ndarray) -> np.ndarray:
        self.asked += len(epoch)
        known = epoch >= 0
        found = self.ranges.find(np.where(known, epoch, 0), np.full(len(epoch), 1 << 20), address)
        return np.where(known, found, -1)


def spaces_of(ranges: list[tuple[int, int, int]]) -> StaticSpaces:
    return StaticSpaces(
        np.array([row[0] for row in ranges], np.int64),
        np.array([row[1] for row in ranges], np.uint64),
        np.array([row[2] for row in ranges], np.uint64),
    )


def mmaps(ranges: list[tuple[int, int, int]], name: str = LIBC) -> Mmaps:
    count = len(ranges)
    return Mmaps(
        time=np.zeros(count, np.uint64), position=np.arange(count),
        start=np.array([row[1] for row in ranges], np.uint64),
        pid=np.array([row[0] for row in ranges], np.int32), tid=np.array([row[0] for row in ranges], np.int32),
        length=np.array([row[2] for row in ranges], np.uint64), pgoff=np.zeros(count, np.uint64),
        prot=np.full(count, 5, np.int32), flags=np.zeros(count, np.int32), cpumode=np.full(count, 2, np.uint8),
        filename=DictionaryColumn.of([name] * count), build_id=DictionaryColumn.of([b""] * count),
        is_data=np.zeros(count, np.bool_),
        file_hash=np.ones(count, np.uint64), inode=np.ones(count, np.uint64),
    )  # fmt: skip


def merged(ranges: list[tuple[int, int, int]], per_process: bool = False) -> MergedMappings:
    return merge_mappings(mmaps(ranges), make_session(), per_process)


def frame_keys(ranges: list[tuple[int, int, int]], per_process: bool = False) -> FrameKeys:
    mappings = merged(ranges, per_process)
    return FrameKeys(spaces_of(ranges), mappings, AddressLayout(mappings), per_process)  # type: ignore[arg-type]


def keys_of(table: FrameKeys, epochs: list[int], addresses: list[int], mode: CpuMode = CpuMode.USER) -> np.ndarray:
    epoch = np.array(epochs, np.int64)
    kind = return_bits(np.full(len(epoch), mode, np.uint8))
    context = lookup_contexts(epoch, np.zeros(len(epoch), np.bool_))
    return table.encode(np.arange(len(epoch)), context, kind, np.array(addresses, np.uint64))


def decoded(table: FrameKeys, keys: np.ndarray) -> list[tuple[int, int, bool, int, int]]:
    """Mapping, address, return address or not, mode and root frame of each key."""
    frames = decode_keys(keys, table.layout, table.side_table())
    columns = (frames.group, frames.address, frames.is_return, frames.mode, frames.root)
    return list(zip(*(column.tolist() for column in columns), strict=True))


@given(RANGES, st.lists(QUESTIONS, max_size=3))
def test_cached_lookups_equal_uncached_ones(
    ranges: list[tuple[int, int, int]], batches: list[list[tuple[int, int]]]
) -> None:
    spaces = spaces_of(ranges)
    lookup = MappingLookup(spaces, len(ranges))  # type: ignore[arg-type]
    for questions in batches:
        epoch = np.array([row[0] for row in questions], np.int64)
        address = np.array([row[1] for row in questions], np.uint64)
        no = np.zeros(len(epoch), np.bool_)
        expected = spaces.find(epoch, address, no)
        interval, is_mapped = spaces.ranges.intervals(address)
        assert lookup.find(lookup_contexts(epoch, no), interval).tolist() == expected.tolist()
        assert lookup.is_hit[expected].all()
        assert is_mapped[expected >= 0].all()


def test_an_interval_is_looked_up_once() -> None:
    spaces = spaces_of([(0, 0x1000, 0x3000)])
    lookup = MappingLookup(spaces, 1)  # type: ignore[arg-type]
    address = np.arange(0x1000, 0x3000, dtype=np.uint64)
    context = lookup_contexts(np.zeros(len(address), np.int64), np.zeros(len(address), np.bool_))
    for _ in range(2):
        assert not lookup.find(context, spaces.ranges.intervals(address)[0]).any()
    assert spaces.asked == 1


@given(RANGES, QUESTIONS, st.booleans(), st.sampled_from(list(CpuMode)))
def test_decoded_keys_equal_the_lookup(
    ranges: list[tuple[int, int, int]], questions: list[tuple[int, int]], per_process: bool, mode: CpuMode
) -> None:
    """Scalar reference: look up, move to the address in the first process, merge unmapped user addresses."""
    epochs, addresses = [row[0] for row in questions], [row[1] for row in questions]
    group, expected = merged(ranges, per_process), []
    found = spaces_of(ranges).find(
        np.array(epochs, np.int64), np.array(addresses, np.uint64), np.zeros(len(epochs), np.bool_)
    )
    for row, address in zip(found.tolist(), addresses, strict=True):
        address = (address + int(group.shift[row])) % 2**64
        if row < 0 and mode == CpuMode.USER and not per_process:
            address = 0
        expected.append((int(group.group[row]), address, address != 0, int(mode), 0))
    table = frame_keys(ranges, per_process)
    assert decoded(table, keys_of(table, epochs, addresses, mode)) == expected


@given(RANGES, QUESTIONS, QUESTIONS, st.booleans())
def test_keys_of_another_process_are_renumbered(
    ranges: list[tuple[int, int, int]], mine: list[tuple[int, int]], theirs: list[tuple[int, int]], per_process: bool
) -> None:
    here, there = frame_keys(ranges, per_process), frame_keys(ranges, per_process)
    keys_of(here, [row[0] for row in mine], [row[1] for row in mine], CpuMode.KERNEL)
    sent = keys_of(there, [row[0] for row in theirs], [row[1] for row in theirs], CpuMode.KERNEL)
    sent = np.concatenate([sent, root_frame_keys(np.array([3]))])
    taken = renumber_keys(sent, here.absorb(there.side_table(), there.is_hit))
    assert decoded(here, taken) == decoded(there, sent)


@pytest.mark.parametrize(("sorted_together", "many"), [(1 << 20, 4), (3, 0), (3, 1 << 20)])
@given(keys=st.lists(st.integers(0, 2**64 - 1) | st.sampled_from([0, 1, 1 << 57, (1 << 58) + 1, 1 << 63]), min_size=1))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_distinct_keys_rise(monkeypatch: pytest.MonkeyPatch, sorted_together: int, many: int, keys: list[int]) -> None:
    """Few keys sorted together; more, searched for in chunks; more, of which many are distinct."""
    with monkeypatch.context() as patched:
        patched.setattr(frame_keys_module, "_SORT_LIMIT", sorted_together)
        patched.setattr(frame_keys_module, "_MIN_REPEATS", many)
        patched.setattr(frame_keys_module, "_CHUNK_KEYS", 4)
        distinct, index = distinct_keys(np.array(keys, np.uint64))
    assert distinct.tolist() == sorted(set(keys))
    assert distinct[index].tolist() == keys


def test_root_frames_have_no_address() -> None:
    """Not even in the mapping that begins the layout."""
    table = frame_keys([(0, 0x9000, 0x1000)])
    assert decoded(table, root_frame_keys(np.array([1, 9]))) == [(-1, 0, False, 2, 1), (-1, 0, False, 2, 9)]


def test_one_file_in_two_processes_has_one_key() -> None:
    table = frame_keys([(0, 0x9000, 0x1000), (1, 0x5000, 0x1000)])
    one, other, lost, gone = keys_of(table, [0, 1, 0, 1], [0x9123, 0x5123, 0x77, 0x88]).tolist()
    assert one == other and lost == gone and one != lost
    apart = frame_keys([(0, 0x9000, 0x1000), (1, 0x5000, 0x1000)], per_process=True)
    assert len(set(keys_of(apart, [0, 1, 0, 1], [0x9123, 0x5123, 0x77, 0x88]).tolist())) == 4


def test_modes_and_return_addresses_have_keys_of_their_own() -> None:
    table = frame_keys([(0, 0x9000, 0x1000)])
    called, bits = keys_of(table, [0], [0x9123]), return_bits(np.array([CpuMode.USER], np.uint8))
    first, context = np.zeros(1, np.int64), lookup_contexts(np.zeros(1, np.int64), np.zeros(1, np.bool_))
    running = table.encode(first, context, without_return_flag(bits), np.array([0x9123], np.uint64))
    in_kernel = keys_of(table, [0], [0x9123], CpuMode.KERNEL)
    assert len({int(key[0]) for key in (called, running, in_kernel)}) == 3
    assert [decoded(table, key)[0][2:4] for key in (called, running, in_kernel)] == [
        (True, 2), (False, 2), (True, 1)
    ]  # fmt: skip


@pytest.mark.parametrize("count", [1, 600])
def test_mappings_that_do_not_fit_are_outside_the_layout(count: int) -> None:
    """600 mappings just below the longest that is laid out fill all room."""
    length = TOP if count == 1 else (1 << 48) - 1
    table = mmaps([(0, 0x1000 + row, length) for row in range(count)], "//anon")
    layout = AddressLayout(merge_mappings(table, make_session(), per_process=True))
    assert layout.is_outside[-1] and layout.is_outside[:-1].any() and (count == 1 or not layout.is_outside[:-1].all())
