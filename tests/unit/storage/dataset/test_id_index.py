"""Ids are found as a dictionary finds them, also where halves of them are equal, and lines by their places."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perf2x.storage.dataset.content_ids import IdIndex, as_rows

pa = pytest.importorskip("pyarrow")

half = st.sampled_from([bytes(8), b"\xff" * 8, b"\0" * 7 + b"\1", b"\x80" + bytes(7), b"perf2x-a", b"perf2x-b"])
an_id = st.builds(bytes.__add__, half, half) | st.binary(min_size=16, max_size=16)


def rows(ids: list[bytes]) -> np.ndarray:
    return as_rows(ids) if ids else np.zeros((0, 16), np.uint8)


@given(st.lists(an_id), st.lists(an_id))
def test_the_first_of_equal_ids_is_found(known: list[bytes], others: list[bytes]) -> None:
    wanted = [*known, *others]
    first = {one: row for row, one in reversed(list(enumerate(known)))}
    assert IdIndex(rows(known)).find(rows(wanted)).tolist() == [first.get(one, -1) for one in wanted]


@given(st.lists(an_id), st.lists(an_id))
def test_lines_of_places_stay_in_order(named: list[bytes], places: list[bytes]) -> None:
    from perf2x.storage.dataset.arrow_columns import ids
    from perf2x.storage.dataset.read.read_dataset import LinesIndex

    places += named[::2]
    lines = pa.table({"place_id": ids(rows(named)), "line": list(range(len(named)))})
    found, place = LinesIndex(lines).of(rows(places))
    expected = [(row, places.index(one)) for row, one in enumerate(named) if one in places]
    assert list(zip(found["line"].to_pylist(), place.tolist(), strict=True)) == expected
