"""Columns of texts are what lists of texts are."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from perf2x.base.columnar.dictionary_column import DictionaryColumn
from perf2x.base.columnar.list_array import join_columns

LISTS = st.lists(st.sampled_from(["", "a", "b", "B", "ab", "\udc80"]), max_size=12)


@given(LISTS, st.data())
def test_rows_are_those_of_a_list(texts: list[str], data: st.DataObject) -> None:
    column = DictionaryColumn.of(texts)
    assert (len(column), list(column), column.indices.dtype) == (len(texts), texts, np.int32)
    assert len(column.distinct) == len(set(texts))
    rows = data.draw(st.lists(st.integers(0, len(texts) - 1), max_size=9)) if texts else []
    assert list(column[np.array(rows, np.int64)]) == [texts[row] for row in rows]
    assert [column[row] for row in rows] == [texts[row] for row in rows]
    assert list(column[1:3]) == texts[1:3]


@given(LISTS, LISTS)
def test_texts_are_asked_and_changed(texts: list[str], others: list[str]) -> None:
    """Also where a column knows texts that no row has."""
    column = DictionaryColumn.of(others + texts)[len(others) :]
    assert column.which(lambda text: text.startswith("a")).tolist() == [text.startswith("a") for text in texts]
    changed = column.mapped(str.lower)
    assert list(changed) == [text.lower() for text in texts]
    assert len(set(changed.distinct)) == len(changed.distinct)
    ranks = column.ranks().tolist()
    assert sorted(range(len(texts)), key=ranks.__getitem__) == sorted(range(len(texts)), key=texts.__getitem__)
    assert len(set(ranks)) == len(set(texts))


@given(st.lists(LISTS, max_size=4))
def test_parts_are_joined(parts: list[list[str]]) -> None:
    columns = [DictionaryColumn.of(part) for part in parts]
    joined = DictionaryColumn.joined(columns)
    assert list(joined) == [text for part in parts for text in part]
    assert len(set(joined.distinct)) == len(joined.distinct)
    if parts:
        assert list(join_columns(columns)) == list(joined)
