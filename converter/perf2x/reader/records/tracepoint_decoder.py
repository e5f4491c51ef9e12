"""Parses tracing data, which has the format files of tracepoints, and decodes PERF_SAMPLE_RAW with them.

A format file describes the fields of a tracepoint. Below, the first field is a number. The second has four bytes: the
offset (u16) and the length (u16) of a string::

    field:pid_t prev_pid;	offset:24;	size:4;	signed:1;
    field:__data_loc char[] filename;	offset:16;	size:4;	signed:0;

The offset counts from the start of the RAW bytes; with __rel_loc, from the end of the field. Sources of truth:
tools/perf/util/trace-event-read.c (tracing data) and the kernel's Documentation/trace/events.rst (format files).
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from perf2x.base.abi import ENDIAN, ByteOrder
from perf2x.reader.header.section_reader import SectionError, SectionReader, decode_string

_MAGIC = b"\x17\x08\x44tracing"
_FIELD = re.compile(
    r"field:(?P<declaration>[^;]+);\s*offset:(?P<offset>\d{1,9});\s*size:(?P<size>\d{1,9});(?:\s*signed:(?P<signed>\d);)?"
)
_LOCATION_TYPES = ("__data_loc", "__rel_loc")  # the field says where the data is
_ARRAY_LENGTH = re.compile(r"\[(\d{1,4})\]$")
_DECLARATION = re.compile(r"(?P<type>.*?)(?P<name>\w+)(?P<array>\[[^\]]*\])?$")


def parse_tracing_data(data: bytes, byte_order: ByteOrder) -> dict[str, Any]:
    """Return ``version``, ``long_size``, ``page_size``, ``strings`` and ``formats``, as JSON-like values.

    ``strings`` are the kernel's printk strings by address, ``formats`` come from ``parse_format``, by id; all keys are
    strings. Layout: magic, version NUL; u8 big endian, u8 long size; u32 page size; "header_page", "header_event"
    sections; ftrace's own formats; the formats of each system; /proc/kallsyms; printk strings; saved command lines (not
    read). Raises SectionError if the data is damaged.
    """
    prefix = SectionReader(data, byte_order)
    if prefix.take(len(_MAGIC)) != _MAGIC:
        raise SectionError("the tracing data does not start with its magic number")
    version = prefix.nul_terminated()
    big_endian, long_size = prefix.take(1)[0], prefix.take(1)[0]
    section = SectionReader(data[prefix.offset :], ">" if big_endian else "<")
    page_size = section.u32()
    for name in ("header_page", "header_event"):
        if section.nul_terminated() != name:
            raise SectionError(f"{name} is missing")
        section.take(section.u64())
    for _ in range(section.count(8)):  # ftrace's own formats
        section.take(section.u64())
    formats = {str(parsed_format["id"]): parsed_format for parsed_format in _system_formats(section)}
    result = {"version": version, "long_size": long_size, "page_size": page_size, "formats": formats}
    return {**result, "strings": dict(_kernel_strings(section))}


def _kernel_strings(section: SectionReader) -> Iterator[tuple[str, str]]:
    printk_strings = b""
    for _ in ("kallsyms", "printk"):  # the last section is kept; simpleperf writes neither
        printk_strings = section.take(min(section.u32(), section.bytes_left)) if section.bytes_left >= 4 else b""
    for line in printk_strings.decode("utf-8", "surrogateescape").splitlines():
        address, _, text = line.partition(" : ")
        yield address, text.strip().removeprefix('"').removesuffix('"').removesuffix("\\n")


def _system_formats(section: SectionReader) -> Iterator[dict[str, Any]]:
    """Layout: u32 systems; { name NUL; u32 count; { u64 size; text } [count]; } [systems]."""
    for _ in range(section.u32()):
        system = section.nul_terminated()
        for _ in range(section.count(8)):
            parsed_format = parse_format(section.take(section.u64()).decode("utf-8", "surrogateescape"))
            yield {"system": system, **parsed_format}


def parse_format(text: str) -> dict[str, Any]:
    """Parse one format file.

    Returns ``name``; ``id``; ``fields``, each with ``name``, ``type``, ``offset``, ``size`` and ``signed``; and
    ``print``, the text after "print fmt:" ("" without one). Raises SectionError without a name or id.
    """
    name = re.search(r"^name: (\S+)", text, re.MULTILINE)
    number = re.search(r"^ID: (\d{1,9})$", text, re.MULTILINE)
    if not name or not number:
        raise SectionError("a format has no name or ID")
    print_format = re.search(r"^print fmt: (.*)", text, re.MULTILINE | re.DOTALL)
    fields = [_parse_field(match) for match in _FIELD.finditer(text)]
    return {
        "name": name[1],
        "id": int(number[1]),
        "fields": fields,
        "print": print_format[1].rstrip() if print_format else "",
    }


def _parse_field(match: re.Match[str]) -> dict[str, Any]:
    declaration = _DECLARATION.match(match["declaration"].strip())
    type_name, name, array = (
        declaration.group("type", "name", "array") if declaration else ("", match["declaration"], None)
    )
    return {
        "name": name,
        "type": type_name.strip() + (array or ""),
        "offset": int(match["offset"]),
        "size": int(match["size"]),
        "signed": match["signed"] == "1",
    }


def decode_fields(fields: list[Mapping[str, Any]], raw: bytes, byte_order: ByteOrder) -> dict[str, Any]:
    """Return the value of each field in a sample's RAW bytes; fields beyond their end are left out.

    Fields of 1, 2, 4 or 8 bytes become int; arrays of numbers with 2, 4 or 8 bytes lists of int; char arrays str. All
    other bytes become their hex digits.
    """
    return {
        field["name"]: _field_value(field, raw, byte_order)
        for field in fields
        if field["offset"] + field["size"] <= len(raw)
    }


def field_bytes(field: Mapping[str, Any], raw: bytes, byte_order: ByteOrder) -> bytes:
    """Return a field's bytes; for __data_loc and __rel_loc, those that it points to."""
    type_name, start, size = field["type"], field["offset"], field["size"]
    data = raw[start : start + size]
    if not type_name.startswith(_LOCATION_TYPES):
        return data
    location = int.from_bytes(data, ENDIAN[byte_order])  # offset in the low half, length in the high half
    data_start = (location & 0xFFFF) + (start + size if type_name.startswith("__rel_loc") else 0)
    return raw[data_start : data_start + (location >> 16)]


def _field_value(field: Mapping[str, Any], raw: bytes, byte_order: ByteOrder) -> Any:
    type_name, size, data = field["type"], field["size"], field_bytes(field, raw, byte_order)
    if type_name.startswith(_LOCATION_TYPES):
        return decode_string(data) if "char" in type_name else data.hex()
    if "char" in type_name and "[" in type_name:
        return decode_string(data)
    length = _ARRAY_LENGTH.search(type_name)
    if length and (count := int(length[1])) and size % count == 0 and size // count in (2, 4, 8):
        width = size // count
        elements = [data[start : start + width] for start in range(0, size, width)]
        return [int.from_bytes(element, ENDIAN[byte_order], signed=field["signed"]) for element in elements]
    if not length and size in (1, 2, 4, 8):
        return int.from_bytes(data, ENDIAN[byte_order], signed=field["signed"])
    return data.hex()
