"""Records that are no samples, worded for formats that print them among samples, with perf's names of threads.

Source of truth: tools/perf/builtin-script.c print_event_with_time and process_*_event; a thread's name is that behind a
record, but before an exit.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any

import numpy as np

from perf2x.analysis.dump.decoded_records import record_text
from perf2x.base.abi.uapi import MISC_CPUMODE_MASK, RecordType
from perf2x.base.abi.uapi import MISC_SWITCH_OUT as MORE
from perf2x.base.abi.uapi import MISC_SWITCH_OUT_PREEMPT as PREEMPTED
from perf2x.model.printable_text import without_controls
from perf2x.model.profile.recorded_samples import OtherRecords
from perf2x.model.recording.events import Others, Recording
from perf2x.reader.records.record_types import RECORD_NAMES

_THREADS = (RecordType.COMM, RecordType.FORK, RecordType.EXIT)
_LETTERS: dict[int, str] = {RecordType.MMAP: "M", RecordType.MMAP2: "M", RecordType.COMM: "E", RecordType.SWITCH: "S",
            RecordType.SWITCH_CPU_WIDE: "S"}  # fmt: skip
Row = tuple[int, int, Others, int]
"""Time, position, table, row."""
_FOURTH = re.compile(r", ((?:4|8)/)")
"""Namespaces before which perf begins a line."""


def other_records(recording: Recording, kinds: Collection[RecordType]) -> OtherRecords:
    """Records of these types."""
    rows = sorted(_rows(recording.others({*kinds, *_THREADS})), key=lambda row: row[:2])
    found = list(_shown(rows, kinds))
    columns: Any = zip(*found, strict=True) if found else ((),) * 10
    kinds_of = (np.uint64, np.int64, *(np.int32,) * 5, *(np.object_,) * 3)
    return OtherRecords(*map(np.array, columns, kinds_of))


def _rows(tables: Iterable[Others]) -> Iterator[Row]:
    for table in tables:
        times, positions = (table.columns[name].tolist() for name in ("time", "position"))
        yield from ((*place, table, row) for row, place in enumerate(zip(times, positions, strict=True)))


def _shown(rows: Iterable[Row], kinds: Collection[RecordType]) -> Iterator[tuple[Any, ...]]:
    names = {0: "swapper"}
    for time, position, table, row in rows:
        kind, columns = table.kind, table.columns
        pid, tid = int(columns["pid"][row]), int(columns["tid"][row])
        if kind == RecordType.COMM:
            names[tid] = columns["comm"][row]
        elif kind == RecordType.FORK:
            names[tid] = names.get(int(columns["ptid"][row]), f":{tid}")
        comm = names.get(tid, f":{tid}")
        if kind == RecordType.EXIT:
            names.pop(tid, None)
        if kind in kinds:
            said = int(table.tid[row]) >= 0 or int(table.pid[row]) >= 0
            who = (int(table.pid[row]), int(table.tid[row])) if said else (pid, tid)
            misc = int(table.misc[row])
            text = without_controls(record_text(kind, columns, row, misc)[0])
            text = _FOURTH.sub(r", \n\t\t \1", text.replace(" [", "\n\t\t[")) if kind == RecordType.NAMESPACES else text
            text = text.partition(":")[2].partition(":")[2] if kind == RecordType.LOST else text
            place = time, position, max(table.event, 0), *who, max(int(table.cpu[row]), 0)
            yield (
                *place,
                misc & MISC_CPUMODE_MASK,
                comm,
                _letters(kind, misc),
                f"PERF_RECORD_{RECORD_NAMES[kind]}{text}",
            )


def _letters(kind: int, misc: int) -> str:
    if not misc & MORE:
        return ""
    return _LETTERS.get(kind, "") + ("p" if _LETTERS.get(kind) == "S" and misc & PREEMPTED else "")
