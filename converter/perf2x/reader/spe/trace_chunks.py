"""Cuts Arm SPE trace into chunks of whole records, some hundred kB each, so that each can be read alone.

::

    blocks of one buffer    |rec|rec|re| … |c|rec|rec|rec| … |rec|       blocks of other buffers lie between
    chunks                  |rec|rec|rec|  |rec|rec|rec|
"""

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from perf2x.base.frozen import Frozen
from perf2x.reader.block import join_bytes
from perf2x.reader.first_walk import TraceBlock
from perf2x.reader.spe.packets import find_packets
from perf2x.reader.spe.records import TraceRecords, read_records

SPAN = 1 << 17
"""Bytes of a chunk, about: what it is decoded with stays in cache."""


class TraceChunk(Frozen):
    """Pieces of one buffer, each of which begins where the one before ends."""

    pieces: tuple[TraceBlock, ...]
    position: int
    """Offset of its first byte among all trace of the recording."""
    first: int
    """Number of whole records before it, since the buffer last had a gap."""

    def records(self) -> tuple[TraceRecords, int, int]:
        """Return the whole records, the number of damaged ones, and the offset behind the last end and its padding."""
        data = join_bytes([piece.section.data[piece.start : piece.stop] for piece in self.pieces])
        return read_records(find_packets(data, self.pieces[0].offset))

    def forget(self) -> None:
        """Tell the system that the bytes are not needed for now."""
        for piece in self.pieces:
            piece.section.forget(piece.start, piece.stop)


def cut_trace(blocks: Iterable[TraceBlock]) -> Iterator[tuple[TraceChunk, TraceRecords, int]]:
    """Yield the chunks of each buffer in turn, with their whole records and the number of damaged or cut ones."""
    runs: dict[int, list[list[TraceBlock]]] = {}
    for block in blocks:
        of_buffer = runs.setdefault(block.queue, [])
        if not of_buffer or _end(of_buffer[-1][-1]) != block.offset:
            of_buffer.append([])
        of_buffer[-1].append(block)
    position = 0
    for run in (run for of_buffer in runs.values() for run in of_buffer):
        yield from _cut_run(run, position)
        position += _end(run[-1]) - run[0].offset


def _end(block: TraceBlock) -> int:
    return block.offset + block.stop - block.start


def _cut_run(run: Sequence[TraceBlock], position: int) -> Iterator[tuple[TraceChunk, TraceRecords, int]]:
    pieces = [
        replace(block, start=at, stop=min(at + SPAN, block.stop), offset=block.offset + at - block.start)
        for block in run
        for at in range(block.start, block.stop, SPAN)
    ]
    waiting: list[TraceBlock] = []
    first = 0
    for piece in pieces:
        waiting.append(piece)
        size = _end(piece) - waiting[0].offset
        if size < SPAN and piece is not pieces[-1]:
            continue
        chunk = TraceChunk(tuple(waiting), position, first)
        records, damaged, used = chunk.records()
        waiting = _behind(waiting, used or size)  # no record is that long
        yield chunk, records, damaged + (not used or (piece is pieces[-1] and len(waiting) > 0))
        position += used or size
        first += len(records)


def _behind(pieces: Sequence[TraceBlock], used: int) -> list[TraceBlock]:
    """Pieces without their first bytes."""
    at = pieces[0].offset + used
    return [
        replace(piece, start=piece.stop - min(_end(piece) - at, piece.stop - piece.start), offset=max(at, piece.offset))
        for piece in pieces
        if _end(piece) > at
    ]
