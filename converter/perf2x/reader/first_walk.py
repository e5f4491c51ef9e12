"""The first walk over the records of a recording: finds their boundaries, unpacks compressed ones, and plans blocks.

Records are framed up to a special one (see record_framing.py):

- A compressed record is unpacked; the records in it take its place in the block.
- The trace data after AUXTRACE and HEADER_TRACING_DATA is skipped. The findings keep its place or the data itself.
- simpleperf's large records are read here, and are in no block.

Blocks have a few MiB each, so that they stay in the CPU cache. Their plans are kept for later walks.
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
    compact_sizes,
    join_bytes,
    make_block,
)
from perf2x.reader.record_framing import WIDE_TYPES, FramedRecords, frame_records

BLOCK_SIZE = 4 << 20
"""Bytes to frame at once, and the usual size of a block.

Small enough for the cache, large enough to amortize the calls of numpy.
"""
FEW_RECORDS = 24576
"""A block with fewer records than this continues beyond ``BLOCK_SIZE``.

Records with user stack dumps are large, and unwinding few samples takes as many steps as unwinding many.
"""
# A block ends at this size, even with few records.
LARGEST_BLOCK = 120 << 20
_AUXTRACE_SIZE = HEADER_SIZE + 36  # struct perf_record_auxtrace up to its field cpu
_RECORD_SIZE_LIMIT = 1 << 16  # more than header.size can state


class TraceBlock(Frozen):
    """A block of hardware trace, which follows an AUXTRACE record: bytes [start, stop) of a section."""

    section: DataSection
    start: int
    stop: int
    buffer_offset: int
    """Offset of the first byte in the AUX buffer; it goes on growing when the buffer wraps around."""
    buffer: int
    """Number of the AUX buffer (auxtrace_event.idx)."""
    tid: int
    """The traced thread; −1 for all threads of a CPU."""
    cpu: int  # −1 for a thread on all CPUs


# Takes the arguments of Diagnostics.add.
Note = Callable[[str, str, int, str], None]


class _Findings(Struct):
    """Records that the walk has found outside the blocks so far, in file order."""

    note: Note
    tracing_data: list[U8] = field(default_factory=list)
    """The data of HEADER_TRACING_DATA records, and of SIMPLEPERF_TRACING_DATA."""
    traces: list[TraceBlock] = field(default_factory=list)
    """The hardware trace."""
    kallsyms: U8 | None = None
    """The contents of /proc/kallsyms, from a simpleperf record."""
    counts_outside_blocks: Counter[int] = field(default_factory=Counter)
    """Number of records outside blocks, by type: compressed ones, and those of ``WIDE_TYPES``."""


class FirstWalk:
    """The first walk over all sections: iterate over ``blocks`` to the end, then call ``finish``."""

    def __init__(self, sections: Sequence[DataSection], byte_order: ByteOrder, note: Note) -> None:
        """``note`` is called for damage in file order, before the block with the damage is yielded."""
        self._sections = list(sections)
        self._byte_order: ByteOrder = byte_order
        self.findings = _Findings(note)
        self._plans: list[list[BlockPlan]] = []
        self._end = 0

    @property
    def total_bytes(self) -> int:
        """Bytes of all sections."""
        return sum(len(section.data) for section in self._sections)

    def blocks(self) -> Iterator[tuple[Block, int]]:
        """Yield each block, and the bytes of the input up to its end."""
        done = 0
        for section in self._sections:
            self._plans.append([])
            walk = _SectionWalk(section, self._byte_order, self.findings)
            forgotten_end = 0  # pages before this offset may have been freed
            for plan, block in walk.blocks(self._end):
                self._plans[-1].append(plan)
                self._end += sum_of(block.sizes)
                yield block, done + walk.offset
                section.forget(forgotten_end, walk.offset)
                forgotten_end = walk.offset
            walk.note_leftover()
            done += len(section.data)

    def finish(self) -> RecordStream:
        """Make the stream for later walks."""
        return RecordStream(self._sections, self._byte_order, self._plans, self._end)


class _BlockBuilder(Struct):
    position: int
    length: int = 0
    _record_count: int = 0
    _chunks: list[Chunk] = []
    _parts: list[U8] = []
    _sizes: list[Sizes] = []
    _headers: list[U64] = []

    @property
    def is_full(self) -> bool:
        if self.length < BLOCK_SIZE // 2:
            return False
        return self.length >= LARGEST_BLOCK or self._record_count >= FEW_RECORDS

    def add_uncompressed(self, section_data: U8, chunk: Chunk, headers: U64, sizes: Sizes) -> None:
        last = self._chunks[-1] if self._chunks else None
        # one slice for contiguous chunks: nothing need be copied
        if last is not None and last.unpacked_size < 0 and last.stop == chunk.start:
            chunk = Chunk(last.start, chunk.stop)
            self._parts[-1] = section_data[chunk.start : chunk.stop]
            self._chunks[-1] = chunk
        else:
            self._parts.append(section_data[chunk.start : chunk.stop])
            self._chunks.append(chunk)
        self._add_records(headers, sizes)

    def add_unpacked(self, data: U8, chunk: Chunk, framed: FramedRecords) -> None:
        """Later walks must unpack chunks in which no record ends, too."""
        if framed.length:
            self._parts.append(data)
            self._add_records(framed.headers, framed.sizes)
        self._chunks.append(chunk)

    def _add_records(self, headers: U64, sizes: Sizes) -> None:
        self._headers.append(headers)
        self._sizes.append(sizes)
        self._record_count += len(sizes)
        self.length += int(sizes.sum(dtype=np.int64))

    def finish(self, byte_order: ByteOrder) -> tuple[BlockPlan, Block]:
        sizes, headers = np.concatenate(self._sizes), np.concatenate(self._headers)
        block = make_block(join_bytes(self._parts), sizes, self.position, byte_order, headers=headers)
        return BlockPlan(self.position, self._chunks, compact_sizes(sizes)), block


class _SectionWalk:
    def __init__(self, section: DataSection, byte_order: ByteOrder, findings: _Findings) -> None:
        self.offset = 0
        self._section = section
        self._byte_order: ByteOrder = byte_order
        self._findings = findings
        self._unpacker = Unpacker(section.decompressed_limit, len(section.data))
        self._split_parts: list[U8] = []
        """The parts so far of a record that simpleperf has split into several (SIMPLEPERF_SPLIT)."""
        self._records_left = record_limit(section.file.size_on_disk)
        """Number of records that the section may still have. It is limited, because each record takes memory."""

    def blocks(self, position: int) -> Iterator[tuple[BlockPlan, Block]]:
        block = _BlockBuilder(position)
        one_by_one, is_last = False, False
        while not is_last:
            framed = self._frame(BLOCK_SIZE, one_by_one)
            if not framed.length and not framed.special_type:  # the end, or a record larger than BLOCK_SIZE
                framed = self._frame(_RECORD_SIZE_LIMIT, one_by_one)
            one_by_one = framed.special_type != 0  # further special records usually follow soon
            if framed.length:
                self._add(framed, block)
                self._count(len(framed.sizes))
            has_advanced = framed.special_type in WIDE_TYPES and self._read_wide_record(framed.special_type)
            is_last = framed.length == 0 and not has_advanced
            if block.length and (block.is_full or is_last):
                yield block.finish(self._byte_order)
                block = _BlockBuilder(block.position + block.length)

    def _frame(self, size: int, one_by_one: bool) -> FramedRecords:
        return frame_records(self._section.data[self.offset : self.offset + size], self._byte_order, one_by_one)

    def _add(self, framed: FramedRecords, block: _BlockBuilder) -> None:
        special_type = framed.special_type if framed.special_type not in WIDE_TYPES else 0
        special_size = int(framed.sizes[-1]) if special_type else 0
        is_compressed = special_type in (UserRecordType.COMPRESSED, UserRecordType.COMPRESSED2)
        length = framed.length - special_size if is_compressed else framed.length
        if length:
            rows = slice(-1 if is_compressed else None)
            chunk = Chunk(self.offset, self.offset + length)
            block.add_uncompressed(self._section.data, chunk, framed.headers[rows], framed.sizes[rows])
        if is_compressed:
            self._unpack(self.offset + length, special_size, special_type, block)
        self.offset += framed.length
        if special_type and not is_compressed:
            self._skip_trailing_data(special_type, special_size)

    def _unpack(self, start: int, size: int, kind: int, block: _BlockBuilder) -> None:
        self._findings.counts_outside_blocks[kind] += 1
        try:
            data, framed = self._unpacker.unpack(self._section.data[start : start + size], self._byte_order)
            self._count(len(framed.sizes))
        except ValueError as error:
            self._findings.note(
                "compressed_records_broken",
                "Compressed records could not be unpacked; perf 6.16 writes some of these. Record without -z.",
                1, f"{self._section.name}, byte {self._section.start + start:#x}: {error}",
            )  # fmt: skip
            return
        block.add_unpacked(data, Chunk(start, start + size, len(data)), framed)

    def _count(self, record_count: int) -> None:
        self._records_left -= record_count
        if self._records_left < 0:
            size_on_disk = self._section.file.size_on_disk
            size, limit = format_size(size_on_disk), record_limit(size_on_disk)
            raise FormatError(
                f"{self._section.name}: its {size} unpack to more than {limit:,} records, too many for a recording; ",
                "max_unpacked",
                " allows one record for each KiB of its value",
            )

    def _skip_trailing_data(self, kind: int, size: int) -> None:
        """Skip the data after a record AUXTRACE or HEADER_TRACING_DATA, and keep it in the findings.

        The record's first field is the length: u64 in AUXTRACE, u32 in HEADER_TRACING_DATA, where the data is padded to
        whole words.
        """
        record = self._section.data[self.offset - size : self.offset].data
        is_auxtrace = kind == UserRecordType.AUXTRACE
        code, min_size = ("Q", HEADER_SIZE + 8) if is_auxtrace else ("I", HEADER_SIZE + 4)
        if size < min_size:
            return
        (length,) = struct.unpack_from(self._byte_order + code, record, HEADER_SIZE)
        # old simpleperf has the data inside the record
        if not is_auxtrace and 0 < length <= size - min_size:
            self._findings.tracing_data.append(self._section.data[self.offset - size + min_size :][:length])
            return
        if not is_auxtrace:
            length = (length + 7) // 8 * 8
        data = self._section.data[self.offset : self.offset + length]
        if len(data) < length:
            self._findings.note(
                "blobs_cut", "The file ends inside trace data; it was cut off or never finished.",
                1, f"{self._section.name}, byte {self._section.start + self.offset:#x}",
            )  # fmt: skip
        if not is_auxtrace:
            self._findings.tracing_data.append(data)
        elif size >= _AUXTRACE_SIZE:
            # u64 offset, reference; u32 idx; s32 tid, cpu
            buffer_offset, _, *numbers = struct.unpack_from(self._byte_order + "QQIii", record, HEADER_SIZE + 8)
            block = TraceBlock(self._section, self.offset, self.offset + len(data), buffer_offset, *numbers)
            self._findings.traces.append(block)
        self.offset += len(data)

    def _read_wide_record(self, kind: int) -> bool:
        """Read simpleperf's large record; return False if it is damaged or cut off.

        A split record comes in parts: records SIMPLEPERF_SPLIT, and at last a SIMPLEPERF_SPLIT_END. Their joined bodies
        are the record with its header.
        """
        body = _wide_record_body(self._section.data[self.offset :], self._byte_order)
        if body is None:
            return False
        self.offset += HEADER_SIZE + len(body)
        self._count(1)
        self._findings.counts_outside_blocks[kind] += 1
        if kind in (SimpleperfRecordType.SIMPLEPERF_SPLIT, SimpleperfRecordType.SIMPLEPERF_SPLIT_END):
            self._split_parts.append(body)
            if kind == SimpleperfRecordType.SIMPLEPERF_SPLIT:
                return True
            record, self._split_parts = join_bytes(self._split_parts), []
            body = _wide_record_body(record, self._byte_order)
            if body is None:
                return True
            (kind,) = struct.unpack_from(self._byte_order + "I", record.data)
        self._keep_wide_record(kind, body)
        return True

    def _keep_wide_record(self, kind: int, body: U8) -> None:
        """{ u32 size; u8 data[size]; }."""
        size = int.from_bytes(body[:4].tobytes(), ENDIAN[self._byte_order])
        if kind == SimpleperfRecordType.SIMPLEPERF_TRACING_DATA:
            self._findings.tracing_data.append(body[4 : 4 + size])
        elif kind == SimpleperfRecordType.SIMPLEPERF_KERNEL_SYMBOL:
            self._findings.kallsyms = body[4 : 4 + size]

    def note_leftover(self) -> None:
        leftover = len(self._section.data) - self.offset
        if leftover:
            self._findings.note(
                "bytes_after_last_record",
                "The file ends inside a record, or its records are damaged from there on.",
                leftover, f"{self._section.name}, byte {self._section.start + self.offset:#x}",
            )  # fmt: skip
        if self._unpacker.leftover:
            advice = (
                "The compressed data ends inside a record. perf (6.1, 7.2) with buffers above 64 KiB omits the end of"
                " incompressible data: record with -m 16, or without -z."
            )
            self._findings.note("compressed_bytes_after_last_record", advice, self._unpacker.leftover, "")


def _wide_record_body(data: U8, byte_order: ByteOrder) -> U8 | None:
    """None if the record is incomplete. header.misc is the upper half of its size."""
    if len(data) < HEADER_SIZE:
        return None
    _, size_high, size_low = struct.unpack_from(byte_order + "IHH", data[:HEADER_SIZE].data)
    size = size_high << 16 | size_low
    return data[HEADER_SIZE:size] if HEADER_SIZE <= size <= len(data) else None
