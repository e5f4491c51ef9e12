"""Text made of chunks that many rows share: each chunk is made once, and rows refer to it by number.

Chunks are kept in arrays of objects: numpy picks a million of them in a tenth of the time that a list takes.
"""

from collections.abc import Callable, Iterable

import numpy as np

from perf2x.base.columnar.arrays import AnyArray
from perf2x.base.columnar.unique import unique_inverse
from perf2x.emitters.encoding.decimal_text import decimal_cells, without_nulls


def chunk_array(texts: Iterable[bytes]) -> AnyArray:
    """Return (n,) chunks as an array of objects."""
    listed = texts if isinstance(texts, list) else list(texts)
    table = np.empty(len(listed), np.object_)
    table[:] = listed
    return table


def number_chunks(values: AnyArray, end: bytes = b"") -> AnyArray:
    """Return (n,) chunks: whole numbers as decimal texts, each followed by ``end``."""
    texts = without_nulls(decimal_cells(values, b"\n")).split(b"\n")[1:]
    return chunk_array([text + end for text in texts] if end else texts)


def shared_texts(values: AnyArray, text: Callable[[int], str]) -> AnyArray:
    """(n,) chunk of each value; each distinct one is made once."""
    found, place = unique_inverse(values)
    return chunk_array([text(value).encode() for value in found.tolist()])[place]


def interleaved(*columns: AnyArray) -> bytes:
    """Join equally long columns of chunks row by row."""
    flat = [b""] * (len(columns) * len(columns[0]))
    for place, column in enumerate(columns):
        flat[place :: len(columns)] = column.tolist()
    return b"".join(flat)
