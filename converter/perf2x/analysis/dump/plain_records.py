"""Formats records without a decoder, the kernel's and perf's own: their fields, by struct.

Source of truth: tools/lib/perf/include/perf/event.h and include/uapi/linux/perf_event.h.
"""

import struct
from collections.abc import Callable

from perf2x.analysis.dump.field_text import attribute_pairs
from perf2x.base.abi.layouts import ByteOrder
from perf2x.base.abi.perffile import EventUpdate, Feature, UserRecordType
from perf2x.base.abi.uapi import RecordType
from perf2x.reader.header.event_attributes import parse_attr
from perf2x.reader.header.section_reader import SectionError, SectionReader, text
from perf2x.reader.session_builder import SessionBuilder, stat_config, thread_map

FIXED_FIELDS: dict[int, tuple[tuple[str, str], ...]] = {
    RecordType.READ: (("pid", "I"), ("tid", "I"), ("value", "Q")),
    RecordType.ITRACE_START: (("pid", "I"), ("tid", "I")),
    RecordType.BPF_EVENT: (("type", "H"), ("flags", "H"), ("id", "I")),
    RecordType.TEXT_POKE: (("addr", "Q"), ("old_len", "H"), ("new_len", "H")),
    RecordType.AUX_OUTPUT_HW_ID: (("hw_id", "Q"),),
    UserRecordType.HEADER_EVENT_TYPE: (("id", "Q"),),
    UserRecordType.HEADER_TRACING_DATA: (("size", "I"),),
    UserRecordType.FINISHED_ROUND: (),
    UserRecordType.FINISHED_INIT: (),
    UserRecordType.AUXTRACE_INFO: (("type", "I"),),
    UserRecordType.AUXTRACE: (
        ("size", "Q"), ("offset", "Q"), ("reference", "Q"), ("idx", "I"), ("tid", "I"), ("cpu", "I"),
    ),
    UserRecordType.AUXTRACE_ERROR: (
        ("type", "I"), ("code", "I"), ("cpu", "I"), ("pid", "I"), ("tid", "I"), ("fmt", "I"), ("ip", "Q"),
    ),
    UserRecordType.STAT: (("id", "Q"), ("cpu", "I"), ("thread", "I"), ("val", "Q"), ("ena", "Q"), ("run", "Q")),
    UserRecordType.STAT_ROUND: (("type", "Q"), ("time", "Q")),
    UserRecordType.TIME_CONV: (("time_shift", "Q"), ("time_mult", "Q"), ("time_zero", "Q")),
    UserRecordType.SCHEDSTAT_CPU: (("timestamp", "Q"), ("cpu", "I"), ("version", "H")),
    UserRecordType.SCHEDSTAT_DOMAIN: (("timestamp", "Q"), ("cpu", "I"), ("version", "H"), ("domain", "H")),
}  # fmt: skip
"""Fixed fields of each record type in the order of the struct, with struct codes."""


def plain_record_text(kind: int, payload: bytes, session: SessionBuilder) -> str:
    """Return the rest of the record's line."""
    section = SectionReader(payload, session.order)
    try:
        if kind in FIXED_FIELDS:
            return _fixed_fields_text(FIXED_FIELDS[kind], section)
        if kind in _FORMATTERS:
            return _FORMATTERS[kind](section, session)
    except (SectionError, struct.error):
        return ": cut short or damaged"
    return f": {len(payload)} bytes"


def _fixed_fields_text(fields: tuple[tuple[str, str], ...], section: SectionReader) -> str:
    return "".join(f" {name}: {section.numbers(code)[0]}" for name, code in fields)


def _attr_text(section: SectionReader, session: SessionBuilder) -> str:
    event = parse_attr(section.data, session.order, 0)
    return ", " + ", ".join(f"{name} = {value}" for name, value in attribute_pairs(event))


def _feature_text(section: SectionReader, session: SessionBuilder) -> str:
    number = section.u64()
    names = {int(feature): feature.name for feature in Feature}
    return f", {names.get(number, number)}: {section.left} bytes"


def _build_id_text(section: SectionReader, session: SessionBuilder) -> str:
    pid = struct.unpack(session.order + "i", section.take(4))[0]
    return f" pid: {pid} {section.take(20).hex()} {text(section.data[28:])}"


def _id_index_text(section: SectionReader, session: SessionBuilder) -> str:
    count = section.u64()
    entries = [section.numbers("QQQQ") for _ in range(section.fitting(count, 32))]
    listed = ", ".join(f"{{id: {i} idx: {x} cpu: {_as_signed64(c)} tid: {_as_signed64(t)}}}" for i, x, c, t in entries)
    return f" nr: {count} {listed}".rstrip()


def _as_signed64(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number


def _thread_map_text(section: SectionReader, session: SessionBuilder) -> str:
    threads = thread_map(section)
    listed = ", ".join(f"{pid}:{comm}".rstrip(":") for pid, comm in threads)
    return f" nr: {len(threads)} thread{'s' if len(threads) > 1 else ''}: {listed}"


def _cpu_map_text(section: SectionReader, session: SessionBuilder) -> str:
    """Type 0 is a list of u16, 1 a mask, 2 a range { u8 any; u8; u16 start, end }."""
    kind = section.numbers("H")[0]
    if kind == 0:
        count = section.numbers("H")[0]
        return ": " + ",".join(map(str, section.numbers(f"{section.fitting(count, 2)}H")))
    if kind == 2:
        _, _, start, end = section.numbers("BBHH")
        return f": {start}-{end}"
    return f": mask {section.take(section.left).hex()}"


def _stat_config_text(section: SectionReader, session: SessionBuilder) -> str:
    return " " + ", ".join(f"{tag}: {value}" for tag, value in stat_config(section))


def _event_update_text(section: SectionReader, session: SessionBuilder) -> str:
    what, identifier = section.numbers("QQ")
    names = {int(update): update.name.lower() for update in EventUpdate}
    data = section.take(section.left)
    shown = f"{_unpack_double(data, session.order)}" if what == EventUpdate.SCALE else text(data)
    return f" id: {identifier} {names.get(what, what)}" + (f": {shown}" if what != EventUpdate.CPUS else "")


def _unpack_double(data: bytes, order: ByteOrder) -> float:
    number: float = struct.unpack(order + "d", data[:8])[0]
    return number


_FORMATTERS: dict[int, Callable[[SectionReader, SessionBuilder], str]] = {
    UserRecordType.HEADER_ATTR: _attr_text,
    UserRecordType.HEADER_FEATURE: _feature_text,
    UserRecordType.HEADER_BUILD_ID: _build_id_text,
    UserRecordType.ID_INDEX: _id_index_text,
    UserRecordType.THREAD_MAP: _thread_map_text,
    UserRecordType.CPU_MAP: _cpu_map_text,
    UserRecordType.STAT_CONFIG: _stat_config_text,
    UserRecordType.EVENT_UPDATE: _event_update_text,
}
