"""A cursor over many records at once, so that decoders read like the comments in perf_event.h, with columns for fields.

::

    at = Cursor(block, rows)     at.u64()   → column of the first field
                                 at.u64()   → column of the second
                                 at.counted(nr) → where each record's nr words are

A record that ends before a field does is marked in ``bad`` and reads as rubbish from then on; whoever uses the cursor
drops marked rows at the end. Nothing is read outside the block.
"""

import numpy as np
import numpy.typing as npt

from perf2x.model.arrays import I32, I64, U64, Bools
from perf2x.model.ragged import Ragged, offsets_of, ranges
from perf2x.reader.block import Block

LOW = np.uint64(0xFFFFFFFF)
SHIFT_32 = np.uint64(32)


class Cursor:
    """Stands at the same field of every record in ``rows``; each read moves it on."""

    def __init__(self, block: Block, rows: I64 | None = None, trailer_words: int = 0) -> None:
        starts = block.starts if rows is None else block.starts.take(rows)
        sizes = block.sizes if rows is None else block.sizes.take(rows)
        self.block = block
        self.start = starts
        self.end = starts + (sizes >> 3) - trailer_words
        """(n,) word behind each record's last."""
        self._stop = starts * 8 + sizes - trailer_words * 8
        self.bad: Bools = self.end <= starts
        self._little = block.order == "<"
        self._at = starts
        self._step = 1
        self._room = self._shortest()

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
            self._mark(count)
        view = self.block.words[self._step :]
        self._step += count
        if not len(view):
            return np.zeros(len(self), np.uint64)
        return view.take(self._at, mode="clip")

    def peek(self) -> U64:
        """The next word of every record, without moving on."""
        column = self.u64()
        self._step -= 1
        return column

    def skip(self, count: int) -> None:
        """Step over words."""
        if self._step + count > self._room:
            self._mark(count)
        self._step += count

    def u32_pair(self) -> tuple[U64, U64]:
        """(n,) (n,) two u32 that share a word, in the order of the struct."""
        return self.split(self.u64())

    def i32_pair(self) -> tuple[I32, I32]:
        """The same as signed numbers."""
        first, second = self.u32_pair()
        return as_i32(first), as_i32(second)

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
        room = np.maximum(self.end - first, 0) // words_each
        too_many = count > room.astype(np.uint64)
        if too_many.any():
            self.bad |= too_many
            count = np.where(too_many, np.uint64(0), count)
        lengths = count.astype(np.int64)
        self.advance(lengths * words_each)
        return first, lengths

    def advance(self, words: I64) -> None:
        """Step over a different number of words in every record; they must fit."""
        self._at = self._at + (words + self._step)
        self._step = 0
        self._room = self._shortest()

    def ragged(self, first: I64, lengths: I64) -> Ragged:
        """The words of an array that ``counted`` has found, copied together."""
        return Ragged(offsets_of(lengths), self.block.words.take(ranges(first, lengths)))

    def texts(self) -> list[str]:
        """What is left of each record as a string that ends at its first NUL (or with the record)."""
        return [raw.decode("utf-8", "surrogateescape") for raw in self.strings()]

    def strings(self) -> list[bytes]:
        """The same as bytes."""
        data = self.block.data
        return [
            data[start:stop].tobytes().split(b"\0", 1)[0]
            for start, stop in zip((self.at * 8).tolist(), self._stop.tolist(), strict=True)
        ]

    def _shortest(self) -> int:
        return int((self.end - self._at).min()) if len(self._at) else 1 << 30

    def _mark(self, count: int) -> None:
        self.bad |= self.end - self._at < self._step + count


def as_i32(column: U64) -> I32:
    """The low 32 bits as a signed number: pid −1 is 0xffffffff in the file."""
    low: npt.NDArray[np.uint32] = column.astype(np.uint32)
    return low.view(np.int32)
