"""Formats the fields of a record by name for ``perf2x dump -v``, mostly in the kernel's order.

Formats events as ``perf evlist -v`` does.
"""

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Any

import numpy as np

from perf2x.base.abi.uapi import ATTR_FLAGS, EventType, ReadFormat, SampleType
from perf2x.base.columnar.ragged import Ragged
from perf2x.model.recording.events import Event, Samples

_HEX = frozenset({"ip", "addr", "start", "length", "pgoff", "cookie"})
_SAMPLE = (
    (SampleType.IP, "ip"), (SampleType.TID, "pid"), (SampleType.TID, "tid"), (SampleType.TIME, "time"),
    (SampleType.ADDR, "addr"), (SampleType.ID | SampleType.IDENTIFIER, "id"), (SampleType.STREAM_ID, "stream_id"),
    (SampleType.CPU, "cpu"), (SampleType.PERIOD, "period"),
)  # fmt: skip
_LAST = ("time", "cpu")
_DERIVED = frozenset({"position", "file", "cpumode", "samples_only", "lifted"})
"""Columns that the decoders derive from the header or from other fields."""
_FILE = frozenset({"major", "minor", "inode", "inode_generation"})
"""Columns that share a union with the build id."""
_ABSENT = {"time": 0, "cpu": -1, "prot": -1, "flags": -1}
"""Values of columns for records without the field."""


def header_line(kind: int, misc: int, size: int) -> str:
    """Format struct perf_event_header as a line."""
    return f"... header: type: {kind}, misc: {misc:#x}, size: {size}"


def record_fields(columns: Mapping[str, Any], row: int) -> list[str]:
    """Format the fields of a side-band record as a line, time and CPU of its sample_id trailer last; [] without any."""
    skipped = {*_DERIVED, *_LAST, *(_FILE if "build_id" in columns and columns["build_id"][row] else ())}
    names = [name for name in columns if name not in skipped]
    pairs = [(name, columns[name]) for name in (*names, *_LAST) if not isinstance(columns[name], Ragged)]
    return _fields_line((name, column[row]) for name, column in pairs)


def sample_fields(batch: Samples, row: int, event: Event) -> list[str]:
    """Format the single-word fields of a sample as a line; longer fields have lines of their own."""
    names = [name for bits, name in _SAMPLE if event.sample_type & bits]
    columns = {name: batch.extra[name] if name in batch.extra else getattr(batch, name, None) for name in names}
    return _fields_line((name, column[row]) for name, column in columns.items() if column is not None)


def _fields_line(pairs: Iterable[tuple[str, Any]]) -> list[str]:
    shown = [f"{name}: {_field_text(name, value)}" for name, value in pairs if not _is_absent(name, value)]
    return [f"... fields: {', '.join(shown)}"] if shown else []


def _is_absent(name: str, value: Any) -> bool:
    return bool(value == b"" if isinstance(value, bytes) else name in _ABSENT and int(value) == _ABSENT[name])


def _field_text(name: str, value: Any) -> str:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, str):
        return value
    return f"{int(value):#x}" if name in _HEX and value else str(int(np.asarray(value)))


def event_line(event: Event) -> str:
    """Format name, attributes that are not zero, and ids in one line."""
    attributes = ", ".join(f"{name}: {value}" for name, value in attribute_pairs(event))
    ids = f", id: {{ {', '.join(map(str, event.ids))} }}" if event.ids else ""
    return f"# {event.name}: {attributes}{ids}"


def attribute_pairs(event: Event) -> list[tuple[str, str]]:
    """Return names and values of attributes as perf_event_attr__fprintf prints them, as far as Event has them."""
    kinds = {int(kind): f" (PERF_TYPE_{kind.name})" for kind in EventType}
    pairs = [
        ("type", f"{event.type}{kinds.get(event.type, '')}"),
        ("size", str(event.attr_size)),
        ("config", f"{event.config:#x}" if event.config else "0"),
    ]
    if event.sample_period:
        pairs.append(("{ sample_period, sample_freq }", str(event.sample_period)))
    pairs.append(("sample_type", bit_names(event.sample_type, SampleType)))
    if event.read_format:
        pairs.append(("read_format", bit_names(event.read_format, ReadFormat)))
    numbers = {
        "precise_ip": event.precise_ip, "config1": event.config1, "config2": event.config2,
        "branch_sample_type": event.branch_sample_type, "sample_regs_user": event.sample_regs_user,
        "sample_stack_user": event.sample_stack_user, "sample_regs_intr": event.sample_regs_intr,
    }  # fmt: skip
    pairs += [(name, "1") for name in ATTR_FLAGS if name in event.flags]
    pairs += [(name, f"{value:#x}") for name, value in numbers.items() if value]
    return pairs + ([("clockid", str(event.clockid))] if event.clockid >= 0 else [])


def bit_names(value: int, family: type[IntEnum]) -> str:
    """Format bits as ``IP|TID|TIME``, unnamed ones as a number."""
    names = [bit.name or "" for bit in family if value & bit]
    rest = value & ~sum(int(bit) for bit in family)
    return "|".join([*names, *([f"{rest:#x}"] if rest else [])]) or "0"
