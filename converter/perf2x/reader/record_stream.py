"""The record stream of a recording as blocks of whole records, uncompressed, a few MiB each so that they stay in cache.

The first walk finds the record boundaries and keeps two bytes for each of them; every later walk gives the same blocks
without looking for boundaries again. Compressed records are unpacked anew on each walk rather than kept.

::

    stretch   |rec|rec|COMPRESSED ……………|rec|AUXTRACE|blob …… |rec|      as it lies in the file
    block     |rec|rec|rec rec rec rec|rec|AUXTRACE|rec|               what is handed out
    position   0   ^offsets in the stream of handed-out records
"""

import struct
from collections.abc import Callable, Iterator, Sequence
from itertools import count

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from perf2x.abi.layouts import HEADER_SIZE, ByteOrder
from perf2x.abi.perffile import UserRecordType
from perf2x.columnar.arrays import I32, U8, U64
from perf2x.files.unpack_limit import format_size, record_limit
from perf2x.reader.block import Block, make_block
from perf2x.reader.containers.compressed_records import Unpacker
from perf2x.reader.containers.source import Source
from perf2x.reader.record_framing import Frame, frame
from perf2x.tables.diagnostics import Diagnostics, Severity
from perf2x.tables.errors import FormatError
from perf2x.tables.events import ALL, Share

SPAN = 2 << 20
"""Bytes of records in a block, about: small enough for the cache, large enough to hide numpy's cost per call."""
FEW_RECORDS = 8192
"""A block with fewer goes on beyond ``SPAN``: records with stack copies are large, and calls cost by the record."""
LARGEST_BLOCK = 64 << 20
"""Bytes at which a block ends, however few its records."""


class Stretch(Struct, frozen=True):
    """Consecutive records in one file: its data section, or the whole of a ``data.N``."""

    source: Source
    start: int
    """Where the stretch starts in its file."""
    stop: int
    name: str
    decompressed_limit: int = 0
    """Most bytes that one compressed record may unpack to; 0 when the file does not say."""

    @property
    def data(self) -> U8:
        """The bytes."""
        return self.source.data[self.start : self.stop]

    def forget(self, start: int, stop: int) -> None:
        """Bytes [start, stop) of the stretch are done with for now."""
        self.source.forget(self.start + start, self.start + stop)


class _Piece(Struct, frozen=True):
    """Part of a block: bytes [start, stop) of the stretch as they are, or what is packed in them."""

    start: int
    stop: int
    complete: int = -1
    """Bytes of whole records that the packed piece gives; −1 for bytes that are not packed."""


class _Plan(Struct):
    """How one block is put together again; ``sizes`` of its records, and on the first walk their headers."""

    position: int
    pieces: list[_Piece] = field(default_factory=list)
    sizes: list[npt.NDArray[np.uint16]] = field(default_factory=list)
    headers: list[U64] = field(default_factory=list)
    length: int = 0


class Blob(Struct, frozen=True):
    """Bytes that follow a record without being part of it."""

    type: int
    data: U8


class Stream:
    """All stretches of a recording, one behind the other."""

    def __init__(self, stretches: list[Stretch], order: ByteOrder, diagnostics: Diagnostics) -> None:
        self.stretches = stretches
        self.order = order
        self.end = 0
        """One past the last record's position, known after ``index``."""
        self.blobs: list[Blob] = []
        """Trailing data of HEADER_TRACING_DATA records, in file order."""
        self.outer_counts: dict[int, int] = {}
        """Numbers of the compressed records, which no block holds."""
        self.before_noting: Callable[[], None] = lambda: None
        """Called before damage is noted: who is behind with earlier blocks notes theirs first."""
        self._diagnostics = diagnostics
        self._plans: list[list[_Plan]] = []

    @property
    def total(self) -> int:
        """Bytes of all stretches."""
        return sum(len(stretch.data) for stretch in self.stretches)

    def index(self) -> Iterator[tuple[Block, int]]:
        """The first walk: blocks, and how many bytes of the input are done with each."""
        done = 0
        for stretch in self.stretches:
            plans: list[_Plan] = []
            self._plans.append(plans)
            walk = _Walk(stretch, self.order, self, self._diagnostics)
            passed = 0
            for plan, data in walk.blocks(self.end):
                plans.append(plan)
                self.end = plan.position + plan.length
                headers = np.concatenate(plan.headers)
                plan.headers = []
                yield make_block(data, plan.sizes[0], plan.position, self.order, headers=headers), done + walk.at
                stretch.forget(passed, walk.at)
                passed = walk.at
            done += len(stretch.data)

    def blocks(self, left_out: Sequence[I32], share: Share = ALL) -> Iterator[tuple[int, Block]]:
        """Any later walk: the same blocks, those of a share, with their numbers; each without its rows ``left_out``."""
        numbers, total = count(), sum(map(len, self._plans))
        for stretch, plans in zip(self.stretches, self._plans, strict=True):
            unpacker = Unpacker(stretch.decompressed_limit, len(stretch.data))
            for plan, number in zip(plans, numbers, strict=False):  # they never end
                if not share.holds(number, total) and all(piece.complete < 0 for piece in plan.pieces):
                    continue  # what is packed has to be unpacked all the same: what follows builds on it
                parts = [self._part(stretch.data[piece.start : piece.stop], piece, unpacker) for piece in plan.pieces]
                if share.holds(number, total):
                    data, out = _joined(parts), left_out[number]
                    yield number, make_block(data, plan.sizes[0], plan.position, self.order, out)
                stretch.forget(plan.pieces[0].start, plan.pieces[-1].stop)

    def _part(self, data: U8, piece: _Piece, unpacker: Unpacker) -> U8:
        return data if piece.complete < 0 else unpacker.again(data, self.order, piece.complete)


class _Walk:
    """The first walk over one stretch."""

    def __init__(self, stretch: Stretch, order: ByteOrder, stream: Stream, diagnostics: Diagnostics) -> None:
        self.at = 0
        self._stretch = stretch
        self._order = order
        self._stream = stream
        self._diagnostics = diagnostics
        self._unpacker = Unpacker(stretch.decompressed_limit, len(stretch.data))
        self._room = record_limit(stretch.source.on_disk)
        """Records that may still come: tables grow with each of them."""

    def blocks(self, position: int) -> Iterator[tuple[_Plan, U8]]:
        plan, parts = _Plan(position), list[U8]()
        careful = False
        while True:
            framed = frame(self._stretch.data[self.at : self.at + SPAN], self._order, careful)
            careful = framed.special != 0
            if framed.length:
                self._take(framed, plan, parts)
                self._count(framed.sizes)
            if plan.length and (_is_full(plan) or framed.length == 0):
                yield _finished(plan), _joined(parts)
                plan, parts = _Plan(plan.position + plan.length), []
            if framed.length == 0:
                break
        self._note_leftover()

    def _take(self, framed: Frame, plan: _Plan, parts: list[U8]) -> None:
        """Add the records of one frame to the block."""
        last = int(framed.sizes[-1]) if framed.special else 0
        compressed = framed.special in (UserRecordType.COMPRESSED, UserRecordType.COMPRESSED2)
        plain = framed.length - last if compressed else framed.length
        if plain:
            rows = slice(-1 if compressed else None)
            self._append(_Piece(self.at, self.at + plain), framed.headers[rows], framed.sizes[rows], plan, parts)
        if compressed:
            self._unpack(self.at + plain, last, framed.special, plan, parts)
        self.at += framed.length
        if framed.special and not compressed:
            self._pass_blob(framed.special, last)

    def _append(self, piece: _Piece, headers: U64, sizes: npt.NDArray[np.uint16], plan: _Plan, parts: list[U8]) -> None:
        last = plan.pieces[-1] if plan.pieces else None
        if last is not None and last.complete < 0 and last.stop == piece.start:  # one slice for all, nothing is copied
            parts[-1] = self._stretch.data[last.start : piece.stop]
            plan.pieces[-1] = _Piece(last.start, piece.stop)
        else:
            parts.append(self._stretch.data[piece.start : piece.stop])
            plan.pieces.append(piece)
        plan.headers.append(headers)
        plan.sizes.append(sizes)
        plan.length += piece.stop - piece.start

    def _unpack(self, start: int, size: int, kind: int, plan: _Plan, parts: list[U8]) -> None:
        counts = self._stream.outer_counts
        counts[kind] = counts.get(kind, 0) + 1
        try:
            data, framed = self._unpacker.first(self._stretch.data[start : start + size], self._order)
            self._count(framed.sizes)
        except ValueError as error:
            self._note(
                "compressed_records_broken",
                "Records inside could not be unpacked; some perf versions (6.16) wrote broken ones: record without -z.",
                where=f"{self._stretch.name}, byte {self._stretch.start + start:#x}: {error}",
            )  # fmt: skip
            return
        if framed.length:
            parts.append(data)
            plan.headers.append(framed.headers)
            plan.sizes.append(framed.sizes)
            plan.length += len(data)
        plan.pieces.append(_Piece(start, start + size, len(data)))

    def _count(self, records: npt.NDArray[np.uint16]) -> None:
        self._room -= len(records)
        if self._room < 0:
            most, on_disk = record_limit(self._stretch.source.on_disk), self._stretch.source.on_disk
            raise FormatError(
                f"{self._stretch.name}: its {format_size(on_disk)} unpack to more than {most:,} records, "
                "as no recording does; --max-unpacked SIZE lets one through for each KiB of SIZE"
            )

    def _pass_blob(self, kind: int, size: int) -> None:
        """Step over the bytes that follow AUXTRACE and HEADER_TRACING_DATA; ``at`` is behind the record already."""
        record = self._stretch.data[self.at - size : self.at].data
        wide = kind == UserRecordType.AUXTRACE
        code, need = ("Q", HEADER_SIZE + 8) if wide else ("I", HEADER_SIZE + 4)
        if size < need:
            return
        (length,) = struct.unpack_from(self._order + code, record, HEADER_SIZE)
        if not wide:
            length = (length + 7) // 8 * 8
        blob = self._stretch.data[self.at : self.at + length]
        if len(blob) < length:
            self._note(
                "blobs_cut", "The file ends inside trace data; it was cut or never finished.",
                where=f"{self._stretch.name}, byte {self._stretch.start + self.at:#x}",
            )  # fmt: skip
        if not wide:
            self._stream.blobs.append(Blob(kind, blob))
        self.at += len(blob)

    def _note_leftover(self) -> None:
        left = len(self._stretch.data) - self.at
        if left:
            self._note(
                "bytes_after_last_record",
                "The file ends inside a record, or its records are damaged from there on.",
                count=left, where=f"{self._stretch.name}, byte {self._stretch.start + self.at:#x}",
            )  # fmt: skip
        if self._unpacker.leftover:
            advice = "The compressed data ends inside a record."
            self._note("compressed_bytes_after_last_record", advice, count=self._unpacker.leftover)

    def _note(self, name: str, advice: str, count: int = 1, where: str = "") -> None:
        self._stream.before_noting()
        self._diagnostics.add(name, Severity.LOSS, advice, count, where)


def _is_full(plan: _Plan) -> bool:
    if plan.length < SPAN // 2:
        return False
    return plan.length >= LARGEST_BLOCK or sum(map(len, plan.sizes)) >= FEW_RECORDS


def _finished(plan: _Plan) -> _Plan:
    plan.sizes = [np.concatenate(plan.sizes)]
    return plan


def _joined(parts: list[U8]) -> U8:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
