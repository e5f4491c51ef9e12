"""The record stream of a recording: blocks of whole records, uncompressed, read as often as wanted.

The first walk (first_walk.py) finds the record boundaries and keeps two bytes for each of them. Every later walk yields
the same blocks without looking for boundaries again. Compressed records are unpacked anew on each walk, not kept.

::

    section   |rec|rec|COMPRESSED ……………|rec|AUXTRACE|blob …… |rec|      as it lies in the file
    block     |rec|rec|rec rec rec rec|rec|AUXTRACE|rec|               as it is handed out
    position   0   ^offsets in the stream of handed-out records
"""

from collections.abc import Iterator, Sequence
from itertools import count

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from perf2x.base.abi.layouts import ByteOrder
from perf2x.base.columnar.arrays import I32, U8
from perf2x.model.recording.events import ALL, Shard
from perf2x.reader.block import Block, make_block
from perf2x.reader.containers.compressed_records import Unpacker
from perf2x.reader.containers.input_file import InputFile


class DataSection(Struct, frozen=True):
    """Consecutive records in one file: its data section, or the whole of a ``data.N``."""

    file: InputFile
    start: int
    """Offset of the section in its file."""
    stop: int
    name: str
    """Name of the file in messages."""
    decompressed_limit: int = 0
    """Most bytes that one compressed record may unpack to; 0 when the file does not say."""

    @property
    def data(self) -> U8:
        """Bytes of the section, a view of the mapped file."""
        return self.file.data[self.start : self.stop]

    def forget(self, start: int, stop: int) -> None:
        """Tell the system that bytes [start, stop) of the section are not needed for now."""
        self.file.forget(self.start + start, self.start + stop)


class Chunk(Struct, frozen=True):
    """Part of a block: bytes [start, stop) of the section as they are, or the records compressed in them."""

    start: int
    stop: int
    complete: int = -1
    """Bytes of whole records that a compressed chunk unpacks to; −1 for a chunk that is not compressed."""


class BlockPlan(Struct, frozen=True):
    """Recipe for reading one block again."""

    position: int
    """Offset of the block in the stream."""
    chunks: list[Chunk]
    sizes: npt.NDArray[np.uint16]
    """(records,) bytes of each record, header included."""


class RecordStream(Struct, frozen=True, eq=False):
    """All sections of a recording, one behind the other, with their block boundaries."""

    sections: list[DataSection]
    order: ByteOrder
    plans: list[list[BlockPlan]]
    """The blocks of each section."""
    end: int
    """One past the last record's position."""

    def blocks(self, left_out: Sequence[I32], shard: Shard = ALL) -> Iterator[tuple[int, Block]]:
        """Yield the blocks of a shard with their numbers, in file order; each without its rows ``left_out``."""
        numbers, total = count(), sum(map(len, self.plans))
        for section, plans in zip(self.sections, self.plans, strict=True):
            unpacker = Unpacker(section.decompressed_limit, len(section.data))
            for plan, number in zip(plans, numbers, strict=False):  # the numbers never end
                if not shard.holds(number, total) and all(chunk.complete < 0 for chunk in plan.chunks):
                    continue  # compressed chunks are unpacked all the same: later ones build on them
                parts = [self._read(section, chunk, unpacker) for chunk in plan.chunks]
                if shard.holds(number, total):
                    yield number, make_block(join_bytes(parts), plan.sizes, plan.position, self.order, left_out[number])
                section.forget(plan.chunks[0].start, plan.chunks[-1].stop)

    def _read(self, section: DataSection, chunk: Chunk, unpacker: Unpacker) -> U8:
        data = section.data[chunk.start : chunk.stop]
        return data if chunk.complete < 0 else unpacker.unpack_again(data, self.order, chunk.complete)


def join_bytes(parts: Sequence[U8]) -> U8:
    """Concatenate byte arrays; a single one is returned as it is."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
