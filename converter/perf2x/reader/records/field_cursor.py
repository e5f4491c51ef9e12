"""A cursor over many records at once, so that decoders read like the comments in perf_event.h, with columns for fields.

::

    at = FieldCursor(block)           at.u64()   → column of the first field
                                 at.u64()   → column of the second
                                 at.counted(nr) → where each record's nr words are

A record that ends before a field does is marked in ``bad`` and reads as rubbish from then on; whoever uses the cursor
drops marked rows at the end. Nothing is read outside the block.
"""

import numpy as np
import numpy.typing as npt

from perf2x.columnar.arrays import I32, I64, U64, Bools
from perf2x.columnar.ragged import Ragged, offsets_of, ranges
from perf2x.reader.block import Block

LOW = np.uint64(0xFFFFFFFF)
SHIFT_32 = np.uint64(32)


class FieldCursor:
    """Stands at the same field of every record in the block; each read moves it on."""

    def __init__(self, block: Block, trailer_words: int = 0) -> None:
        self.block = block
        self.start = block.starts
        self.end = block.starts + ((block.sizes >> 3) - trailer_words)
        """(n,) word behind each record's last."""
        self._trailer_bytes = trailer_words * 8
        self._little = block.order == "<"
        self._at = block.starts
        self._step = 1
        self._room = (int(block.sizes.min()) >> 3) - trailer_words if len(block.sizes) else 1 << 30
        """Words that every record has at least, counted from ``_at``; −1 where that is not worked out yet."""
        self.bad: Bools = np.zeros(len(self.start), np.bool_) if self._room > 0 else self.end <= self.start
        self.given_up: Bools | None = None
        """(n,) records whose rest cannot be read, although they are whole; None: there are none."""

    def __len__(self) -> int:
        return len(self.start)

    @property
    def at(self) -> I64:
        """(n,) word that is read next."""
        return self._at + self._step

    def u64(self) -> U64:
        """(n,) the next u64 of every record."""
        return self.words(1)

    def words(self, count: int) -> U64:
        """(n,) the next word of every record, and step over ``count``."""
        if self._step + count > self._room:
            self._check(count)
        view = self.block.words[self._step :]
        self._step += count
        if not len(view):
            return np.zeros(len(self), np.uint64)
        column: U64 = view.take(self._at, mode="clip")
        if self.given_up is not None:
            column[self.given_up] = 0
        return column

    def peek(self) -> U64:
        """The next word of every record, without moving on."""
        column = self.u64()
        self._step -= 1
        return column

    def skip(self, count: int) -> None:
        """Step over words."""
        if self._step + count > self._room:
            self._check(count)
        self._step += count

    def u32_pair(self) -> tuple[U64, U64]:
        """(n,) (n,) two u32 that share a word, in the order of the struct."""
        return self.split(self.u64())

    def i32_pair(self) -> tuple[I32, I32]:
        """The same as signed numbers."""
        word = self.u64()
        low, high = as_i32(word), as_i32(word >> SHIFT_32)
        return (low, high) if self._little else (high, low)

    def i32(self) -> I32:
        """The first of two u32 that share a word, as signed numbers."""
        word = self.u64()
        return as_i32(word if self._little else word >> SHIFT_32)

    def split(self, word: U64) -> tuple[U64, U64]:
        """The two u32 in a word, in the order of the struct."""
        low, high = word & LOW, word >> SHIFT_32
        return (low, high) if self._little else (high, low)

    def split_u16(self, half: U64) -> tuple[U64, U64]:
        """The two u16 in a u32 that ``split`` gave, in the order of the struct."""
        low, high = half & np.uint64(0xFFFF), half >> np.uint64(16)
        return (low, high) if self._little else (high, low)

    def counted(self, count: U64, words_each: int = 1) -> tuple[I64, I64]:
        """First word and number of entries of an array of ``count`` entries, and step over it.

        A count that does not fit in its record marks the row and becomes 0.
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
        self._step, self._room = 0, -1  # worked out when something is read there
        return first, lengths

    def give_up(self, rows: Bools) -> None:
        """Go to the end of the records in ``rows``: a field of unknown length stands here. Later fields are 0."""
        rows = rows & ~self.bad
        if rows.any():
            self.given_up = rows if self.given_up is None else self.given_up | rows
            self._at, self._step, self._room = np.where(rows, self.end, self.at), 0, -1

    @property
    def whole(self) -> Bools:
        """(n,) records whose fields lie in them, as far as they can be read."""
        return ~self.bad if self.given_up is None else ~self.bad | self.given_up

    def ragged(self, first: I64, lengths: I64) -> Ragged:
        """The words of an array that ``counted`` has found, copied together."""
        return Ragged(offsets_of(lengths), self.block.words.take(ranges(first, lengths), mode="clip"))

    def texts(self) -> list[str]:
        """What is left of each record as a string that ends at its first NUL (or with the record)."""
        known: dict[bytes, str] = {}
        return [
            known[raw] if raw in known else known.setdefault(raw, raw.decode("utf-8", "surrogateescape"))
            for raw in self.strings()
        ]

    def strings(self) -> list[bytes]:
        """The same as bytes."""
        starts = (self.at * 8).tolist()
        stops = np.maximum(self.at * 8, self.start * 8 + (self.block.sizes - self._trailer_bytes)).tolist()
        first = min(starts, default=0)
        data = self.block.data[first : max(stops, default=0)].tobytes()
        return [
            data[start - first : stop - first].partition(b"\0")[0] for start, stop in zip(starts, stops, strict=True)
        ]

    def _check(self, count: int) -> None:
        """Mark the records in which the next words are not."""
        if self._room < 0:
            self._room = int((self.end - self._at).min()) if len(self._at) else 1 << 30
        if self._step + count > self._room:
            self.bad |= self.end - self._at < self._step + count


def as_i32(column: U64) -> I32:
    """The low 32 bits as a signed number: pid −1 is 0xffffffff in the file."""
    low: npt.NDArray[np.uint32] = column.astype(np.uint32)
    return low.view(np.int32)
