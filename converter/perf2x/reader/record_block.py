"""Blocks of complete records: the record stream of a recording, which can be read any number of times.

The stream has all records of all sections, unpacked, without the trace data between them. The first walk
(first_walk.py) divides it into blocks of a few MiB. Later walks yield the same blocks by their plans. Unpacked records
are not kept.

::

    section   |rec|rec|COMPRESSED ……………|rec|AUXTRACE|blob …… |rec|      bytes of the file
    block     |rec|rec|rec rec rec rec|rec|AUXTRACE|rec|               bytes as yielded
    position  0   4   8                   …                            offsets in the stream of yielded records
"""

from collections.abc import Iterator, Sequence
from itertools import count

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from perf2x.base.abi import ByteOrder
from perf2x.base.columnar import I32, I64, U8, U32, U64, Frozen, as_int64, flatnonzero, offsets_of, ranges, take, trues
from perf2x.model.recording import ALL_BLOCKS, Shard
from perf2x.reader.containers.compressed_records import Unpacker
from perf2x.reader.containers.input_file import InputFile
from perf2x.reader.record_framing import header_types

# (records,) in bytes, header included.
Sizes = npt.NDArray[np.uint16]
# (records,) uint8 in 64-bit words if all sizes are whole words, at most 255; otherwise uint16 in bytes.
CompactSizes = npt.NDArray[np.uint16] | U8
_WORD_SHIFT = np.uint16(3)


class Block(Frozen):
    """``n`` records, each of which starts at a word of ``words``. ``data`` and ``words`` may contain other records."""

    data: U8
    """The bytes as recorded, in the file's byte order, apart from padding that aligns records."""
    words: U64
    """``data`` as 64-bit words in native byte order.

    Of two u32 fields that share a word, the first is the lower half in a little-endian file, the upper half in a
    big-endian one.
    """
    byte_order: ByteOrder
    starts: I64
    """(n,) index in ``words`` of each record's header."""
    sizes: I64
    """(n,) bytes of each record, including the header."""
    headers: U64
    """(n,) struct perf_event_header of each record."""
    positions: I64
    """(n,) offset of each record in the stream."""

    @property
    def types(self) -> U32:
        """(n,) header.type of the records, computed at each call."""
        return header_types(self.headers, self.byte_order)

    @property
    def misc(self) -> npt.NDArray[np.uint16]:
        """(n,) header.misc of the records."""
        return (self.headers >> np.uint64(32 if self.byte_order == "<" else 16)).astype(np.uint16)

    def payload(self, row: int) -> bytes:
        """Return the bytes of one record after its header."""
        start = int(self.starts[row]) * 8
        return self.data[start + 8 : start + int(self.sizes[row])].tobytes()

    def only(self, rows: I64) -> "Block":
        """Make a block of the records ``rows``, without copying words.

        Rows are not checked: numpy's clip mode takes a third of the time of range checks.
        """
        return replace(
            self,
            starts=take(self.starts, rows, mode="clip"),
            sizes=take(self.sizes, rows, mode="clip"),
            headers=take(self.headers, rows, mode="clip"),
            positions=take(self.positions, rows, mode="clip"),
        )


def make_block(
    data: U8,
    sizes: Sizes,
    position: int,
    byte_order: ByteOrder,
    excluded_rows: I32 | None = None,
    headers: U64 | None = None,
) -> Block:
    """Make a block from ``data``, which consists of records of these sizes, without the records ``excluded_rows``.

    ``position`` is that of the first record in the stream. ``headers`` are those of the remaining records, if known.
    """
    if np.bitwise_or.reduce(sizes) & 7:
        data, starts, positions = _align_records(data, as_int64(sizes))
    else:
        starts, positions = offsets_of(sizes >> 3)[:-1], None
    if excluded_rows is not None and len(excluded_rows):
        is_kept = trues(len(sizes))
        is_kept[excluded_rows] = False
        rows = flatnonzero(is_kept)
        starts, sizes, positions = take(starts, rows), take(sizes, rows), None if positions is None else positions[rows]
    words = _native_words(data, byte_order)
    positions = (starts * 8 if positions is None else positions) + position
    headers = take(words, starts, mode="clip") if headers is None else headers
    return Block(data, words, byte_order, starts, as_int64(sizes), headers, positions)


def copy_records(block: Block) -> Block:
    """Copy the block's records, so that the memory of others can be freed."""
    word_counts = (block.sizes + 7) >> 3
    data = take(block.data.view("V8"), ranges(block.starts, word_counts)).view(np.uint8)
    return replace(block, data=data, words=_native_words(data, block.byte_order), starts=offsets_of(word_counts)[:-1])


def join_blocks(blocks: Sequence[Block]) -> Block:
    """Concatenate the records of several blocks."""
    if len(blocks) == 1:
        return blocks[0]
    first_words = offsets_of(as_int64([len(block.words) for block in blocks]))[:-1]
    return Block(
        data=np.concatenate([block.data for block in blocks]),
        words=np.concatenate([block.words for block in blocks]),
        byte_order=blocks[0].byte_order,
        starts=np.concatenate([block.starts + first for block, first in zip(blocks, first_words, strict=True)]),
        sizes=np.concatenate([block.sizes for block in blocks]),
        headers=np.concatenate([block.headers for block in blocks]),
        positions=np.concatenate([block.positions for block in blocks]),
    )


def _native_words(data: U8, byte_order: ByteOrder) -> U64:
    """View bytes as native words; copy them if byte order or alignment require it."""
    whole_words = data[: len(data) // 8 * 8]
    if whole_words.ctypes.data % 8:
        whole_words = whole_words.copy()
    words = whole_words.view(byte_order + "u8")
    return words.astype(np.uint64, copy=False)


def _align_records(data: U8, sizes: I64) -> tuple[U8, I64, I64]:
    """Copy records to word boundaries.

    Returns the bytes with padding, the word where each record starts, and each record's offset in ``data``::

        data      |rec1 …|rec2 ……|rec3|       sizes 13 16 8, offsets 0 13 29
        result    |rec1 …   |rec2 ……|rec3|    words 0 2 4
    """
    aligned_offsets = offsets_of(-(-sizes // 8) * 8)
    padded = np.zeros(aligned_offsets[-1], np.uint8)
    padded[ranges(aligned_offsets[:-1], sizes)] = data
    return padded, aligned_offsets[:-1] >> 3, offsets_of(sizes)[:-1]


class DataSection(Frozen):
    """Consecutive records in one file: its data section, simpleperf's section INIT_MAP, or a whole file ``data.N``."""

    file: InputFile
    start: int
    """Offset of the section in its file."""
    stop: int
    name: str
    """Name of the file in messages."""
    decompressed_limit: int = 0
    """Largest number of bytes to which one compressed record may unpack; 0 if unknown."""

    @property
    def data(self) -> U8:
        """Bytes of the section, a view of the mapped file."""
        return self.file.data[self.start : self.stop]

    def forget(self, start: int, stop: int) -> None:
        """Advise the system that bytes [start, stop) are not needed for now."""
        self.file.forget(self.start + start, self.start + stop)


class Chunk(Frozen):
    """Part of a block: the records in bytes [start, stop) of the section, or those unpacked from one record there."""

    start: int
    stop: int
    unpacked_size: int = -1
    """Bytes of the records unpacked from the compressed record; −1 if the records are not compressed."""


class BlockPlan(Frozen):
    """The data by which later walks read a block."""

    position: int
    """Offset of the block in the stream."""
    chunks: list[Chunk]
    compact_sizes: CompactSizes

    @property
    def sizes(self) -> Sizes:
        """Bytes of each record."""
        return sizes_in_bytes(self.compact_sizes)


class RecordStream(Frozen, eq=False):
    """The records of a recording, in blocks."""

    sections: list[DataSection]
    byte_order: ByteOrder
    plans: list[list[BlockPlan]]
    """For each section, the plans of its blocks."""
    end: int
    """The position after the last record."""

    def blocks(self, excluded_rows: Sequence[I32], shard: Shard = ALL_BLOCKS) -> Iterator[tuple[int, Block]]:
        """Yield number and block, in file order, for a shard; ``excluded_rows`` has an array for each block."""
        numbers, total = count(), sum(map(len, self.plans))
        for section, plans in zip(self.sections, self.plans, strict=True):
            unpacker = Unpacker(section.decompressed_limit, len(section.data))
            for plan, number in zip(plans, numbers, strict=False):
                if not shard.holds(number, total) and all(chunk.unpacked_size < 0 for chunk in plan.chunks):
                    continue  # compressed chunks are always unpacked, because later ones depend on them
                parts = [self._chunk_bytes(section, chunk, unpacker) for chunk in plan.chunks]
                if shard.holds(number, total):
                    yield (
                        number,
                        make_block(
                            join_bytes(parts), plan.sizes, plan.position, self.byte_order, excluded_rows[number]
                        ),
                    )
                section.forget(plan.chunks[0].start, plan.chunks[-1].stop)

    def _chunk_bytes(self, section: DataSection, chunk: Chunk, unpacker: Unpacker) -> U8:
        data = section.data[chunk.start : chunk.stop]
        return data if chunk.unpacked_size < 0 else unpacker.unpack_again(data, self.byte_order, chunk.unpacked_size)


def compact_sizes(sizes: Sizes) -> CompactSizes:
    """Store sizes in one byte each if possible: recordings have tens of millions of records."""
    words = sizes >> _WORD_SHIFT
    if np.bitwise_or.reduce(sizes) & 7 or words.max(initial=0) > np.iinfo(np.uint8).max:
        return sizes
    return words.astype(np.uint8)


def sizes_in_bytes(compact: CompactSizes) -> Sizes:
    """Undo ``compact_sizes``."""
    return compact.astype(np.uint16) << _WORD_SHIFT if compact.dtype == np.uint8 else compact.view(np.uint16)


def join_bytes(parts: Sequence[U8]) -> U8:
    """Concatenate byte arrays; do not copy a single one."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
