"""Formats the fields of a record by name, and events as ``perf evlist -v`` does."""

from collections.abc import Mapping
from enum import IntEnum
from typing import Any

from perf2x.base.abi import ATTR_FLAGS, EventType, ReadFormat, SampleType
from perf2x.model.recording import Event

_HEX = frozenset({"ip", "addr", "start", "length", "pgoff", "cookie", "offset", "size", "data_src", "phys_addr",
                  "data_page_size", "code_page_size", "transaction", "cgroup"})  # fmt: skip
_DERIVED = frozenset({"position", "file", "cpumode", "samples_only", "lifted", "_"})
"""Columns that the decoders derive from the header or from other fields."""
_ABSENT = {"prot": -1, "flags": -1, "build_id": b""}
"""Values of columns for records without the field."""


def fields_text(fields: Mapping[str, Any]) -> str:
    """Format fields by name; ``own_time`` and ``owner_id`` are only called so beside those of the trailer."""
    shown = (
        (name.removeprefix("own_").removeprefix("owner_"), value)
        for name, value in fields.items()
        if name not in _DERIVED and (name not in _ABSENT or value != _ABSENT[name])
    )
    return ", ".join(f"{name}: {_field_text(name, value)}" for name, value in dict(shown).items())


def _field_text(name: str, value: Any) -> str:
    if isinstance(value, str | float):
        return str(value)
    if isinstance(value, bytes):
        return value.hex()
    return f"{int(value):#x}" if name in _HEX and value else str(int(value))


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
