"""Columns of texts with many equal values: names of programs and files, build ids."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar, overload

import numpy as np
from msgspec import Struct

from perf2x.base.columnar.arrays import I32, I64, Bools, take

T = TypeVar("T", str, bytes)
Other = TypeVar("Other", str, bytes)


class TextInterner(dict[T, int]):
    """Numbers texts from 0 in the order of first use."""

    def __missing__(self, text: T) -> int:
        self[text] = number = len(self)
        return number

    def add_all(self, texts: Iterable[T]) -> I32:
        """Return (n,) int32: the number of each text."""
        return np.fromiter(map(self.__getitem__, texts), np.int32)

    def table(self) -> list[T]:
        """Return all texts in the order of their numbers."""
        return list(self)


class DictionaryColumn(Struct, Generic[T], frozen=True, eq=False):
    """A column of ``n`` texts: row i is ``distinct[number[i]]``.

    ``distinct`` has each text once, and may have texts that no row uses. A function of the text alone is computed once
    for each distinct text, however many rows there are. Shapes: ``number`` (n,) int32.
    """

    number: I32
    distinct: Sequence[T]

    @classmethod
    def of(cls, texts: Iterable[T]) -> "DictionaryColumn[T]":
        """Return a column of these texts."""
        interner = TextInterner[T]()
        return cls(interner.add_all(texts), interner.table())

    @classmethod
    def joined(cls, parts: "Sequence[DictionaryColumn[T]]") -> "DictionaryColumn[T]":
        """Return a column of the rows of every part, in order."""
        interner = TextInterner[T]()
        numbers = [np.zeros(0, np.int32)]
        numbers += [take(interner.add_all(part.distinct), part.number) for part in parts]
        return cls(np.concatenate(numbers), interner.table())

    def __len__(self) -> int:
        return len(self.number)

    def __iter__(self) -> Iterator[T]:
        return map(self.distinct.__getitem__, self.number.tolist())

    @overload
    def __getitem__(self, rows: int) -> T: ...
    @overload
    def __getitem__(self, rows: slice | I32 | I64 | Bools) -> "DictionaryColumn[T]": ...
    def __getitem__(self, rows: Any) -> Any:
        chosen = self.number[rows]
        return DictionaryColumn(chosen, self.distinct) if isinstance(chosen, np.ndarray) else self.distinct[chosen]

    def which(self, test: Callable[[T], object]) -> Bools:
        """Return (n,) bool: whether ``test`` holds for the text of each row."""
        return np.array([bool(test(text)) for text in self.distinct], np.bool_)[self.number]

    def changed(self, change: Callable[[T], Other]) -> "DictionaryColumn[Other]":
        """Return a column with ``change`` applied to each text; different texts may become equal."""
        return DictionaryColumn.of(map(change, self.distinct))[self.number]

    def ranks(self) -> I32:
        """Return (n,) int32: the position of each text among all distinct ones in sorted order."""
        order = sorted(range(len(self.distinct)), key=self.distinct.__getitem__)
        rank = np.empty(len(order), np.int32)
        rank[order] = np.arange(len(order), dtype=np.int32)
        return rank[self.number]
