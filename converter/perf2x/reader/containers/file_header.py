"""Reads the header of a recording: where its records, attributes and feature sections are, in a file or a pipe.

The feature table has the extent of each feature section that the header's bitmap names. Source of truth:
perf_session__read_header in tools/perf/util/header.c and perf.data-file-format.txt::

    file   |header|attrs|ids|data …………………|feature table|features …|
    pipe   |magic, 16|records: HEADER_ATTR, HEADER_FEATURE, …, SAMPLE …|
"""

import re
import struct

from msgspec import Struct, field

from perf2x.base.abi import ATTR_SIZE_VER0, ByteOrder, perffile
from perf2x.base.columnar import U8, Frozen
from perf2x.base.diagnostics import Diagnostics
from perf2x.errors import FormatError

# First bytes of files that are not recordings.
_OTHER_KINDS = (
    (rb"\x7fELF", "an ELF program or library; record it first: perf record -g -- ./program"),
    (rb"\x89PNG|\xff\xd8\xff|GIF8|RIFF....WEBP|BM....\0{4}", "an image"),
    (rb"SIMPLEPERF", "simpleperf's protobuf; pass the perf.data that it was made from"),
    (rb"%PDF", "a PDF document"),
    (rb"PK\x03\x04", "a zip archive; unpack it"),
    (rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml|<!doctype|<html|<svg)", "a page or an image of another tool"),
    (rb"(?:\xef\xbb\xbf)?\s*[{\[]\s*(?:[\"{\[\]}]|$)", "JSON from another tool"),
    (rb"\x0a[\x02-\x20]\x08[\x01-\x7f]\x10", "a pprof profile, not a recording"),
    (rb"[ \t]{0,16}(?:\d{1,10}[ \t]{1,16})?0x[0-9a-f]{1,16}/0x[0-9a-f]{1,16}/",
     "branches as text, printed by perf script -F brstack for perf2bolt; it has no stacks"),
    (rb"[^\n]*branches(?::\w+)?:[^\n]*=>", "branches as text; to print samples, use perf script --itrace=i10us"),
    (rb"(?:#[^\n]*\n|\n)*#[ \t]*(?:Samples:|Overhead)", "output of perf report; pass the output of perf script"),
    (rb"@\w*\[|Attaching \d+ probe", "output of bpftrace; fold it: stackcollapse-bpftrace.pl"),
    (rb"CPU +ID +FUNCTION:NAME", "output of DTrace; fold it: stackcollapse.pl"),
    (rb"Sampling at \d+ Hertz|Tracing [^\n]*Hit Ctrl-C", "output of a bcc tool; rerun the tool with -f to fold stacks"),
)  # fmt: skip
_OTHER_PATTERNS = [(re.compile(pattern, re.IGNORECASE | re.DOTALL), name) for pattern, name in _OTHER_KINDS]
_RECOGNIZED_BYTES = 1 << 12


def kind_of_file(head: bytes) -> str:
    """Describe a file by its first bytes, in words that can follow "it is"; "" if unknown."""
    start = head[:_RECOGNIZED_BYTES]
    return next((name for pattern, name in _OTHER_PATTERNS if pattern.match(start)), "")


class FileSection(Frozen):
    """struct perf_file_section."""

    offset: int
    size: int

    @property
    def end(self) -> int:
        """Offset after the last byte."""
        return self.offset + self.size


class Container(Struct):
    """The header of one file or pipe: byte order, and the extents of its sections."""

    name: str
    data: U8
    byte_order: ByteOrder
    is_pipe: bool
    records: FileSection
    attrs: list[tuple[bytes, tuple[int, ...]]] = field(default_factory=list)
    """The bytes of each perf_event_attr, and its ids, in file order; empty for pipes, whose attributes are records."""
    features: dict[int, FileSection] = field(default_factory=dict)
    """Extents of the feature sections, by HeaderFeature."""


_MAGICS: dict[bytes, ByteOrder] = {perffile.MAGIC: "<", perffile.MAGIC_SWAPPED: ">"}
# attr_size in headers with the magic PERFFILE: perf_event_attr of those years, and a perf_file_section.
_LEGACY_ATTR_SIZES = tuple(size + perffile.SECTION_SIZE for size in (64, 72, 80, 96, 104))


def open_container(name: str, data: U8, diagnostics: Diagnostics) -> Container:
    """Read the header of ``data``, the bytes of the input ``name``. Raises FormatError if it is not a recording."""
    magic = data[:8].tobytes()
    is_known = magic == perffile.MAGIC_LEGACY or magic in _MAGICS
    if not len(data):
        raise FormatError(f"{name}: not a perf.data file: it is empty; perf record failed")
    if len(data) < (perffile.PIPE_HEADER_SIZE if is_known else len(perffile.MAGIC)):
        raise FormatError(f"{name}: not a perf.data file: {len(data)} bytes are too few for a header")
    byte_order = _legacy_order(data) if magic == perffile.MAGIC_LEGACY else _MAGICS.get(magic)
    if byte_order is None:
        kind = kind_of_file(data[:_RECOGNIZED_BYTES].tobytes())
        reason = f"it is {kind}" if kind else f"starts with {magic!r}, expected {perffile.MAGIC!r}"
        raise FormatError(f"{name}: not a perf.data file: {reason}")
    (size,) = struct.unpack_from(byte_order + "Q", data.data, 8)
    if size == perffile.PIPE_HEADER_SIZE:
        return Container(name, data, byte_order, True, FileSection(size, len(data) - size))
    return _read_file_header(name, data, byte_order, size, diagnostics)


def _legacy_order(data: U8) -> ByteOrder | None:
    """Infer the byte order from the sizes, because the magic PERFFILE is the same in either; None if none fits.

    Source: try_all_file_abis in tools/perf/util/header.c.
    """
    orders: tuple[ByteOrder, ...] = ("<", ">")
    for byte_order in orders:
        size, attr_size = struct.unpack_from(byte_order + "QQ", data[:24].tobytes().ljust(24, b"\0"), 8)
        if size == perffile.PIPE_HEADER_SIZE or attr_size in _LEGACY_ATTR_SIZES:
            return byte_order
    return None


def _read_file_header(name: str, data: U8, byte_order: ByteOrder, size: int, diagnostics: Diagnostics) -> Container:
    """u64 magic, size, attr_size; perf_file_section attrs, data, event_types; u64 adds_features[4], the bitmap."""
    sizes = (perffile.FILE_HEADER_SIZE, perffile.FILE_HEADER_SIZE_WITHOUT_FEATURES)
    if size not in sizes or len(data) < size:
        raise FormatError(f"{name}, byte 0x8: header size is {size}, expected one of {sizes} within {len(data)} bytes")
    entry_size, *extents = struct.unpack_from(byte_order + "7Q", data.data, 16)
    attrs, records = FileSection(*extents[0:2]), FileSection(*extents[2:4])
    bitmap = data[72:size].tobytes()
    is_unfinished = records.size == 0
    records = _clamp_to_file(name, len(data), records, is_unfinished, diagnostics)
    container = Container(name, data, byte_order, False, records)
    container.attrs = _read_attrs(container, attrs, entry_size)
    if not is_unfinished:
        container.features = _feature_table(container, bitmap, diagnostics)
    return container


def _clamp_to_file(
    name: str, file_size: int, records: FileSection, is_unfinished: bool, diagnostics: Diagnostics
) -> FileSection:
    """Cut the data section at the end of the file.

    perf record writes the section's size when it finishes; until then, the size is 0.
    """
    if records.offset > file_size:
        raise FormatError(f"{name}, byte 0x28: data starts at {records.offset:#x}, the file has {file_size:#x} bytes")
    if is_unfinished:
        diagnostics.add(
            "unfinished_file",
            "perf record was killed, or still runs: its last samples, names and build ids are missing.",
        )  # fmt: skip
    elif records.end > file_size:
        diagnostics.add(
            "file_cut", "The file is shorter than its header states: copy it again completely.",
            count=records.end - file_size,
        )  # fmt: skip
    else:
        return records
    return FileSection(records.offset, file_size - records.offset)


def _read_attrs(container: Container, attrs: FileSection, entry_size: int) -> list[tuple[bytes, tuple[int, ...]]]:
    """struct { perf_event_attr attr; perf_file_section ids; } [attrs.size / entry_size]."""
    size = len(container.data)
    if entry_size < ATTR_SIZE_VER0 + perffile.SECTION_SIZE or attrs.end > size or not attrs.size:
        raise FormatError(
            f"{container.name}, byte 0x10: attributes of {entry_size} bytes, {attrs.size} bytes at {attrs.offset:#x} "
            f"in a file of {size}: no events can be read"
        )
    entries, total = [], 0
    for start in range(attrs.offset, attrs.end - entry_size + 1, entry_size):
        attr = container.data[start : start + entry_size - perffile.SECTION_SIZE].tobytes()
        ids = FileSection(*struct.unpack_from(container.byte_order + "QQ", container.data.data, start + len(attr)))
        if ids.end > size:
            raise FormatError(f"{container.name}, byte {start:#x}: ids at {ids.offset:#x} are past the end of the file")
        total += ids.size
        if total > size:  # overlapping sections would be read once per event
            raise FormatError(f"{container.name}, byte {start:#x}: the events' ids take more bytes than the file has")
        words = container.data[ids.offset : ids.offset + ids.size // 8 * 8].tobytes()
        entries.append((attr, struct.unpack(f"{container.byte_order}{len(words) // 8}Q", words)))
    return entries


def _feature_numbers(bitmap: bytes, byte_order: ByteOrder) -> list[int]:
    """The bitmap consists of unsigned longs: in big-endian files, the place of a bit depends on their width.

    As in perf, the width is the one with which HOSTNAME is set (perf_file_header__read in tools/perf/util/header.c). If
    neither width sets it, the width is 64 bits if all bits then stand for known features, otherwise 32.
    """
    of_u64, of_u32 = _set_bits(bitmap, byte_order, "Q"), _set_bits(bitmap, byte_order, "I")
    if byte_order == "<" or perffile.HeaderFeature.HOSTNAME in of_u64:
        return of_u64
    features = {int(feature) for feature in perffile.HeaderFeature}
    return of_u32 if perffile.HeaderFeature.HOSTNAME in of_u32 or not features.issuperset(of_u64) else of_u64


def _set_bits(bitmap: bytes, byte_order: ByteOrder, code: str) -> list[int]:
    width = struct.calcsize(byte_order + code)
    words = struct.unpack(f"{byte_order}{len(bitmap) // width}{code}", bitmap)
    return [8 * width * row + bit for row, word in enumerate(words) for bit in range(8 * width) if word >> bit & 1]


def _feature_table(container: Container, bitmap: bytes, diagnostics: Diagnostics) -> dict[int, FileSection]:
    """A perf_file_section for each set bit of the bitmap, in order."""
    numbers = _feature_numbers(bitmap, container.byte_order)
    features = {}
    for row, number in enumerate(numbers):
        offset = container.records.end + row * perffile.SECTION_SIZE
        if offset + perffile.SECTION_SIZE > len(container.data):
            section = None
        else:
            section = FileSection(*struct.unpack_from(container.byte_order + "QQ", container.data.data, offset))
        if section is None or section.end > len(container.data):
            diagnostics.add("features_cut", "Header sections lie past the end of the file.")
            continue
        features[number] = section
    return features
