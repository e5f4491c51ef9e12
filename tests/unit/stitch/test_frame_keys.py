"""Words of frames: what is one place, what is not, and that nothing is lost in them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perf2x.abi.uapi import CpuMode
from perf2x.stitch.address_layout import Layout
from perf2x.stitch.frame_keys import Located, Places, kinds, made_up, renumbered, without_return
from perf2x.stitch.history.address_spaces import limits
from perf2x.stitch.history.overlapping_ranges import IntervalIndex
from perf2x.stitch.mapping_lookup import Lookup, contexts
from perf2x.stitch.profile_mappings import Merged, merged_mappings
from perf2x.tables.events import Mmaps

LIBC = "/lib/libc.so.6"
TOP = 2**64 - 1
STARTS = [0, 0x1000, 0x1800, 0x5000, 0x7FFF_FFFF_F000, 1 << 47, 0xFFFF_8000_0000_0000, 0xFFFF_FFFF_8100_0000]
LENGTHS = [0, 1, 0x800, 0x1000, 0x3000, 1 << 21, 1 << 50, TOP]
RANGES = st.lists(st.tuples(st.integers(0, 2), st.sampled_from(STARTS), st.sampled_from(LENGTHS)), max_size=8)
NEAR = st.tuples(st.sampled_from([*STARTS, TOP]), st.integers(-3, 0x3001)).map(lambda at: (at[0] + at[1]) % 2**64)
QUESTIONS = st.lists(st.tuples(st.integers(-1, 2), NEAR), max_size=30)


class Pictures:
    """As many processes as there are numbers, each with its ranges; stands for AddressSpaces."""

    def __init__(self, process: np.ndarray, start: np.ndarray, length: np.ndarray) -> None:
        row = np.arange(len(start))
        self.index = IntervalIndex(process, start, limits(start, length), row, row)
        self.is_uniform = self.index.is_uniform
        self.asked = 0

    def find(self, epoch: np.ndarray, address: np.ndarray, through: np.ndarray) -> np.ndarray:
        self.asked += len(epoch)
        known = epoch >= 0
        found = self.index.find(np.where(known, epoch, 0), np.full(len(epoch), 1 << 20), address)
        return np.where(known, found, -1)


def pictures(ranges: list[tuple[int, int, int]]) -> Pictures:
    return Pictures(
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
        filename=[name] * count, build_id=[b""] * count, is_data=np.zeros(count, np.bool_),
        file=np.ones(count, np.uint64),
    )  # fmt: skip


def merged(ranges: list[tuple[int, int, int]], as_recorded: bool = False) -> Merged:
    return merged_mappings(mmaps(ranges), {}, as_recorded)


def places(ranges: list[tuple[int, int, int]], as_recorded: bool = False) -> Places:
    return Places(pictures(ranges), merged(ranges, as_recorded), as_recorded)  # type: ignore[arg-type]


def words(table: Places, epochs: list[int], addresses: list[int], mode: CpuMode = CpuMode.USER) -> np.ndarray:
    epoch = np.array(epochs, np.int64)
    kind = kinds(np.full(len(epoch), mode, np.uint8))
    return table.words(contexts(epoch, np.zeros(len(epoch), np.bool_)), kind, np.array(addresses, np.uint64))


def rows(located: Located) -> list[tuple[int, int, bool, int, int]]:
    columns = (located.mapping, located.address, located.is_return, located.mode, located.root)
    return list(zip(*(column.tolist() for column in columns), strict=True))


@given(RANGES, st.lists(QUESTIONS, max_size=3))
def test_lookups_are_those_of_the_pictures(
    ranges: list[tuple[int, int, int]], batches: list[list[tuple[int, int]]]
) -> None:
    spaces = pictures(ranges)
    lookup = Lookup(spaces, len(ranges))  # type: ignore[arg-type]
    for questions in batches:
        epoch = np.array([row[0] for row in questions], np.int64)
        address = np.array([row[1] for row in questions], np.uint64)
        no = np.zeros(len(epoch), np.bool_)
        expected = spaces.find(epoch, address, no)
        assert lookup.find(contexts(epoch, no), address).tolist() == expected.tolist()
        assert lookup.hit[expected].all()


def test_a_page_is_looked_up_once() -> None:
    spaces = pictures([(0, 0x1000, 0x3000)])
    lookup = Lookup(spaces, 1)  # type: ignore[arg-type]
    address = np.arange(0x1000, 0x3000, dtype=np.uint64)
    for _ in range(2):
        assert not lookup.find(np.zeros(len(address), np.int64), address).any()
    assert spaces.asked == 2


@given(RANGES, QUESTIONS, st.booleans(), st.sampled_from(list(CpuMode)))
def test_words_say_what_was_found(
    ranges: list[tuple[int, int, int]], questions: list[tuple[int, int]], as_recorded: bool, mode: CpuMode
) -> None:
    """The scalar twin: look up, move to where the first process had it, hide what says nothing."""
    epochs, addresses = [row[0] for row in questions], [row[1] for row in questions]
    group, expected = merged(ranges, as_recorded), []
    found = pictures(ranges).find(
        np.array(epochs, np.int64), np.array(addresses, np.uint64), np.zeros(len(epochs), np.bool_)
    )
    for row, address in zip(found.tolist(), addresses, strict=True):
        address = (address + int(group.shift[row])) % 2**64
        if row < 0 and mode == CpuMode.USER and not as_recorded:
            address = 0
        expected.append((int(group.number[row]), address, address != 0, int(mode), 0))
    table = places(ranges, as_recorded)
    assert rows(table.located(words(table, epochs, addresses, mode))) == expected


@given(RANGES, QUESTIONS, QUESTIONS, st.booleans())
def test_words_of_another_process(
    ranges: list[tuple[int, int, int]], mine: list[tuple[int, int]], theirs: list[tuple[int, int]], as_recorded: bool
) -> None:
    here, there = places(ranges, as_recorded), places(ranges, as_recorded)
    words(here, [row[0] for row in mine], [row[1] for row in mine], CpuMode.KERNEL)
    sent = words(there, [row[0] for row in theirs], [row[1] for row in theirs], CpuMode.KERNEL)
    sent = np.concatenate([sent, made_up(np.array([3]))])
    taken = renumbered(sent, here.absorb(there.asides(), there.hit))
    assert rows(here.located(taken)) == rows(there.located(sent))


def test_frames_that_are_made_up_lie_nowhere() -> None:
    """Not even in the mapping that begins the layout."""
    table = places([(0, 0x9000, 0x1000)])
    assert rows(table.located(made_up(np.array([1, 9])))) == [(-1, 0, False, 2, 1), (-1, 0, False, 2, 9)]


def test_one_file_in_two_processes_is_one_place() -> None:
    table = places([(0, 0x9000, 0x1000), (1, 0x5000, 0x1000)])
    one, other, lost, gone = words(table, [0, 1, 0, 1], [0x9123, 0x5123, 0x77, 0x88]).tolist()
    assert one == other and lost == gone and one != lost
    apart = places([(0, 0x9000, 0x1000), (1, 0x5000, 0x1000)], as_recorded=True)
    assert len(set(words(apart, [0, 1, 0, 1], [0x9123, 0x5123, 0x77, 0x88]).tolist())) == 4


def test_kinds_keep_places_apart() -> None:
    table = places([(0, 0x9000, 0x1000)])
    called, kind = words(table, [0], [0x9123]), kinds(np.array([CpuMode.USER], np.uint8))
    running = table.words(np.zeros(1, np.int64), without_return(kind), np.array([0x9123], np.uint64))
    in_kernel = words(table, [0], [0x9123], CpuMode.KERNEL)
    assert len({int(word[0]) for word in (called, running, in_kernel)}) == 3
    assert [rows(table.located(word))[0][2:4] for word in (called, running, in_kernel)] == [
        (True, 2), (False, 2), (True, 1)
    ]  # fmt: skip


@pytest.mark.parametrize("count", [1, 600])
def test_mappings_that_fit_no_layout(count: int) -> None:
    """600 mappings just below the longest that is laid out fill all room."""
    length = TOP if count == 1 else (1 << 48) - 1
    table = mmaps([(0, 0x1000 + row, length) for row in range(count)], "//anon")
    layout = Layout(merged_mappings(table, {}, as_recorded=True))
    assert layout.is_out[-1] and layout.is_out[:-1].any() and (count == 1 or not layout.is_out[:-1].all())
