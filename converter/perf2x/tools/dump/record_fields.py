"""Formats records other than samples as names and values of fields, and events as ``perf evlist -v`` does.

Source of truth for the structs: tools/lib/perf/include/perf/event.h and include/uapi/linux/perf_event.h.
"""

import struct
from collections.abc import Mapping
from enum import IntEnum
from typing import Any

from perf2x.base.abi import (
    ATTR_FLAGS,
    AuxFlag,
    EventType,
    EventUpdate,
    HeaderFeature,
    ReadFormat,
    RecordType,
    SampleType,
    UserRecordType,
)
from perf2x.base.columnar import ListArray
from perf2x.model.recording import Event
from perf2x.reader.header.event_attributes import parse_attr
from perf2x.reader.header.section_reader import SectionReader, decode_string

_HEX_FIELDS = frozenset({"ip", "addr", "start", "length", "pgoff", "cookie", "offset", "size", "data_src", "phys_addr",
                  "data_page_size", "code_page_size", "transaction", "cgroup"})  # fmt: skip
_HIDDEN_COLUMNS = frozenset({"position", "file_hash", "cpumode", "samples_only", "is_unthrottle", "_"})
# Values that columns have where a record lacks the field; such fields are not shown.
_ABSENT_VALUES = {"prot": -1, "flags": -1, "build_id": b""}


def fields_text(fields: Mapping[str, Any]) -> str:
    """Format fields as ``name: value``.

    Decoders call a record's own time and id ``own_time`` and ``owner_id``, because the sample_id trailer may have a
    time and an id, too.
    """
    shown = (
        (name.removeprefix("own_").removeprefix("owner_"), value)
        for name, value in fields.items()
        if name not in _HIDDEN_COLUMNS and (name not in _ABSENT_VALUES or value != _ABSENT_VALUES[name])
    )
    return ", ".join(f"{name}: {_field_text(name, value)}" for name, value in dict(shown).items())


def _field_text(name: str, value: Any) -> str:
    if isinstance(value, str | float):
        return str(value)
    if isinstance(value, bytes):
        return value.hex()
    return f"{int(value):#x}" if name in _HEX_FIELDS and value else str(int(value))


def event_line(event: Event) -> str:
    """Format an event's name, attributes and ids as one line; most attributes are left out if they are 0."""
    attributes = ", ".join(f"{name}: {value}" for name, value in _attribute_pairs(event))
    ids = f", id: {{ {', '.join(map(str, event.ids))} }}" if event.ids else ""
    return f"# {event.name}: {attributes}{ids}"


def _attribute_pairs(event: Event) -> list[tuple[str, str]]:
    type_names = {int(number): f" (PERF_TYPE_{number.name})" for number in EventType}
    pairs = [
        ("type", f"{event.type}{type_names.get(event.type, '')}"),
        ("size", str(event.attr_size)),
        ("config", f"{event.config:#x}" if event.config else "0"),
    ]
    if event.sample_period:
        pairs.append(("{ sample_period, sample_freq }", str(event.sample_period)))
    pairs.append(("sample_type", _bit_names(event.sample_type, SampleType)))
    if event.read_format:
        pairs.append(("read_format", _bit_names(event.read_format, ReadFormat)))
    numbers = {
        "precise_ip": event.precise_ip, "config1": event.config1, "config2": event.config2,
        "branch_sample_type": event.branch_sample_type, "sample_regs_user": event.sample_regs_user,
        "sample_stack_user": event.sample_stack_user, "sample_regs_intr": event.sample_regs_intr,
    }  # fmt: skip
    pairs += [(name, "1") for name in ATTR_FLAGS if name in event.flags]
    pairs += [(name, f"{value:#x}") for name, value in numbers.items() if value]
    return pairs + ([("clockid", str(event.clockid))] if event.clockid >= 0 else [])


def _bit_names(value: int, enumeration: type[IntEnum]) -> str:
    """Format bits as ``IP|TID|TIME``; bits without a name are added as one number."""
    names = [bit.name or "" for bit in enumeration if value & bit]
    unnamed_bits = value & ~sum(int(bit) for bit in enumeration)
    return "|".join([*names, *([f"{unnamed_bits:#x}"] if unnamed_bits else [])]) or "0"


# Name and type of each field of record types without a decoder. A type is a code of Python's module struct, ``text`` (a
# string up to a NUL), ``rest`` (all remaining bytes, whose number is shown), or ``change`` (a double, a string or
# ``rest``, depending on the field ``type``). Codes with ``*`` are repeated ``nr`` times.
_STRUCTS: dict[int, str] = {
    RecordType.ITRACE_START: "pid:i tid:i",
    RecordType.BPF_EVENT: "type:H flags:H id:I",
    RecordType.TEXT_POKE: "addr:Q old_len:H new_len:H",
    RecordType.AUX_OUTPUT_HW_ID: "hw_id:Q",
    UserRecordType.HEADER_EVENT_TYPE: "id:Q name:text",
    UserRecordType.HEADER_TRACING_DATA: "size:I",
    UserRecordType.HEADER_BUILD_ID: "pid:i build_id:20s _:I filename:text",
    UserRecordType.FINISHED_ROUND: "",
    UserRecordType.FINISHED_INIT: "",
    UserRecordType.ID_INDEX: "nr:Q id/idx/cpu/tid:QQqq*",
    UserRecordType.AUXTRACE_INFO: "type:I",
    UserRecordType.AUXTRACE: "size:Q offset:Q reference:Q idx:I tid:i cpu:i",
    UserRecordType.AUXTRACE_ERROR: "type:I code:I cpu:i pid:i tid:i fmt:I ip:Q",
    UserRecordType.THREAD_MAP: "nr:Q pid/comm:q16s*",
    UserRecordType.CPU_MAP: "type:H data:rest",
    UserRecordType.STAT_CONFIG: "nr:Q tag/value:QQ*",
    UserRecordType.EVENT_UPDATE: "type:Q id:Q value:change",
    UserRecordType.TIME_CONV: "time_shift:Q time_mult:Q time_zero:Q",
    UserRecordType.HEADER_FEATURE: "feature:Q data:rest",
    UserRecordType.SCHEDSTAT_CPU: "timestamp:Q cpu:I version:H",
    UserRecordType.SCHEDSTAT_DOMAIN: "timestamp:Q cpu:I version:H domain:H",
}
_NAMED_VALUES: dict[int, tuple[str, type[IntEnum]]] = {
    UserRecordType.HEADER_FEATURE: ("feature", HeaderFeature),
    UserRecordType.EVENT_UPDATE: ("type", EventUpdate),
}
# Columns that share a union with the build id, which is shown instead.
_FILE_IDENTITY = frozenset({"major", "minor", "inode", "inode_generation"})
_NAMESPACES = ("net", "uts", "ipc", "pid", "user", "mnt", "cgroup")


def decoded_fields(columns: Mapping[str, Any], row: int) -> dict[str, Any]:
    """Return the fields of one row of decoded columns, by name.

    The links of a NAMESPACES record become fields "net_ns", "uts_ns" …
    """
    fields = {name: column[row] for name, column in columns.items() if not isinstance(column, ListArray)}
    if fields.get("build_id"):
        fields = {name: value for name, value in fields.items() if name not in _FILE_IDENTITY}
    links = columns["links"].row(row).tolist() if "links" in columns else []
    for index, (device, inode) in enumerate(zip(links[::2], links[1::2], strict=True)):
        fields[f"{_NAMESPACES[index]}_ns" if index < len(_NAMESPACES) else f"ns_{index}"] = f"{device}/{inode:#x}"
    return fields


def struct_fields(record_type: int, section: SectionReader) -> dict[str, Any]:
    """Return the fields of a record without a decoder. Raises SectionError or struct.error if it is truncated."""
    if record_type == UserRecordType.HEADER_ATTR:
        return dict(_attribute_pairs(parse_attr(section.data, section.byte_order, 0)))
    fields: dict[str, Any] = {}
    for name, code in (field.split(":") for field in _STRUCTS.get(record_type, "data:rest").split()):
        if code == "text":
            fields[name] = decode_string(section.take(section.bytes_left))
        elif code == "change" and fields["type"] == EventUpdate.SCALE:
            fields[name] = section.numbers("d")[0]
        elif code == "change" and fields["type"] != EventUpdate.CPUS:
            fields[name] = decode_string(section.take(section.bytes_left))
        elif code in ("change", "rest"):
            fields[name] = f"{section.bytes_left} bytes"
        elif code.endswith("*"):
            count = section.checked_count(fields["nr"], struct.calcsize(section.byte_order + code[:-1]))
            fields[name] = ", ".join("/".join(map(_entry_text, section.numbers(code[:-1]))) for _ in range(count))
        else:
            fields[name] = section.numbers(code)[0]
    return fields


def _entry_text(value: Any) -> str:
    return decode_string(value) if isinstance(value, bytes) else str(value)


def with_value_names(record_type: int, fields: dict[str, Any]) -> dict[str, Any]:
    """Replace numbers by the names that the kernel or perf has for them: feature 3 becomes HOSTNAME."""
    if record_type == RecordType.AUX:
        fields["flags"] = _bit_names(int(fields["flags"]), AuxFlag)
    name, enumeration = _NAMED_VALUES.get(record_type, ("", HeaderFeature))
    name_of = {int(member): member.name for member in enumeration}
    return fields | {name: name_of[fields[name]]} if fields.get(name) in name_of else fields
