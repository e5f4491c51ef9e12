"""Parses tracing data: the recorded format files of tracepoints; decodes PERF_SAMPLE_RAW with them.

Source of truth: tools/perf/util/trace-event-read.c (the container) and the kernel's
Documentation/trace/events.rst (the format files)::

    field:pid_t prev_pid;	offset:24;	size:4;	signed:1;
    field:__data_loc char[] filename;	offset:16;	size:4;	signed:0;      u16 offset, u16 length of the bytes
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from perf2x.base.abi import ENDIAN, ByteOrder
from perf2x.reader.header.section_reader import SectionError, SectionReader
from perf2x.reader.header.section_reader import text as text_of

_MAGIC = b"\x17\x08\x44tracing"
_FIELD = re.compile(
    r"field:(?P<declaration>[^;]+);\s*offset:(?P<offset>\d{1,9});\s*size:(?P<size>\d{1,9});(?:\s*signed:(?P<signed>\d);)?"
)
_PLACED = ("__data_loc", "__rel_loc")
_ARRAY = re.compile(r"\[(\d{1,4})\]$")
_DECLARATION = re.compile(r"(?P<type>.*?)(?P<name>\w+)(?P<array>\[[^\]]*\])?$")


def parse_tracing_data(data: bytes, order: ByteOrder) -> dict[str, Any]:
    """Parse into ``version``, ``long_size``, ``page_size``, ``strings`` by address, and ``formats`` by id (as text).

    Layout: magic, version NUL; u8 big endian, u8 long size; u32 page size; "header_page", "header_event" sections;
    ftrace's own formats; the formats of each system; /proc/kallsyms; printk strings; saved command lines.
    """
    head = SectionReader(data, order)
    if head.take(len(_MAGIC)) != _MAGIC:
        raise SectionError("the tracing data does not start with its magic number")
    version = head.terminated()
    big_endian, long_size = head.take(1)[0], head.take(1)[0]
    section = SectionReader(data[head.at :], ">" if big_endian else "<")
    page_size = section.u32()
    for name in ("header_page", "header_event"):
        if section.terminated() != name:
            raise SectionError(f"{name} is missing")
        section.take(section.u64())
    for _ in range(section.count(8)):
        section.take(section.u64())
    formats = {str(found["id"]): found for found in _system_formats(section)}
    found = {"version": version, "long_size": long_size, "page_size": page_size, "formats": formats}
    return {**found, "strings": dict(_kernel_strings(section))}


def _kernel_strings(section: SectionReader) -> Iterator[tuple[str, str]]:
    """Yield the kernel strings that samples refer to, by address: ``0xffffffff8281a2a4 : "Start context switch"``."""
    raw = b""
    for _ in ("kallsyms", "printk"):
        raw = section.take(min(section.u32(), section.left)) if section.left >= 4 else b""  # simpleperf has neither
    for line in raw.decode("utf-8", "surrogateescape").splitlines():
        address, _, text = line.partition(" : ")
        yield address, text.strip().removeprefix('"').removesuffix('"').removesuffix("\\n")


def _system_formats(section: SectionReader) -> Iterator[dict[str, Any]]:
    """Yield the format of each tracepoint, with its system.

    Layout: u32 systems; { name NUL; u32 count; { u64 size; text } [count]; } [systems].
    """
    for _ in range(section.u32()):
        system = section.terminated()
        for _ in range(section.count(8)):
            found = parse_format(section.take(section.u64()).decode("utf-8", "surrogateescape"))
            yield {"system": system, **found}


def parse_format(text: str) -> dict[str, Any]:
    """Parse one format file into ``name``, ``id``, ``fields`` in order, common fields first, and ``print`` fmt."""
    name = re.search(r"^name: (\S+)", text, re.MULTILINE)
    number = re.search(r"^ID: (\d{1,9})$", text, re.MULTILINE)
    if not name or not number:
        raise SectionError("a format has no name or ID")
    shown = re.search(r"^print fmt: (.*)", text, re.MULTILINE | re.DOTALL)
    fields = [_parse_field(match) for match in _FIELD.finditer(text)]
    return {"name": name[1], "id": int(number[1]), "fields": fields, "print": shown[1].rstrip() if shown else ""}


def _parse_field(match: re.Match[str]) -> dict[str, Any]:
    declaration = _DECLARATION.match(match["declaration"].strip())
    kind, name, array = declaration.group("type", "name", "array") if declaration else ("", match["declaration"], None)
    return {
        "name": name,
        "type": kind.strip() + (array or ""),
        "offset": int(match["offset"]),
        "size": int(match["size"]),
        "signed": match["signed"] == "1",
    }


def decode_fields(fields: list[Mapping[str, Any]], raw: bytes, order: ByteOrder) -> dict[str, Any]:
    """Decode a sample's RAW bytes to numbers, texts, and bytes as hex; fields that lie beyond the end are omitted."""
    whole = {
        field["name"]: _field_value(field, raw, order)
        for field in fields
        if field["offset"] + field["size"] <= len(raw)
    }
    return {name: value for name, value in whole.items() if value is not None}


def field_bytes(field: Mapping[str, Any], raw: bytes, order: ByteOrder) -> bytes:
    """Return a field's bytes; for __data_loc and __rel_loc, the bytes that it points to."""
    kind, start, size = field["type"], field["offset"], field["size"]
    part = raw[start : start + size]
    if not kind.startswith(_PLACED):
        return part
    location = int.from_bytes(part, ENDIAN[order])
    at = (location & 0xFFFF) + (start + size if kind.startswith("__rel_loc") else 0)
    return raw[at : at + (location >> 16)]


def _field_value(field: Mapping[str, Any], raw: bytes, order: ByteOrder) -> Any:
    kind, size, part = field["type"], field["size"], field_bytes(field, raw, order)
    if kind.startswith(_PLACED):
        return text_of(part) if "char" in kind else part.hex()
    if "char" in kind and "[" in kind:
        return text_of(part)
    counted = _ARRAY.search(kind)
    if counted and (count := int(counted[1])) and size % count == 0 and size // count in (2, 4, 8):
        width = size // count
        parts = [part[at : at + width] for at in range(0, size, width)]
        return [int.from_bytes(each, ENDIAN[order], signed=field["signed"]) for each in parts]
    if size in (1, 2, 4, 8):
        return int.from_bytes(part, ENDIAN[order], signed=field["signed"])
    return part.hex()
