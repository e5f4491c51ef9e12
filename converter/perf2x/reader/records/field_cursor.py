"""Reads one field of many records at a time, so that decoders look like the comments in perf_event.h.

A decoder of {u64 id; u64 nr; u64 ips[nr];} for all n records of a block::

    cursor = FieldCursor(block)
    ids = cursor.u64()                                          (n,) ids
    first_word, lengths = cursor.array_extents(cursor.u64())    (n,) where each record's array begins, and its length
    chains = cursor.copy_arrays(first_word, lengths)            the arrays themselves, as a list array

A record that ends too early is marked in ``is_malformed``. Its later values are meaningless; callers drop marked rows
at the end. Nothing is read outside the block.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from perf2x.base.columnar import I32, I64, U64, Bools, DictionaryColumn, ListArray, falses, offsets_of, ranges, take
from perf2x.reader.record_block import Block

_LOW_32 = np.uint64(0xFFFFFFFF)
_SHIFT_32 = np.uint64(32)
_WORDS_PER_ENTRY = {"words": 1, "pairs": 2}
_NO_RECORDS = 1 << 30  # value of _min_words in an empty block


class FieldCursor:
    """Points to the same field of every record in a block."""

    def __init__(self, block: Block, trailer_words: int = 0) -> None:
        self.block = block
        self.start = block.starts  # (n,) index in the block's words of each record's header
        self.end = block.starts + ((block.sizes >> 3) - trailer_words)
        """(n,) end of each record's fields, as an index in the block's words."""
        self._trailer_bytes = trailer_words * 8
        self._is_little_endian = block.byte_order == "<"
        # The next word of record i is _base[i] + _words_past_base. Fields of fixed size change only
        # _words_past_base. Arrays, whose lengths differ between records, replace _base.
        self._base = block.starts
        self._words_past_base = 1
        self._min_words = (int(block.sizes.min()) >> 3) - trailer_words if len(block.sizes) else _NO_RECORDS
        """The smallest number of words, over all records, from ``_base`` to the record's end; −1: not computed yet."""
        self.is_malformed: Bools = falses(len(self.start)) if self._min_words > 0 else self.end <= self.start
        self.is_unreadable: Bools | None = None
        """(n,) complete records whose remaining fields cannot be read (``skip_to_end``); None if there are none."""

    def __len__(self) -> int:
        return len(self.start)

    @property
    def word_index(self) -> I64:
        """(n,) index in the block's words of each record's next word."""
        return self._base + self._words_past_base

    def u64(self) -> U64:
        """Read the next u64, (n,); 0 in rows of ``is_unreadable``."""
        words = self.block.words[self._words_past_base :]
        self.skip(1)
        if not len(words):
            return np.zeros(len(self), np.uint64)
        column: U64 = take(words, self._base, mode="clip")
        if self.is_unreadable is not None:
            column[self.is_unreadable] = 0
        return column

    def peek(self) -> U64:
        """Read the next word, (n,), without advancing."""
        column = self.u64()
        self._words_past_base -= 1
        return column

    def step_back(self, rows: Bools) -> None:
        """Move back by one word where ``rows`` (n,) holds."""
        self._base = self._base - rows

    def skip(self, count: int) -> None:
        """Skip ``count`` words of every record."""
        if self._words_past_base + count > self._min_words:
            self._mark_records_without_next(count)
        self._words_past_base += count

    def u32_pair(self) -> tuple[U64, U64]:
        """Read two u32 that share a word: two columns (n,)."""
        return self.split(self.u64())

    def i32_pair(self) -> tuple[I32, I32]:
        """Read two i32 that share a word: two columns (n,)."""
        word = self.u64()
        low, high = as_i32(word), as_i32(word >> _SHIFT_32)
        return (low, high) if self._is_little_endian else (high, low)

    def i32(self) -> I32:
        """Read the first of two i32 that share a word, (n,); skip the other."""
        word = self.u64()
        return as_i32(word if self._is_little_endian else word >> _SHIFT_32)

    def has_misc(self, bits: int) -> Bools:
        """Return (n,) whether header.misc has all of these bits."""
        flag: Bools = (self.block.misc & np.uint16(bits)) == bits
        return flag

    def fields(self, layout: str) -> dict[str, Any]:
        """Read fields as columns by name, in the order of ``layout``: ``pid/tid:i start:Q chain:words comm:text``.

        - ``first/second:i``: two i32 that share a word
        - ``start:Q``: a u64; of two names, ``id/owner_id:Q``, both get the same column
        - ``chain:words``: a u64 count, and that many words; ``links:pairs``: twice as many words
        - ``comm:text``: the rest of the record, up to the first NUL
        - ``is_exec:8192``: whether these bits of header.misc are set; nothing is read
        - ``is_unthrottle:yes``, ``is_unthrottle:no``: True or False in every row; nothing is read
        """
        columns: dict[str, Any] = {}
        for names, code in (field.split(":") for field in layout.split()):
            if code == "i":
                first, second = names.split("/")
                columns[first], columns[second] = self.i32_pair()
            elif code == "Q":
                columns |= dict.fromkeys(names.split("/"), self.u64())
            elif code in _WORDS_PER_ENTRY:
                first_word, count = self.array_extents(self.u64(), _WORDS_PER_ENTRY[code])
                columns[names] = self.copy_arrays(first_word, count * _WORDS_PER_ENTRY[code])
            elif code == "text":
                columns[names] = self.remaining_text()
            else:
                columns[names] = (
                    self.has_misc(int(code)) if code.isdecimal() else np.full(len(self), code == "yes", np.bool_)
                )
        return columns

    def split(self, word: U64) -> tuple[U64, U64]:
        """Split words into two u32, in the order of the struct."""
        low, high = word & _LOW_32, word >> _SHIFT_32
        return (low, high) if self._is_little_endian else (high, low)

    def split_u16(self, half: U64) -> tuple[U64, U64]:
        """Split u32 from ``split`` into two u16, in the order of the struct."""
        low, high = half & np.uint64(0xFFFF), half >> np.uint64(16)
        return (low, high) if self._is_little_endian else (high, low)

    def array_extents(self, count: U64, words_per_entry: int = 1) -> tuple[I64, I64]:
        """Return (n,) first word and (n,) length, in entries, of arrays of ``count`` (n,) entries; skip the arrays.

        A count that does not fit makes the row malformed, and becomes 0.
        """
        first_word = self.word_index
        available = np.maximum(self.end - first_word, 0)
        if words_per_entry > 1:
            available //= words_per_entry
        too_many = count > available.view(np.uint64)
        if too_many.any():
            self.is_malformed |= too_many
            count = np.where(too_many, np.uint64(0), count)
        lengths = count.view(np.int64)
        self._base = first_word + (lengths * words_per_entry if words_per_entry > 1 else lengths)
        self._words_past_base, self._min_words = 0, -1
        return first_word, lengths

    def skip_to_end(self, rows: Bools) -> None:
        """Skip to the end of the records where ``rows`` (n,) holds; their later fields read as 0."""
        rows = rows & ~self.is_malformed
        if rows.any():
            self.is_unreadable = rows if self.is_unreadable is None else self.is_unreadable | rows
            self._base, self._words_past_base, self._min_words = np.where(rows, self.end, self.word_index), 0, -1

    @property
    def is_complete(self) -> Bools:
        """(n,) whether each record contains all fields read so far, unreadable ones included."""
        return ~self.is_malformed if self.is_unreadable is None else ~self.is_malformed | self.is_unreadable

    def copy_arrays(self, first_word: I64, lengths: I64) -> ListArray:
        """Copy (n,) arrays of ``lengths`` words, each from ``first_word`` on."""
        return ListArray(offsets_of(lengths), take(self.block.words, ranges(first_word, lengths), mode="clip"))

    def remaining_text(self) -> DictionaryColumn[str]:
        """Read the rest of each record as text, up to its first NUL."""
        return self.remaining_bytes().mapped(lambda raw: raw.decode("utf-8", "surrogateescape"))

    def remaining_bytes(self) -> DictionaryColumn[bytes]:
        """Read the rest of each record as bytes, up to its first NUL."""
        starts = self.word_index * 8
        stops = np.maximum(starts, self.start * 8 + (self.block.sizes - self._trailer_bytes))
        # slices of bytes are much quicker to make than slices of an array
        first_byte = int(starts.min(initial=len(self.block.data)))
        data = self.block.data[first_byte : int(stops.max(initial=0))].tobytes()
        slices = map(slice, (starts - first_byte).tolist(), (stops - first_byte).tolist())
        return DictionaryColumn.of(map(data.__getitem__, slices)).mapped(lambda raw: raw.partition(b"\0")[0])

    def _mark_records_without_next(self, count: int) -> None:
        if self._min_words < 0:
            self._min_words = int((self.end - self._base).min()) if len(self._base) else _NO_RECORDS
        if self._words_past_base + count > self._min_words:
            self.is_malformed |= self.end - self._base < self._words_past_base + count


def as_i32(column: U64) -> I32:
    """Return the low 32 bits as signed numbers: pid −1 is 0xffffffff in the file."""
    low: npt.NDArray[np.uint32] = column.astype(np.uint32)
    return low.view(np.int32)
