"""Ids of recordings, places and nodes are hashes of their contents, and equal ids of different contents are noticed."""

from hashlib import blake2b
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perf2x.base.errors import FormatError
from perf2x.storage.dataset.content_ids import (
    WIDTH,
    as_rows,
    columns_at,
    distinct_ids,
    node_ids,
    place_ids,
    recording_id,
    text_id,
)


def scalar_node(parents: list[int], places: list[bytes], row: int) -> bytes:
    above = scalar_node(parents, places, parents[row]) if parents[row] >= 0 else bytes(WIDTH)
    return blake2b(above + places[row], digest_size=WIDTH).digest()


@st.composite
def trees(draw: st.DrawFn) -> tuple[list[int], list[bytes]]:
    count = draw(st.integers(0, 12))
    parents = [draw(st.integers(-1, row - 1)) for row in range(count)]
    return parents, [draw(st.binary(min_size=WIDTH, max_size=WIDTH)) for _ in range(count)]


@given(trees())
def test_a_node_hashes_its_parent_and_its_place(tree: tuple[list[int], list[bytes]]) -> None:
    parents, places = tree
    found = node_ids(np.array(parents, np.int64), as_rows(places), np.arange(len(places)))
    assert [row.tobytes() for row in found] == [scalar_node(parents, places, row) for row in range(len(parents))]


def test_every_column_of_a_place_counts() -> None:
    objects, zero = as_rows([bytes(16)]), np.zeros(1, np.uint64)
    one = np.ones(1, np.uint64)
    ids = [
        place_ids(as_rows([bytes(15) + b"\1"]), zero, zero.astype(np.uint8), zero, zero),
        place_ids(objects, one, zero.astype(np.uint8), zero, zero),
        place_ids(objects, zero, one.astype(np.uint8), zero, zero),
        place_ids(objects, zero, zero.astype(np.uint8), one, zero),
        place_ids(objects, zero, zero.astype(np.uint8), zero, one),
        place_ids(objects, zero, zero.astype(np.uint8), zero, zero),
    ]
    assert len({row.tobytes() for row in ids}) == 6


def test_ids_do_not_depend_on_the_machine() -> None:
    place = place_ids(
        as_rows([text_id("file", "ab")]), np.array([0x1234], np.uint64), np.array([2], np.uint8), [1], [0]
    )
    assert place.tobytes().hex() == "496a9ecae613f0691e7120e005c715bc"
    assert node_ids(np.array([-1]), place, np.zeros(1, np.int64)).tobytes().hex() == "4b2c18cbf1f5f1f8e8e7f98db3e7e315"


def test_facts_are_told_apart_by_their_borders_and_types() -> None:
    assert len({text_id(*facts) for facts in (("ab", "c"), ("a", "bc"), ("abc",), (b"abc",), (1, "1"), ("1", 1))}) == 6


def test_equal_ids_of_equal_contents_are_one() -> None:
    ids = as_rows([b"b" * 16, b"a" * 16, b"b" * 16])
    assert distinct_ids(ids, columns_at(np.array([7, 8, 7]))).tolist() == [1, 0]


def test_equal_ids_of_different_contents_are_refused() -> None:
    with pytest.raises(FormatError, match="one id"):
        distinct_ids(as_rows([b"a" * 16] * 2), columns_at(np.array([7, 8])))


def test_a_recording_is_known_by_its_bytes(tmp_path: Path) -> None:
    one, same, other = (tmp_path / name for name in ("one", "same", "other"))
    one.write_bytes(b"12")
    same.write_bytes(b"12")
    other.write_bytes(b"21")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "data").write_bytes(b"12")
    assert recording_id([one]) == recording_id([same]) == recording_id([tmp_path / "folder"])
    assert recording_id([one]) != recording_id([other])
    assert recording_id([one, other]) == recording_id([other, one])
