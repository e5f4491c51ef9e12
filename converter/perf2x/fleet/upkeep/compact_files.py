"""Compaction: small files of a dataset are put together, and timelines that are old become sums."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from msgspec import Struct

from perf2x.fleet.upkeep.journal import Changes, alone, carry_out, finish
from perf2x.fleet.upkeep.merge_rows import SHARED, Taken, fold, merge_rows, replaced, shared_names, write_shared
from perf2x.fleet.upkeep.row_files import RecordingRow, RowFile, row_files
from perf2x.storage.dataset.dataset_folder import Storage
from perf2x.storage.dataset.write.write_recording import MERGED

TARGET = 128 << 20
"""Bytes of samples that are put into one file; files above half of it are left as they are."""


class Done(Struct, frozen=True):
    """Numbers that a run reports."""

    before: int = 0
    """Files."""
    after: int = 0
    summed: int = 0
    """Timelines."""


def compact(storage: Storage, sum_before_ns: int | None = None, target: int = TARGET) -> Done:
    """Merge small files; sum timelines of recordings that started before a time (nanoseconds since the epoch).

    Rows of recordings that could not be read, or are unfinished, stay as they are: they may come again. FormatError
    when a file is damaged, OutputError when one cannot be written.
    """
    with alone(storage):
        finish(storage)
        files = row_files(storage)
        before = _count(storage)
        old = frozenset(row.recording for file in files for row in file.rows if _is_old(file, row, sum_before_ns))
        changes = [_merged(storage, group, old) for group in _groups(files, old, target)]
        known = frozenset(row.recording for file in files for row in file.rows)
        changes += [_merged_shared(storage, table, known) for table in SHARED]
        carry_out(storage, joined(changes))
        return Done(before, _count(storage), len(old))


def joined(changes: Iterable[Changes]) -> Changes:
    """All changes as one."""
    changes = list(changes)
    return Changes(tuple(n for one in changes for n in one.new), tuple(n for one in changes for n in one.old))


def _count(storage: Storage) -> int:
    return sum(len(storage.files(table)) for table in (*SHARED, "mappings", "samples", "recordings"))


def started(file: RowFile, row: RecordingRow) -> int:
    """Start of a recording; that of its file where the recording does not tell."""
    return file.modified_ns if row.start_ns is None else row.start_ns


def _is_old(file: RowFile, row: RecordingRow, before_ns: int | None) -> bool:
    return before_ns is not None and row.is_timeline and started(file, row) < before_ns


def _groups(files: Sequence[RowFile], old: frozenset[bytes], target: int) -> Iterator[list[RowFile]]:
    """Yield files of one folder each that are to become one file."""

    def has_work(file: RowFile) -> bool:
        return file.has_doubles or any(row.recording in old for row in file.rows)

    def may_come_again(row: RecordingRow) -> bool:
        return row.has_error or (row.unfinished and row.recording not in old)

    open_ones = (file for file in files if not any(map(may_come_again, file.rows)))
    small = (file for file in open_ones if has_work(file) or file.size < target // 2)
    for _, found in groupby(sorted(small, key=lambda file: (file.folder, file.name)), lambda file: file.folder):
        for group in _filled(found, target):
            if len(group) > 1 or has_work(group[0]):
                yield group


def _filled(files: Iterable[RowFile], target: int) -> Iterator[list[RowFile]]:
    group: list[RowFile] = []
    for file in files:
        if group and sum(one.size for one in group) + file.size > target:
            yield group
            group = []
        group.append(file)
    if group:
        yield group


def _merged(storage: Storage, group: Sequence[RowFile], old: frozenset[bytes]) -> Changes:
    taken = [Taken(file, row, row.recording in old) for file in group for row in file.rows]
    return replaced(group, [merge_rows(storage, group[0].folder, taken)] if taken else [])


def _merged_shared(storage: Storage, table: str, known: frozenset[bytes]) -> Changes:
    """Merge the files of a table, except those of recordings that are still being added."""
    names = shared_names(storage, table, known)
    if all(name.rpartition("/")[2].startswith(MERGED) for name in names):
        return Changes()
    return Changes(tuple(write_shared(storage, table, fold(storage, table, names))), tuple(names))
