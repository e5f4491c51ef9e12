"""Rows of bytes as a table, for messages that hold texts."""

from collections.abc import Sequence

import numpy as np

from perf2x.base.columnar.ragged import Ragged, offsets_of


def octet_rows(texts: Sequence[bytes]) -> Ragged:
    """Return a table of uint8, one row for each text."""
    lengths = np.array([len(text) for text in texts], np.int64)
    return Ragged(offsets_of(lengths), np.frombuffer(b"".join(texts), np.uint8))
