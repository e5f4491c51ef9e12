"""Reads one field of many records at a time, so that decoders look like the comments in perf_event.h.

::

    at = FieldCursor(block)           at.u64()   → column of the first field
                                 at.u64()   → column of the second
                                 at.counted(nr) → first word and length of each record's array

A record that ends before a field does is marked in ``bad``, and its later fields are undefined; callers drop marked
rows at the end. Nothing is read outside the block.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from perf2x.base.columnar import I32, I64, U64, Bools, DictionaryColumn, ListArray, falses, offsets_of, ranges, take
from perf2x.reader.record_block import Block

_LOW = np.uint64(0xFFFFFFFF)
_SHIFT_32 = np.uint64(32)
_WORDS_EACH = {"words": 1, "pairs": 2}


class FieldCursor:
    """Points to the same field of every record in a block; each read advances it."""

    def __init__(self, block: Block, trailer_words: int = 0) -> None:
        self.block = block
        self.start = block.starts
        self.end = block.starts + ((block.sizes >> 3) - trailer_words)
        """(n,) end of each record's fields, as an index in the block's words."""
        self._trailer_bytes = trailer_words * 8
        self._little = block.order == "<"
        self._at = block.starts
        self._step = 1
        self._room = (int(block.sizes.min()) >> 3) - trailer_words if len(block.sizes) else 1 << 30
        """Least number of words left in any record from ``_at`` on; −1 if not computed yet."""
        self.bad: Bools = falses(len(self.start)) if self._room > 0 else self.end <= self.start
        self.given_up: Bools | None = None
        """(n,) complete records whose remaining fields cannot be read; None if there are none."""

    def __len__(self) -> int:
        return len(self.start)

    @property
    def at(self) -> I64:
        """(n,) index of the next word of each record."""
        return self._at + self._step

    def u64(self) -> U64:
        """Read (n,) the next u64 of every record."""
        return self.words(1)

    def words(self, count: int) -> U64:
        """Return (n,) the next word of every record, and advance by ``count`` words."""
        view = self.block.words[self._step :]
        self.skip(count)
        if not len(view):
            return np.zeros(len(self), np.uint64)
        column: U64 = take(view, self._at, mode="clip")
        if self.given_up is not None:
            column[self.given_up] = 0
        return column

    def peek(self) -> U64:
        """Read (n,) the next word of every record without advancing."""
        column = self.u64()
        self._step -= 1
        return column

    def step_back(self, rows: Bools) -> None:
        """Read the last word of the records in ``rows`` again."""
        self._at = self._at - rows

    def skip(self, count: int) -> None:
        """Skip words of every record."""
        if self._step + count > self._room:
            self._check(count)
        self._step += count

    def u32_pair(self) -> tuple[U64, U64]:
        """Read (n,) (n,) two u32 that share a word, in the order of the struct."""
        return self.split(self.u64())

    def i32_pair(self) -> tuple[I32, I32]:
        """Read (n,) (n,) two i32 that share a word, in the order of the struct."""
        word = self.u64()
        low, high = as_i32(word), as_i32(word >> _SHIFT_32)
        return (low, high) if self._little else (high, low)

    def i32(self) -> I32:
        """Read (n,) the first of two i32 that share a word; skip the other."""
        word = self.u64()
        return as_i32(word if self._little else word >> _SHIFT_32)

    def has(self, bits: int) -> Bools:
        """Return (n,) records with all of these bits of header.misc set."""
        flag: Bools = (self.block.misc & np.uint16(bits)) == bits
        return flag

    def fields(self, layout: str) -> dict[str, Any]:
        """Read fields by name: ``pid/tid:i start:Q chain:words comm:text is_exec:8192 lifted:no``.

        In this order: two i32 that share a word; a u64 (which may have two names); a count followed by that many words
        (``pairs``: twice as many); the rest as text; bits of header.misc; a constant.
        """
        columns: dict[str, Any] = {}
        for names, code in (field.split(":") for field in layout.split()):
            if code == "i":
                first, second = names.split("/")
                columns[first], columns[second] = self.i32_pair()
            elif code == "Q":
                columns |= dict.fromkeys(names.split("/"), self.u64())
            elif code in _WORDS_EACH:
                first_word, count = self.counted(self.u64(), _WORDS_EACH[code])
                columns[names] = self.ragged(first_word, count * _WORDS_EACH[code])
            elif code == "text":
                columns[names] = self.texts()
            else:
                columns[names] = (
                    self.has(int(code)) if code.isdecimal() else np.full(len(self), code == "yes", np.bool_)
                )
        return columns

    def split(self, word: U64) -> tuple[U64, U64]:
        """Split words into two u32, in the order of the struct."""
        low, high = word & _LOW, word >> _SHIFT_32
        return (low, high) if self._little else (high, low)

    def split_u16(self, half: U64) -> tuple[U64, U64]:
        """Split u32 from ``split`` into two u16, in the order of the struct."""
        low, high = half & np.uint64(0xFFFF), half >> np.uint64(16)
        return (low, high) if self._little else (high, low)

    def counted(self, count: U64, words_each: int = 1) -> tuple[I64, I64]:
        """Return (n,) first word and (n,) length of an array of ``count`` entries, and skip it.

        A count that does not fit in its record marks the row as bad and becomes 0.
        """
        first = self.at
        room = np.maximum(self.end - first, 0)
        if words_each > 1:
            room //= words_each
        too_many = count > room.view(np.uint64)
        if too_many.any():
            self.bad |= too_many
            count = np.where(too_many, np.uint64(0), count)
        lengths = count.view(np.int64)
        self._at = first + (lengths * words_each if words_each > 1 else lengths)
        self._step, self._room = 0, -1  # computed at the next read
        return first, lengths

    def give_up(self, rows: Bools) -> None:
        """Skip to the end of the records in ``rows``, whose next field has unknown length; their later fields are 0."""
        rows = rows & ~self.bad
        if rows.any():
            self.given_up = rows if self.given_up is None else self.given_up | rows
            self._at, self._step, self._room = np.where(rows, self.end, self.at), 0, -1

    @property
    def whole(self) -> Bools:
        """Return (n,) records that contain all fields read so far."""
        return ~self.bad if self.given_up is None else ~self.bad | self.given_up

    def ragged(self, first: I64, lengths: I64) -> ListArray:
        """Copy the words of arrays found by ``counted``."""
        return ListArray(offsets_of(lengths), take(self.block.words, ranges(first, lengths), mode="clip"))

    def texts(self) -> DictionaryColumn[str]:
        """Read the rest of each record as text up to its first NUL (or the record's end)."""
        return self.strings().changed(lambda raw: raw.decode("utf-8", "surrogateescape"))

    def strings(self) -> DictionaryColumn[bytes]:
        """Read the rest of each record as bytes up to its first NUL (or the record's end)."""
        starts = self.at * 8
        stops = np.maximum(starts, self.start * 8 + (self.block.sizes - self._trailer_bytes))
        first = int(starts.min(initial=len(self.block.data)))
        data = self.block.data[first : int(stops.max(initial=0))].tobytes()
        rests = map(data.__getitem__, map(slice, (starts - first).tolist(), (stops - first).tolist()))
        return DictionaryColumn.of(rests).changed(lambda rest: rest.partition(b"\0")[0])

    def _check(self, count: int) -> None:
        """Mark records that end before the next ``count`` words."""
        if self._room < 0:
            self._room = int((self.end - self._at).min()) if len(self._at) else 1 << 30
        if self._step + count > self._room:
            self.bad |= self.end - self._at < self._step + count


def as_i32(column: U64) -> I32:
    """Return the low 32 bits as signed numbers: pid −1 is 0xffffffff in the file."""
    low: npt.NDArray[np.uint32] = column.astype(np.uint32)
    return low.view(np.int32)
