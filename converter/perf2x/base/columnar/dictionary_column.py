"""Columns of strings (str or bytes) with many equal values: names of programs and files, build ids."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar, overload

import numpy as np
from msgspec import Struct

from perf2x.base.columnar.arrays import I32, I64, Bools, take

T = TypeVar("T", str, bytes)
Other = TypeVar("Other", str, bytes)


class StringInterner(dict[T, int]):
    """Numbers strings from 0 in the order of first use: ``interner[string]`` adds a string that is new."""

    def __missing__(self, string: T) -> int:
        self[string] = number = len(self)
        return number

    def add_all(self, strings: Iterable[T]) -> I32:
        """Return (n,) int32: the number of each string."""
        return np.fromiter(map(self.__getitem__, strings), np.int32)

    def table(self) -> list[T]:
        """Return all strings in the order of their numbers."""
        return list(self)


class DictionaryColumn(Struct, Generic[T], frozen=True, eq=False):
    """A column of ``n`` strings: row i is ``distinct[indices[i]]``.

    ``distinct`` has each string once, and may have strings that no row uses.
    """

    indices: I32
    """(n,) indices into ``distinct``."""
    distinct: Sequence[T]

    @classmethod
    def of(cls, strings: Iterable[T]) -> "DictionaryColumn[T]":
        """Return a column of these strings."""
        interner = StringInterner[T]()
        return cls(interner.add_all(strings), interner.table())

    @classmethod
    def joined(cls, parts: "Sequence[DictionaryColumn[T]]") -> "DictionaryColumn[T]":
        """Return a column of the rows of every part, in order."""
        interner = StringInterner[T]()
        indices = [np.zeros(0, np.int32)]
        indices += [take(interner.add_all(part.distinct), part.indices) for part in parts]
        return cls(np.concatenate(indices), interner.table())

    def __len__(self) -> int:
        return len(self.indices)

    def __iter__(self) -> Iterator[T]:
        return map(self.distinct.__getitem__, self.indices.tolist())

    @overload
    def __getitem__(self, rows: int) -> T: ...
    @overload
    def __getitem__(self, rows: slice | I32 | I64 | Bools) -> "DictionaryColumn[T]": ...
    def __getitem__(self, rows: Any) -> Any:
        indices = self.indices[rows]
        return DictionaryColumn(indices, self.distinct) if isinstance(indices, np.ndarray) else self.distinct[indices]

    def which(self, test: Callable[[T], object]) -> Bools:
        """Return (n,) bool: whether ``test`` holds for each row; it is called once for each distinct string."""
        return np.array([bool(test(string)) for string in self.distinct], np.bool_)[self.indices]

    def mapped(self, function: Callable[[T], Other]) -> "DictionaryColumn[Other]":
        """Return a column with ``function`` applied to each string; different strings may become equal."""
        return DictionaryColumn.of(map(function, self.distinct))[self.indices]

    def ranks(self) -> I32:
        """Return (n,) int32: the position of each row's string among all distinct strings in sorted order."""
        order = sorted(range(len(self.distinct)), key=self.distinct.__getitem__)
        rank = np.empty(len(order), np.int32)
        rank[order] = np.arange(len(order), dtype=np.int32)
        return rank[self.indices]
