"""Holds the reader's columns against the scalar decoder, row by row."""

import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from perf2x.base.columnar.arrays import AnyArray
from perf2x.base.columnar.dictionary_column import DictionaryColumn
from perf2x.base.columnar.list_array import SharedRows
from perf2x.model.recording.events import Recording as Product
from perf2x.model.recording.events import Samples, UserStacks, Want
from perf2x.reader import open_recording
from tests.forge import kernel as k
from tests.reference.decode import Recording, read
from tests.reference.stitch import expanded

Row = tuple[Any, ...]
EVERYTHING = Want.CHAIN | Want.ADDR | Want.CGROUP | Want.MEMORY | Want.RAW | Want.BRANCHES | Want.STACKS


def assert_reads_alike(path: Path) -> None:
    """Events, samples and side-band of the product are what the reference reads."""
    assert_recordings_alike(open_recording(str(path)), read(path))


def assert_recordings_alike(product: Product, reference: Recording) -> None:
    assert list(map(event_row, product.session.events)) == list(map(event_row, reference.events))
    for ours, theirs in zip(product.session.events, reference.events, strict=True):
        assert ours.name == theirs.name or not theirs.named
    wanted = sorted(expanded(reference), key=lambda found: (found[0].at, found[1].index))
    rows = sorted(sample_rows(product), key=lambda row: row[0])
    assert len(rows) == len(wanted) == product.sample_count
    for (_, *row), (sample, event, period) in zip(rows, wanted, strict=True):
        assert tuple(row) == reference_row(sample, event.index, period, tuple(row), reference.order)
    stand_where_samples_are(reference)
    for table, kinds, to_row, columns in TABLES:
        assert table_rows(product.sideband, table, columns) == [to_row(record) for record in reference.of(*kinds)], (
            table
        )
    assert order_of_product(product) == order_of_reference(reference)


def stand_where_samples_are(reference: Recording) -> None:
    """Give records without sample_id_all a time: their own (FORK, EXIT), else what the samples before them reached."""
    if not reference.events or any("sample_id_all" in event.flags for event in reference.events):
        return
    timed = reference.events[0].sample_type & k.TIME
    reached = 0
    for record in reference.records:
        if record.kind == "SAMPLE":
            reached = max(reached, record.time or 0)
        elif getattr(record, "time", None) is None:
            record.time = record.own_time if timed and record.kind in ("FORK", "EXIT") else reached


def event_row(event: Any) -> Row:
    ids = tuple(event.ids)
    return event.index, event.type, event.config, event.sample_type, event.read_format, event.flags, ids


def sample_rows(product: Product) -> Iterator[Row]:
    """One tuple per sample with Python numbers; the first is the sort key."""
    for batch in product.samples(EVERYTHING):
        yield from batch_rows(batch)


def batch_rows(batch: Samples) -> Iterator[Row]:
    optional = (batch.time, batch.cpu, batch.addr, batch.cgroup, batch.weight, batch.data_src)
    for i in range(len(batch)):
        given = [None if column is None else int(column[i]) for column in optional]
        raw = None if batch.raw is None else bytes(batch.raw.row(i).tobytes())
        branches = None if batch.branches is None else branch_row(batch.branches, i)
        yield (
            (int(batch.position[i]), int(batch.event[i])), int(batch.event[i]), int(batch.pid[i]), int(batch.tid[i]),
            int(batch.ip[i]), int(batch.period[i]), int(batch.cpumode[i]), tuple(batch.chain.row(i).tolist()),
            *given, raw, branches, None if batch.user_stacks is None else user_row(batch.user_stacks, i),
        )  # fmt: skip


def user_row(stacks: UserStacks, i: int) -> Row:
    """(abi, register bit → value unless 0, stack bytes as words of the machine that reads).

    Zeros are left out because a batch of events with different masks has all their registers.
    """
    abi, start, size = int(stacks.abi[i]), int(stacks.start[i]), int(stacks.size[i])
    bits = [bit for bit in range(64) if stacks.mask >> bit & 1]
    registers = {bit: value for bit, value in zip(bits, stacks.regs[i].tolist(), strict=True) if abi and value}
    return abi, registers, tuple(stacks.words[start : start + (size + 7) // 8].tolist()) if size else ()


def branch_row(branches: Any, i: int) -> Row:
    start, end = int(branches.offsets[i]), int(branches.offsets[i + 1])
    columns = (branches.from_ip, branches.to_ip, branches.flags)
    return tuple(zip(*(column[start:end].tolist() for column in columns), strict=True))


def reference_row(sample: SimpleNamespace, event: int, period: int, ours: Row, order: str) -> Row:
    """``ours`` decides between absent columns (None) and filled ones."""
    optional = (sample.time, sample.cpu, sample.addr, sample.cgroup, sample.weight, sample.data_src)
    given = tuple(
        filler if value is None and mine is not None else value
        for value, mine, filler in zip(optional, ours[7:], (0, -1, 0, 0, 0, 0), strict=False)
    )
    raw = b"" if sample.raw is None and ours[13] is not None else sample.raw
    branches = () if sample.branches is None and ours[14] is not None else sample.branches
    user = reference_user(sample, order) if sample.regs_user or sample.stack or ours[15] is not None else None
    return (
        event, -1 if sample.pid is None else sample.pid, -1 if sample.tid is None else sample.tid, sample.ip or 0,
        period, sample.mode, tuple(sample.chain), *given, raw, None if branches is None else tuple(branches), user,
    )  # fmt: skip


def reference_user(sample: SimpleNamespace, order: str) -> Row:
    abi, values = sample.regs_user or (0, ())
    bits = [bit for bit in range(64) if sample.event.regs_user >> bit & 1]
    stack = sample.stack or b""
    stack += bytes(-len(stack) % 8)
    registers = {bit: value for bit, value in zip(bits, values, strict=False) if abi and value}
    return abi, registers, struct.unpack(f"{order}{len(stack) // 8}Q", stack)


def table_rows(sideband: Any, table: str, columns: tuple[str, ...]) -> list[Row]:
    """Rows in file order, whatever order the table itself is in."""
    found = getattr(sideband, table)
    values = [column_values(getattr(found, name)) for name in columns]
    rows = list(zip(*values, strict=True))
    return [rows[index] for index in np.argsort(found.position, kind="stable").tolist()]


def column_values(column: Any) -> list[Any]:
    if isinstance(column, DictionaryColumn):
        return list(column)
    if isinstance(column, np.ndarray):
        return list(column.tolist())
    rows = column.table[column.indices] if isinstance(column, SharedRows) else column
    return [tuple(row.tolist()) for row in rows.rows()]


def order_of_product(product: Product) -> list[str]:
    """Table names of every decoded record in the order of their positions, samples not counted twice."""
    places: list[tuple[int, str]] = []
    for table, _, _, _ in TABLES:
        places += [(int(position), table) for position in positions(getattr(product.sideband, table))]
    seen = {int(position) for batch in product.samples(Want(0)) for position in batch.position}
    places += [(position, "samples") for position in seen]
    return [table for _, table in sorted(places)]


def positions(table: Any) -> AnyArray:
    column: AnyArray = table.position
    return column


def order_of_reference(reference: Recording) -> list[str]:
    tables = {kind: table for table, kinds, _, _ in TABLES for kind in kinds} | {"SAMPLE": "samples"}
    counted = {id(sample) for sample, _, _ in expanded(reference)}
    return [
        tables[record.kind]
        for record in reference.records
        if record.kind in tables and (record.kind != "SAMPLE" or id(record) in counted)
    ]


def _time(record: SimpleNamespace) -> int:
    return record.time or 0


def _mmap(record: SimpleNamespace) -> Row:
    place = (record.pid, record.tid, record.addr, record.len, record.pgoff)
    return _time(record), *place, record.prot, record.mode, record.filename, record.build_id


def _task(record: SimpleNamespace) -> Row:
    return _time(record), record.pid, record.ppid, record.tid, record.ptid


def _deferred(record: SimpleNamespace) -> Row:
    tid = -1 if record.stamp_tid is None else record.stamp_tid
    return _time(record), tid, record.cookie, tuple(record.ips)


def _comm(record: SimpleNamespace) -> Row:
    return _time(record), record.pid, record.tid, record.comm, record.is_exec


def _lost(record: SimpleNamespace) -> Row:
    return _time(record), record.lost, record.kind == "LOST_SAMPLES"


def _ksymbol(record: SimpleNamespace) -> Row:
    return _time(record), record.addr, record.len, record.ksym_type, record.unregister, record.name


def _cgroup(record: SimpleNamespace) -> Row:
    return _time(record), record.cgroup, record.path


MMAP = ("time", "pid", "tid", "start", "length", "pgoff", "prot", "cpumode", "filename", "build_id")
TASK = ("time", "pid", "ppid", "tid", "ptid")
TABLES: tuple[tuple[str, tuple[str, ...], Callable[[SimpleNamespace], Row], tuple[str, ...]], ...] = (
    ("mmaps", ("MMAP", "MMAP2"), _mmap, MMAP),
    ("comms", ("COMM",), _comm, ("time", "pid", "tid", "comm", "is_exec")),
    ("forks", ("FORK",), _task, TASK),
    ("exits", ("EXIT",), _task, TASK),
    ("deferred", ("CALLCHAIN_DEFERRED",), _deferred, ("time", "tid", "cookie", "chain")),
    ("losts", ("LOST", "LOST_SAMPLES"), _lost, ("time", "lost", "samples_only")),
    ("ksymbols", ("KSYMBOL",), _ksymbol, ("time", "start", "length", "type", "unregister", "name")),
    ("cgroups", ("CGROUP",), _cgroup, ("time", "id", "path")),
)
"""Table of Sideband, record kinds in it, the reference's row, the columns that the row stands for."""
