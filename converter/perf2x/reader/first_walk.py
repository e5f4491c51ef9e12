"""The first walk over a record stream: frames the records, unpacks compressed ones, and plans the blocks.

Blocks have a few MiB each, so that they stay in the CPU cache.
"""

import struct
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from msgspec import Struct, field

from perf2x.base.abi import ENDIAN, HEADER_SIZE, ByteOrder, SimpleperfRecordType, UserRecordType
from perf2x.base.columnar import U8, U64, Frozen, sum_of
from perf2x.base.files.unpack_limit import format_size, record_limit
from perf2x.errors import FormatError
from perf2x.reader.containers.compressed_records import Unpacker
from perf2x.reader.record_block import (
    Block,
    BlockPlan,
    Chunk,
    DataSection,
    RecordStream,
    Sizes,
    join_bytes,
    make_block,
    packed_sizes,
)
from perf2x.reader.record_framing import WIDE, FramedRecords, frame_records

SPAN = 4 << 20
"""Approximate bytes of records in a block: small enough for the cache, large enough to amortize numpy's calls."""
FEW_RECORDS = 24576
"""A block with fewer records than this continues beyond ``SPAN``.

Records with user stack dumps are large, and unwinding few samples takes as many steps as unwinding many.
"""
_AUXTRACE_SIZE = HEADER_SIZE + 36
LARGEST_BLOCK = 120 << 20
"""Bytes at which a block ends, however few records it has."""
_LARGEST_RECORD = 1 << 16


class TraceBlock(Frozen):
    """Hardware trace after an AUXTRACE record: bytes [start, stop) of a section."""

    section: DataSection
    start: int
    stop: int
    offset: int
    """Offset of its first byte in the AUX buffer, which keeps counting when the buffer wraps."""
    queue: int
    """Number of the buffer."""
    tid: int
    """Traced thread, −1 for all of a CPU."""
    cpu: int


Note = Callable[[str, str, int, str], None]
"""Reports damage; arguments as of Diagnostics.add."""


class _Findings(Struct):
    """Findings of the walk so far outside the blocks, in file order."""

    note: Note
    tracing_data: list[U8] = field(default_factory=list)
    """The data of HEADER_TRACING_DATA records."""
    traces: list[TraceBlock] = field(default_factory=list)
    """Blocks of hardware trace."""
    kallsyms: U8 | None = None
    """The kernel's symbols, from a simpleperf record."""
    uncounted: Counter[int] = field(default_factory=Counter)
    """Number of records that are in no block, by type: compressed records, and simpleperf's of the types in WIDE."""


class FirstWalk:
    """The first walk over all sections: iterate over ``blocks`` to the end, then call ``finish``."""

    def __init__(self, sections: Sequence[DataSection], order: ByteOrder, note: Note) -> None:
        """``note`` is called for damage, in file order.

        Damage that lies before the end of a block is reported before the block is yielded.
        """
        self._sections = list(sections)
        self._order: ByteOrder = order
        self.findings = _Findings(note)
        self._plans: list[list[BlockPlan]] = []
        self._end = 0

    @property
    def total(self) -> int:
        """Bytes of all sections."""
        return sum(len(section.data) for section in self._sections)

    def blocks(self) -> Iterator[tuple[Block, int]]:
        """Yield each block, and the bytes of the input up to its end."""
        done = 0
        for section in self._sections:
            self._plans.append([])
            walk = _SectionWalk(section, self._order, self.findings)
            passed = 0
            for plan, block in walk.blocks(self._end):
                self._plans[-1].append(plan)
                self._end += sum_of(block.sizes)
                yield block, done + walk.at
                section.forget(passed, walk.at)
                passed = walk.at
            walk.note_leftover()
            done += len(section.data)

    def finish(self) -> RecordStream:
        """Return the stream, ready for later walks."""
        return RecordStream(self._sections, self._order, self._plans, self._end)


class _BlockBuilder(Struct):
    """Builds one block."""

    position: int
    length: int = 0
    _records: int = 0
    _chunks: list[Chunk] = []
    _parts: list[U8] = []
    _sizes: list[Sizes] = []
    _headers: list[U64] = []

    @property
    def is_full(self) -> bool:
        """Whether the block is large enough."""
        if self.length < SPAN // 2:
            return False
        return self.length >= LARGEST_BLOCK or self._records >= FEW_RECORDS

    def add_plain(self, section: U8, chunk: Chunk, headers: U64, sizes: Sizes) -> None:
        """Add the records of a chunk of the section."""
        last = self._chunks[-1] if self._chunks else None
        # a single slice, so that nothing is copied
        if last is not None and last.complete < 0 and last.stop == chunk.start:
            chunk = Chunk(last.start, chunk.stop)
            self._parts[-1] = section[chunk.start : chunk.stop]
            self._chunks[-1] = chunk
        else:
            self._parts.append(section[chunk.start : chunk.stop])
            self._chunks.append(chunk)
        self._add_records(headers, sizes)

    def add_unpacked(self, data: U8, chunk: Chunk, framed: FramedRecords) -> None:
        """Add the records that were compressed in a chunk; a chunk without records is kept, too."""
        if framed.length:
            self._parts.append(data)
            self._add_records(framed.headers, framed.sizes)
        self._chunks.append(chunk)

    def _add_records(self, headers: U64, sizes: Sizes) -> None:
        self._headers.append(headers)
        self._sizes.append(sizes)
        self._records += len(sizes)
        self.length += int(sizes.sum(dtype=np.int64))

    def finish(self, order: ByteOrder) -> tuple[BlockPlan, Block]:
        """Return the block and its plan."""
        sizes, headers = np.concatenate(self._sizes), np.concatenate(self._headers)
        block = make_block(join_bytes(self._parts), sizes, self.position, order, headers=headers)
        return BlockPlan(self.position, self._chunks, packed_sizes(sizes)), block


class _SectionWalk:
    """The first walk over one section."""

    def __init__(self, section: DataSection, order: ByteOrder, findings: _Findings) -> None:
        self.at = 0
        self._section = section
        self._order: ByteOrder = order
        self._findings = findings
        self._unpacker = Unpacker(section.decompressed_limit, len(section.data))
        self._split: list[U8] = []
        """Parts of a record that simpleperf has split."""
        self._room = record_limit(section.file.on_disk)
        """How many more records the section may have; limited because tables grow with each record."""

    def blocks(self, position: int) -> Iterator[tuple[BlockPlan, Block]]:
        """Yield the blocks of all records; ``position`` is the first record's position in the stream."""
        block = _BlockBuilder(position)
        careful, ends = False, False
        while not ends:
            framed = self._frame(SPAN, careful)
            if not framed.length and not framed.special:  # at the end, or before a larger record
                framed = self._frame(_LARGEST_RECORD, careful)
            careful = framed.special != 0
            if framed.length:
                self._add(framed, block)
                self._count(len(framed.sizes))
            passed = framed.special in WIDE and self._pass_wide(framed.special)
            ends = framed.length == 0 and not passed
            if block.length and (block.is_full or ends):
                yield block.finish(self._order)
                block = _BlockBuilder(block.position + block.length)

    def _frame(self, span: int, careful: bool) -> FramedRecords:
        return frame_records(self._section.data[self.at : self.at + span], self._order, careful)

    def _add(self, framed: FramedRecords, block: _BlockBuilder) -> None:
        """Add framed records to the block; a special record is the last of them."""
        special = framed.special if framed.special not in WIDE else 0
        last = int(framed.sizes[-1]) if special else 0
        compressed = special in (UserRecordType.COMPRESSED, UserRecordType.COMPRESSED2)
        plain = framed.length - last if compressed else framed.length
        if plain:
            rows = slice(-1 if compressed else None)
            chunk = Chunk(self.at, self.at + plain)
            block.add_plain(self._section.data, chunk, framed.headers[rows], framed.sizes[rows])
        if compressed:
            self._unpack(self.at + plain, last, special, block)
        self.at += framed.length
        if special and not compressed:
            self._pass_trailing_data(special, last)

    def _unpack(self, start: int, size: int, kind: int, block: _BlockBuilder) -> None:
        self._findings.uncounted[kind] += 1
        try:
            data, framed = self._unpacker.unpack(self._section.data[start : start + size], self._order)
            self._count(len(framed.sizes))
        except ValueError as error:
            self._findings.note(
                "compressed_records_broken",
                "Compressed records could not be unpacked; perf 6.16 writes some of these. Record without -z.",
                1, f"{self._section.name}, byte {self._section.start + start:#x}: {error}",
            )  # fmt: skip
            return
        block.add_unpacked(data, Chunk(start, start + size, len(data)), framed)

    def _count(self, records: int) -> None:
        self._room -= records
        if self._room < 0:
            on_disk = self._section.file.on_disk
            size, most = format_size(on_disk), record_limit(on_disk)
            raise FormatError(
                f"{self._section.name}: its {size} unpack to more than {most:,} records, as no recording does; ",
                "max_unpacked",
                " lets one through for each of its KiB",
            )

    def _pass_trailing_data(self, kind: int, size: int) -> None:
        """Skip the bytes that follow AUXTRACE and HEADER_TRACING_DATA; ``at`` is already after the record."""
        record = self._section.data[self.at - size : self.at].data
        wide = kind == UserRecordType.AUXTRACE
        code, need = ("Q", HEADER_SIZE + 8) if wide else ("I", HEADER_SIZE + 4)
        if size < need:
            return
        (length,) = struct.unpack_from(self._order + code, record, HEADER_SIZE)
        if not wide and 0 < length <= size - need:  # old simpleperf has the data inside the record
            self._findings.tracing_data.append(self._section.data[self.at - size + need :][:length])
            return
        if not wide:
            length = (length + 7) // 8 * 8
        data = self._section.data[self.at : self.at + length]
        if len(data) < length:
            self._findings.note(
                "blobs_cut", "The file ends inside trace data; it was cut off or never finished.",
                1, f"{self._section.name}, byte {self._section.start + self.at:#x}",
            )  # fmt: skip
        if not wide:
            self._findings.tracing_data.append(data)
        elif size >= _AUXTRACE_SIZE:
            offset, _, *numbers = struct.unpack_from(self._order + "QQIii", record, HEADER_SIZE + 8)
            block = TraceBlock(self._section, self.at, self.at + len(data), offset, *numbers)
            self._findings.traces.append(block)
        self.at += len(data)

    def _pass_wide(self, kind: int) -> bool:
        """Read simpleperf's record at ``at``, and skip it; return False if it is damaged or truncated."""
        body = _wide_body(self._section.data[self.at :], self._order)
        if body is None:
            return False
        self.at += HEADER_SIZE + len(body)
        self._count(1)
        self._findings.uncounted[kind] += 1
        if kind in (SimpleperfRecordType.SIMPLEPERF_SPLIT, SimpleperfRecordType.SIMPLEPERF_SPLIT_END):
            self._split.append(body)
            if kind == SimpleperfRecordType.SIMPLEPERF_SPLIT:
                return True
            whole, self._split = join_bytes(self._split), []
            body = _wide_body(whole, self._order)
            if body is None:
                return True
            (kind,) = struct.unpack_from(self._order + "I", whole.data)
        self._keep(kind, body)
        return True

    def _keep(self, kind: int, body: U8) -> None:
        """Keep the data of a record: u32 size, data."""
        size = int.from_bytes(body[:4].tobytes(), ENDIAN[self._order])
        if kind == SimpleperfRecordType.SIMPLEPERF_TRACING_DATA:
            self._findings.tracing_data.append(body[4 : 4 + size])
        elif kind == SimpleperfRecordType.SIMPLEPERF_KERNEL_SYMBOL:
            self._findings.kallsyms = body[4 : 4 + size]

    def note_leftover(self) -> None:
        """Report the bytes left after the last complete record."""
        left = len(self._section.data) - self.at
        if left:
            self._findings.note(
                "bytes_after_last_record",
                "The file ends inside a record, or its records are damaged from there on.",
                left, f"{self._section.name}, byte {self._section.start + self.at:#x}",
            )  # fmt: skip
        if self._unpacker.leftover:
            advice = (
                "The compressed data ends inside a record. perf (6.1, 7.2) with buffers above 64 KiB omits the end of"
                " incompressible data: record with -m 16, or without -z."
            )
            self._findings.note("compressed_bytes_after_last_record", advice, self._unpacker.leftover, "")


def _wide_body(data: U8, order: ByteOrder) -> U8 | None:
    """Return the body of simpleperf's record at the start of ``data``; None if it is incomplete."""
    if len(data) < HEADER_SIZE:
        return None
    _, upper, lower = struct.unpack_from(order + "IHH", data[:HEADER_SIZE].data)
    size = upper << 16 | lower
    return data[HEADER_SIZE:size] if HEADER_SIZE <= size <= len(data) else None
