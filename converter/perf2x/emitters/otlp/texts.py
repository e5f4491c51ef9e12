"""The table of texts, which all others refer to."""

from collections.abc import Sequence

import numpy as np

from perf2x.base.columnar.arrays import I64, AnyArray
from perf2x.base.columnar.unique import unique_inverse
from perf2x.model.printable_text import printable


class Texts:
    """Distinct texts in the order in which they were added; number 0 is the empty one, which means "not set"."""

    def __init__(self) -> None:
        self._numbers = {"": 0}

    def add(self, text: str) -> int:
        """Return the number of a text."""
        return self._numbers.setdefault(printable(text), len(self._numbers))

    def add_rows(self, texts: Sequence[str], rows: AnyArray) -> I64:
        """Return (n,) the numbers of the texts in (n,) rows; texts in no row are not added."""
        used, place = unique_inverse(rows.astype(np.int64))
        return np.array([self.add(texts[row]) for row in used.tolist()], np.int64)[place]

    def listed(self) -> list[str]:
        """Return all texts, the empty one first."""
        return list(self._numbers)
