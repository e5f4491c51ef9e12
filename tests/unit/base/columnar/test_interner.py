import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from perf2x.base.columnar.interner import ListInterner, prefix_tree
from tests.support.ragged_rows import ragged_of

WORDS = st.one_of(st.integers(0, 3), st.integers(2**64 - 3, 2**64 - 1))
ROWS = st.lists(st.lists(WORDS, max_size=5), max_size=30)


@given(st.lists(ROWS, max_size=4))
def test_equal_chains_get_equal_numbers(batches: list[list[list[int]]]) -> None:
    table, numbers, seen = ListInterner(), [], []
    for rows in batches:
        ragged = ragged_of(rows)
        starts, lengths = ragged.offsets[:-1], ragged.lengths
        numbers += table.number_spans(ragged.values, starts, lengths).tolist()
        seen += [tuple(row) for row in rows]
    assert len(set(zip(numbers, seen, strict=True))) == len(set(numbers)) == len(set(seen)) == len(table)
    stored = [tuple(row.tolist()) for row in table.table().rows()]
    assert [stored[number] for number in numbers] == seen


@given(st.lists(st.lists(st.integers(0, 3), max_size=6), max_size=20))
def test_prefix_tree(rows: list[list[int]]) -> None:
    parent, item, leaf = prefix_tree(ragged_of(rows, np.int64))

    def path(node: int) -> list[int]:
        return [] if node < 0 else [*path(parent[node]), int(item[node])]

    assert [path(node) for node in leaf.tolist()] == rows
    assert all(parent[node] < node for node in range(len(parent)))
    nodes = list(zip(parent.tolist(), item.tolist(), strict=True))
    assert nodes == sorted(nodes)
    backwards = prefix_tree(ragged_of([row[::-1] for row in rows], np.int64), innermost_first=True)
    assert [column.tolist() for column in backwards] == [parent.tolist(), item.tolist(), leaf.tolist()]
    assert len(parent) == len({tuple(row[: end + 1]) for row in rows for end in range(len(row))})
