"""Content-addressed ids: equal code has equal ids on all hosts, so tables of many recordings are joined by them.

An id is BLAKE2b of 128 bits (RFC 7693, ``hashlib``), of an object's facts, of a place's words, or of a node's two ids.
Recordings come from anywhere: a hash without cryptographic strength would let a file choose ids of others.

Finds ids among many others by their order: no hash table has to be made for each recording.
"""

from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path

import numpy as np

from perf2x.base.columnar.arrays import I64, U8, U64, AnyArray, Bools, flatnonzero, lexsort, searchsorted
from perf2x.base.columnar.unique import rows_by, sorted_runs
from perf2x.base.errors import FormatError
from perf2x.model.profile.stack_tree import depths

WIDTH = 16
"""Bytes of an id."""
_READ = 1 << 20
_AT_ONCE = 1 << 15
"""Rows that are hashed together: what they take as objects of Python."""
_ORDERED = 1 << 17
"""Rows that are put in order together, about."""
Contents = Callable[[I64], Sequence[AnyArray]]
"""Columns of some rows."""
_PLACE = np.dtype([("object", "u1", WIDTH), ("offset", "<u8"), ("mode", "u1"), ("is_return", "u1"), ("variant", "<u4")])


def text_id(*facts: bytes | str | int) -> bytes:
    """Hash a few facts, each with its type and its length in front of it, so that no two lists look alike."""
    digest = blake2b(digest_size=WIDTH)
    for fact in facts:
        raw = fact if isinstance(fact, bytes) else str(fact).encode("utf-8", "surrogateescape")
        digest.update(f"{type(fact).__name__}:{len(raw)}:".encode() + raw)
    return digest.digest()


def recording_id(files: Iterable[Path]) -> bytes:
    """Id of a recording: of the bytes of its files, in whatever order, and of those in its directories.

    OSError when one cannot be read.
    """
    digests = sorted(_file_digest(one) for path in files for one in _files_of(path))
    return text_id("recording", *digests)


def _files_of(path: Path) -> list[Path]:
    return sorted(one for one in path.rglob("*") if one.is_file()) if path.is_dir() else [path]


def _file_digest(path: Path) -> bytes:
    digest = blake2b(digest_size=WIDTH)
    with path.open("rb") as file:
        while block := file.read(_READ):
            digest.update(block)
    return digest.digest()


def place_ids(objects: U8, offset: U64, mode: U8, is_return: AnyArray, variant: AnyArray) -> U8:
    """(n, 16) ids of places; ``objects`` (n, 16) are the ids of their objects."""
    rows = np.zeros(len(offset), _PLACE)
    rows["object"], rows["offset"], rows["mode"] = objects, offset, mode
    rows["is_return"], rows["variant"] = is_return, variant
    return _hash_rows(rows.view(np.uint8).reshape(len(rows), _PLACE.itemsize))


def node_ids(parent: AnyArray, places: U8, place: AnyArray) -> U8:
    """(n, 16) ids of the nodes of a prefix tree, level by level; ``place`` (n,) are their rows of ``places`` (…, 16).

    A parent (−1: none, hashed as zeros) may stand in any row.
    """
    ids = np.zeros((len(parent) + 1, WIDTH), np.uint8)  # the last one serves −1
    for _, rows in rows_by(depths(parent)):
        ids[rows] = _hash_rows(np.concatenate([ids[parent[rows]], places[place[rows]]], axis=1))
    return ids[:-1]


def _hash_rows(rows: U8) -> U8:
    """(n, 16) the hash of each row of (n, width) bytes: one call a distinct place or node."""
    width, ids = rows.shape[1], np.empty((len(rows), WIDTH), np.uint8)
    for first in range(0, len(rows), _AT_ONCE):
        data = rows[first : first + _AT_ONCE].tobytes()
        spans = range(0, len(data), width)
        hashes = [blake2b(data[at : at + width], digest_size=WIDTH).digest() for at in spans]
        ids[first : first + _AT_ONCE] = as_rows(hashes)
    return ids


def as_rows(ids: Sequence[bytes]) -> U8:
    """(n, 16) bytes of a list of ids."""
    return np.frombuffer(b"".join(ids), np.uint8).reshape(-1, WIDTH)


def distinct_ids(ids: U8, contents: Contents = lambda rows: ()) -> I64:
    """Rows with distinct ids (n, 16), in the order of the ids; FormatError when equal ids have different contents.

    Some at a time, by their first bytes: they may be those of all addresses of a file.
    """
    first, found = ids[:, 0].copy(), [np.zeros(0, np.int64)]
    steps = np.linspace(0, 256, min(len(ids) // _ORDERED, 255) + 2).astype(np.int64)
    for begin, end in pairwise(steps.tolist()):
        rows = flatnonzero((first >= begin) & (first < end))
        order, starts = id_order(ids[rows])
        order = rows[order]
        repeats = flatnonzero(~starts)
        for column, other in zip(contents(order[repeats]), contents(order[repeats - 1]), strict=True):
            if (column != other).any():
                raise FormatError("two stacks or places have one id: they would be mixed up")
        found.append(order[starts])
    return np.concatenate(found)


def columns_at(*columns: AnyArray) -> Contents:
    """Make contents of whole columns."""
    return lambda rows: [column[rows] for column in columns]


def id_order(ids: U8) -> tuple[I64, Bools]:
    """(n,) rows in the order of their ids (n, 16), equal ones as they stand; and which of them begin another id."""
    order, begins = sorted_runs(id_halves(ids))
    starts = np.zeros(len(order), np.bool_)
    starts[begins] = True
    return order, starts


def id_halves(ids: U8) -> tuple[U64, U64]:
    """(n,) first and second halves of ids (n, 16) as numbers that compare as their bytes do."""
    words = np.ascontiguousarray(ids).view(">u8").reshape(len(ids), 2)
    return words[:, 0].astype(np.uint64), words[:, 1].astype(np.uint64)


class IdIndex:
    """Ids (n, 16); of equal ones the first is found."""

    def __init__(self, ids: U8) -> None:
        high, low = id_halves(ids)
        self._order = lexsort((low, high))
        self._high, self._low = high[self._order], low[self._order]

    def find(self, wanted: U8) -> I64:
        """(m,) row of each wanted id (m, 16), −1 for none."""
        high, low = id_halves(wanted)
        at = self._first_not_below(high, low)
        found = np.full(len(at), -1, np.int64)
        rows = flatnonzero(at < len(self._order))
        rows = rows[(self._high[at[rows]] == high[rows]) & (self._low[at[rows]] == low[rows])]
        found[rows] = self._order[at[rows]]
        return found

    def _first_not_below(self, high: U64, low: U64) -> I64:
        """(m,) place of each id in the order; among those that share its first half by halving what is left."""
        at, end = (searchsorted(self._high, high, side) for side in ("left", "right"))
        rows = flatnonzero(at < end)
        while len(rows):
            middle = (at[rows] + end[rows]) >> 1
            is_below = self._low[middle] < low[rows]
            at[rows[is_below]] = middle[is_below] + 1
            end[rows[~is_below]] = middle[~is_below]
            rows = rows[at[rows] < end[rows]]
        return at
