"""Mappings that are alike become one, wherever each process had them."""

import numpy as np
import pytest
from msgspec.structs import replace

from perf2x.base.columnar.dictionary_column import DictionaryColumn
from perf2x.base.columnar.interner import StringTableBuilder
from perf2x.model.recording.sideband import Mmaps
from perf2x.stitcher.history.profile_mappings import merge_mappings
from tests.support.profile_builder import make_session

LIBC = "/lib/libc.so.6"
SESSION = make_session()


def mmaps(*rows: tuple[int, str, int, int, bytes, int]) -> Mmaps:
    """Rows of (pid, name, start, pgoff, build id, file); 4 KiB each, user mode."""
    count = len(rows)
    pid, names, start, pgoff, build_ids, file = zip(*rows, strict=True)
    return Mmaps(
        time=np.zeros(count, np.uint64), position=np.arange(count), pid=np.array(pid, np.int32),
        tid=np.array(pid, np.int32), start=np.array(start, np.uint64), length=np.full(count, 4096, np.uint64),
        pgoff=np.array(pgoff, np.uint64), prot=np.full(count, 5, np.int32), flags=np.zeros(count, np.int32),
        cpumode=np.array([1 if number == -1 else 2 for number in pid], np.uint8), filename=DictionaryColumn.of(names),
        build_id=DictionaryColumn.of(build_ids), is_data=np.zeros(count, np.bool_),
        **dict.fromkeys(("file_hash", "inode"), np.array(file, np.uint64)),
    )  # fmt: skip


def groups(table: Mmaps, per_process: bool = False) -> list[int]:
    return merge_mappings(table, SESSION, per_process).group.tolist()[:-1]


def test_one_file_in_two_processes_is_one_mapping_at_the_lower_address() -> None:
    table = mmaps((7, LIBC, 0x9000, 0, b"", 1), (8, LIBC, 0x5000, 0, b"", 1))
    merged = merge_mappings(table, SESSION, per_process=False)
    assert merged.group.tolist() == [0, 0, -1]
    assert (table.start + merged.shift[:2]).tolist() == [0x5000, 0x5000]
    strings = StringTableBuilder()
    mappings, rows = merged.table(np.array([True, False, True]), strings)
    assert mappings.start.tolist() == [0x5000] and mappings.limit.tolist() == [0x6000]
    assert mappings.pid.tolist() == [7], "a process that has samples in it"
    assert rows.tolist() == [0, -1]


@pytest.mark.parametrize(
    "other",
    [
        (8, "/lib/other.so", 0x5000, 0, b"", 1),
        (8, LIBC, 0x5000, 0x1000, b"", 1),
        (8, LIBC, 0x5000, 0, b"\1", 0),
        (8, LIBC, 0x5000, 0, b"", 2),
    ],
    ids=["name", "offset", "build id", "inode: the same path in another container"],
)
def test_different_files_are_different_mappings(other: tuple[int, str, int, int, bytes, int]) -> None:
    assert len(set(groups(mmaps((7, LIBC, 0x9000, 0, b"", 1), other)))) == 2


@pytest.mark.parametrize(
    "name", ["//anon", "[heap]", "/memfd:code (deleted)", "/anon_hugepage (deleted)", "/tmp/jit-7.dump"]
)
def test_code_that_is_named_by_its_address_stays_where_it_was(name: str) -> None:
    table = mmaps((7, name, 0x9000, 0, b"", 0), (8, name, 0x5000, 0, b"", 0))
    merged = merge_mappings(table, SESSION, per_process=False)
    assert merged.shift.tolist() == [0, 0, 0] and len(set(merged.group[:2].tolist())) == 2


@pytest.mark.parametrize("name", ["/memfd:plugin (deleted)", "/anon_hugepage (deleted)", "/dev/shm/plugin.so"])
def test_a_build_id_makes_memory_a_file(name: str) -> None:
    """A library that was loaded from memory is the same in all processes, wherever they have it."""
    table = mmaps((7, name, 0x9000, 0, b"\1", 0), (8, name, 0x5000, 0, b"\1", 0), (8, name, 0x3000, 0, b"\2", 0))
    assert groups(table) == [0, 0, 1]


@pytest.mark.parametrize(("name", "pid"), [("//anon", -1), ("[heap]", -1), ("/memfd:code (deleted)", -1), (LIBC, 7)])
def test_memory_that_holds_no_code_is_no_processs_code(name: str, pid: int) -> None:
    """No perf map names what stray words of a stack point to; mprotect has a compiler's memory recorded again."""
    table = mmaps((7, name, 0x5000, 0, b"", 0), (7, name, 0x5000, 0, b"", 0), (7, name, 0x9000, 0, b"", 0))
    table = replace(table, prot=np.array([3, 5, -1], np.int32), is_data=np.array([False, False, True]))
    merged = merge_mappings(table, SESSION, per_process=False)
    mappings, rows = merged.table(np.ones(4, np.bool_), StringTableBuilder())
    assert mappings.pid[rows[merged.group[:3]]].tolist() == [pid, 7, pid]


def test_modules_stay_where_the_kernel_had_them() -> None:
    table = mmaps((-1, "/lib/modules/a.ko", 0x9000, 0, b"", 0), (-1, "/lib/modules/a.ko", 0x5000, 0, b"", 0))
    assert groups(table) == [1, 0]


def test_per_process_mappings_do_not_move() -> None:
    table = mmaps((7, LIBC, 0x9000, 0, b"", 1), (8, LIBC, 0x5000, 0, b"", 1), (9, LIBC, 0x5000, 0, b"", 1))
    merged = merge_mappings(table, SESSION, per_process=True)
    assert merged.group.tolist() == [1, 0, 0, -1] and not merged.shift.any()


def test_build_ids_of_the_header_replace_missing_ones() -> None:
    table = mmaps((7, LIBC, 0x9000, 0, b"", 0), (8, LIBC, 0x5000, 0, b"\1\2", 0))
    merged = merge_mappings(table, make_session(build_ids={LIBC: b"\1\2"}), per_process=False)
    assert list(merged.build_ids) == ["0102", "0102"] and merged.group.tolist() == [0, 0, -1]
