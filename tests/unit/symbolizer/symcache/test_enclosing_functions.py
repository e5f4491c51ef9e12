"""Lambdas without a name are called after the function that their lines stand in."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perf2x.symbolizer.symcache.first_lines import NOTHING
from perf2x.symbolizer.symcache.read_symcache import MAX_STEPS, Symcache, enclosing_functions
from tests.support.examples import examples

NAMES = ["", "work", "main", "operator()", "operator()<int>", "operator()" * 20, "_ZN" + "x" * 200, "operator(", "f"]


def strings() -> tuple[bytes, list[int]]:
    text, offsets = bytearray(b"\0"), []
    for name in NAMES:
        offsets.append(len(text))
        length = [len(name)] if len(name) < 0x80 else [len(name) & 0x7F | 0x80, len(name) >> 7]
        text += bytes(length) + name.encode()
    return bytes(text), offsets


TEXT, OFFSETS = strings()
UNNAMED = len(NAMES)


def columns(places) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Functions, locations and strings of a symcache; ``places`` are (name, file, line)."""
    offsets = [*OFFSETS, NOTHING]
    functions = np.array([[offset, 0, NOTHING, 0] for offset in offsets], np.uint32)
    locations = np.array([[file, line, name, NOTHING] for name, file, line in places], np.uint32).reshape(-1, 4)
    return functions, locations, np.frombuffer(TEXT, np.uint8)


def scalar_enclosing(places, file, line) -> set[int]:
    """The names of those that begin last before the line and end behind it, among the longest of each first line."""
    spans: dict[int, list[int]] = {}
    for name, where, at in places:
        usable = name < UNNAMED and NAMES[name] and not NAMES[name].startswith("operator()")
        if usable and where == file and 0 < at < NOTHING:
            spans.setdefault(name, []).append(at)
    starts = sorted({min(lines) for lines in spans.values() if min(lines) <= line}, reverse=True)
    for start in starts[:MAX_STEPS]:
        begun = {name: max(lines) for name, lines in spans.items() if min(lines) == start}
        longest = {name for name, end in begun.items() if end == max(begun.values())}
        if max(begun.values()) >= line:
            return {OFFSETS[name] for name in longest}
    return {NOTHING}


PLACES = st.lists(
    st.tuples(st.integers(0, UNNAMED + 1), st.integers(0, 2), st.integers(0, 12) | st.just(NOTHING)), max_size=25
)
QUERIES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 13)), max_size=6)


@settings(max_examples=examples(120))
@given(PLACES, QUERIES)
def test_lines_are_found_in_the_functions_that_a_loop_finds(places, queries) -> None:
    file, line = (np.array([query[i] for query in queries], np.int64) for i in (0, 1))
    found = enclosing_functions(columns(places), file, line).tolist()
    assert all(one in scalar_enclosing(places, *query) for one, query in zip(found, queries, strict=True))


def test_functions_side_by_side_are_not_all_tried() -> None:
    """Those in front that ended are passed, up to a bound."""
    for between, expected in ((MAX_STEPS - 1, 5), (MAX_STEPS, NOTHING)):
        functions = np.array([[OFFSETS[8], 0, 0, 0]] + [[OFFSETS[8] + 0, 0, 0, 0]] * between, np.uint32)
        text = TEXT + b"\1g" * between
        functions[1:, 0] = len(TEXT) + 2 * np.arange(between)
        lines = [(0, 1), (0, 1000), *((row + 1, row + 2) for row in range(between))]
        locations = np.array([[0, line, function, NOTHING] for function, line in lines], np.uint32)
        tables = functions, locations, np.frombuffer(text, np.uint8)
        found = enclosing_functions(tables, np.array([0]), np.array([900])).tolist()
        assert found == [OFFSETS[8] if expected == 5 else NOTHING]


@pytest.mark.parametrize(("line", "inside"), [(12, "work"), (16, ""), (19, "main")])
def test_a_nameless_call_operator_is_told_by_its_line(line, inside) -> None:
    """The example of the module: two lambdas inside functions, one between them."""
    functions, locations, text = columns([(1, 0, 10), (1, 0, 14), (2, 0, 18), (2, 0, 25), (3, 0, line)])
    path = np.array([[0, 0, 1, 0, 0, 0]], np.uint32)
    symcache = Symcache(path, functions, locations, np.array([0, 1, 2, 3, 0x10], np.uint32), text.data)
    found = symcache.find(np.array([0, 0x12], np.uint64))
    assert [(function.symbol, function.inside, at) for function, at in found.chain(1)] == [("operator()", inside, line)]
    assert found.chain(0)[0][0].inside == ""
