import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from perf2x.model.growing import Growing
from perf2x.model.hashing import mix
from perf2x.model.intern import ChainTable, HashIndex, distinct_columns, first_alike, prefix_tree
from perf2x.model.ragged import ragged_of, ranges, side_by_side

WORDS = st.one_of(st.integers(0, 3), st.integers(2**64 - 3, 2**64 - 1))
ROWS = st.lists(st.lists(WORDS, max_size=5), max_size=30)


@given(st.lists(ROWS, max_size=4))
def test_equal_chains_get_equal_numbers(batches: list[list[list[int]]]) -> None:
    table, numbers, seen = ChainTable(), [], []
    for rows in batches:
        ragged = ragged_of(rows)
        starts, lengths = ragged.offsets[:-1], ragged.lengths
        numbers += table.number_spans(ragged.values, starts, lengths).tolist()
        seen += [tuple(row) for row in rows]
    assert len(set(zip(numbers, seen, strict=True))) == len(set(numbers)) == len(set(seen)) == len(table)
    stored = [tuple(row.tolist()) for row in table.table().rows()]
    assert [stored[number] for number in numbers] == seen


@given(st.lists(st.lists(st.integers(0, 2), min_size=2, max_size=2), max_size=40))
def test_colliding_hashes_are_told_apart(rows: list[list[int]]) -> None:
    """Every row has the same hash; only the comparison can tell them."""
    stored: list[int] = []

    def equal(mine: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        return np.array(
            [rows[row] == rows[stored[number]] for row, number in zip(mine, numbers, strict=True)], np.bool_
        )

    def add(fresh: np.ndarray) -> None:
        stored.extend(fresh.tolist())

    numbers = HashIndex().number(np.full(len(rows), 7, np.uint64), equal, add).tolist()
    assert [rows[stored[number]] for number in numbers] == rows
    assert len(set(numbers)) == len({tuple(row) for row in rows})


@given(st.lists(st.integers(0, 5), max_size=40), st.integers(1, 3))
def test_rows_that_are_alike_have_one_that_stands_for_them(rows: list[int], hashes: int) -> None:
    """Rows whose hashes collide may stay beside their equals, but never stand for another row."""
    values = np.array(rows, np.int64)
    kept, place = first_alike((values % hashes).astype(np.uint64), lambda mine, others: values[mine] == values[others])
    assert values[kept[place]].tolist() == rows
    assert kept.tolist() == sorted(set(kept.tolist()))
    if hashes == 1 or not rows:
        return
    exact, _ = first_alike(mix(values.astype(np.uint64)), lambda mine, others: values[mine] == values[others])
    assert exact.tolist() == sorted({row: index for index, row in reversed(list(enumerate(rows)))}.values())


@given(st.lists(st.tuples(st.integers(0, 2), WORDS), max_size=30))
def test_distinct_columns(rows: list[tuple[int, int]]) -> None:
    columns = [np.array([row[0] for row in rows], np.int64), np.array([row[1] for row in rows], np.uint64)]
    first, inverse = distinct_columns(columns)
    assert [rows[first[place]] for place in inverse] == rows
    assert len(first) == len(set(rows))


@given(st.lists(st.lists(st.integers(0, 3), max_size=6), max_size=20))
def test_prefix_tree(rows: list[list[int]]) -> None:
    parent, item, leaf = prefix_tree(ragged_of(rows, np.int64))

    def path(node: int) -> list[int]:
        return [] if node < 0 else [*path(parent[node]), int(item[node])]

    assert [path(node) for node in leaf.tolist()] == rows
    assert all(parent[node] < node for node in range(len(parent)))
    backwards = prefix_tree(ragged_of([row[::-1] for row in rows], np.int64), innermost_first=True)
    assert [column.tolist() for column in backwards] == [parent.tolist(), item.tolist(), leaf.tolist()]
    assert len(parent) == len({tuple(row[: end + 1]) for row in rows for end in range(len(row))})


@given(ROWS)
def test_ragged_rows(rows: list[list[int]]) -> None:
    ragged = ragged_of(rows)
    backwards = ragged_of([row[::-1] for row in rows])
    assert [row.tolist() for row in side_by_side([ragged, backwards]).rows()] == [row + row[::-1] for row in rows]
    assert ranges(ragged.offsets[:-1], ragged.lengths).tolist() == list(range(sum(map(len, rows))))


@given(st.lists(st.lists(st.integers(0, 2**12), max_size=800), max_size=5))
def test_an_index_numbers_as_a_dictionary_does(batches: list[list[int]]) -> None:
    """Hashes with few distinct bits, so that walks cross; numbers are dense and stay what they were."""
    index, stored, known = HashIndex(), Growing(np.int64), dict[int, int]()
    for batch in batches:
        values = np.array(batch, np.int64)

        def add(rows: np.ndarray, values: np.ndarray = values) -> np.ndarray:
            stored.extend(values[rows])
            return np.arange(len(stored) - len(rows), len(stored))

        def equal(rows: np.ndarray, numbers: np.ndarray, values: np.ndarray = values) -> np.ndarray:
            return np.asarray(values[rows] == stored[0][numbers])

        numbers = index.number((values >> 3).astype(np.uint64), equal, add).tolist()
        assert all(known.setdefault(value, number) == number for value, number in zip(batch, numbers, strict=True))
    assert sorted(known.values()) == list(range(len(known)))
