"""The symbol index agrees with perf's algorithm, written down symbol by symbol."""

import itertools
from dataclasses import dataclass

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from perf2x.base.columnar.unique import argsort_rows, unique_inverse, unique_known
from perf2x.symbolizer.symbols_by_address import SymbolColumns, SymbolIndex
from tests.support.examples import examples

FUNC, NOTYPE, LOCAL, GLOBAL, WEAK = 2, 0, 0, 1, 2


@dataclass
class Symbol:
    start: int
    end: int
    type: int
    binding: int
    name: str


def columns(symbols) -> SymbolColumns:
    return SymbolColumns(
        np.array([s.start for s in symbols], np.uint64),
        np.array([s.end for s in symbols], np.uint64),
        np.array([s.type for s in symbols], np.uint8),
        np.array([s.binding for s in symbols], np.uint8),
        lambda row: symbols[row].name,
    )


def find(symbols, *addresses) -> list[str | None]:
    rows = SymbolIndex(columns(symbols)).find(np.array(addresses, np.uint64))
    return [symbols[row].name if row >= 0 else None for row in rows]


def scalar_find(symbols, address) -> str | None:
    """tools/perf/util/symbol.c: fixup_end, fixup_duplicate, then the nearest symbol that holds the address."""
    tree = [
        Symbol(s.start, max(s.end, s.start), s.type, s.binding, s.name) for s in sorted(symbols, key=lambda s: s.start)
    ]
    tree = [s for s in tree if not is_inner_label(s, tree)]
    for previous, current in itertools.pairwise(tree):
        if previous.end == previous.start:
            previous.end = current.start
    if tree and tree[-1].end == tree[-1].start:
        tree[-1].end = -(-tree[-1].start // 4096) * 4096 + 4096
    kept = []
    for symbol in tree:
        if kept and kept[-1].start == symbol.start:
            if not first_is_best(kept[-1], symbol):
                kept[-1] = symbol
        else:
            kept.append(symbol)
    for symbol in reversed(kept):
        if symbol.start <= address and (address < symbol.end or address == symbol.start):
            return symbol.name
    return None


def is_inner_label(symbol, others) -> bool:
    """Ours, not perf's: perf finds the label or the function around it, as its tree happens to lie."""
    around = any(o.type != NOTYPE and o.start <= symbol.start < o.end for o in others)
    return symbol.type == NOTYPE and symbol.start == symbol.end and around


def first_is_best(a, b) -> bool:
    if (a.end > a.start) != (b.end > b.start):
        return a.end > a.start
    if a.type != b.type and NOTYPE in (a.type, b.type):
        return b.type == NOTYPE
    if (a.binding == WEAK) != (b.binding == WEAK):
        return b.binding == WEAK
    if (a.binding == GLOBAL) != (b.binding == GLOBAL):
        return a.binding == GLOBAL
    underscores = [len(s.name) - len(s.name.lstrip("_")) for s in (a, b)]
    if underscores[0] != underscores[1]:
        return underscores[0] < underscores[1]
    if len(a.name) != len(b.name):
        return len(a.name) > len(b.name)
    return not a.name.startswith(("SyS", "compat_SyS"))


@st.composite
def tables(draw) -> list[Symbol]:
    """Symbols of one start have one size, so that it does not matter which of them is judged first."""
    sizes = draw(st.lists(st.integers(0, 40), min_size=60, max_size=60))
    row = st.tuples(st.integers(0, 59), st.sampled_from([FUNC, NOTYPE, 1]), st.sampled_from([LOCAL, GLOBAL, WEAK]))
    names = st.sampled_from(["a", "_a", "__a", "bb", "_bb", "SyS_c", "sys_cc", "ccc"])
    rows = draw(st.lists(st.tuples(row, names), max_size=30))
    return [Symbol(s, s + sizes[s], kind, binding, name) for (s, kind, binding), name in rows]


@settings(max_examples=examples(400))
@given(tables(), st.lists(st.integers(0, 9000), min_size=1, max_size=20))
def test_agrees_with_perfs_algorithm(symbols, addresses) -> None:
    addresses = addresses + [a % 110 for a in addresses]
    assert find(symbols, *addresses) == [scalar_find(symbols, a) for a in addresses]


def test_a_symbol_without_size_reaches_to_the_next_one() -> None:
    symbols = [Symbol(0x1000, 0x1000, FUNC, GLOBAL, "start"), Symbol(0x1080, 0x1090, FUNC, GLOBAL, "next")]
    assert find(symbols, 0xFFF, 0x1000, 0x107F, 0x1080, 0x108F, 0x1090) == [
        None,
        "start",
        "start",
        "next",
        "next",
        None,
    ]


def test_the_last_symbol_without_size_reaches_to_the_end_of_the_next_page() -> None:
    symbols = [Symbol(0x1001, 0x1001, FUNC, GLOBAL, "last")]
    assert find(symbols, 0x2FFF, 0x3000) == ["last", None]


def test_ties_are_decided_as_perf_does() -> None:
    def pair(*symbols) -> str | None:
        return find([Symbol(8, 16, *symbol) for symbol in symbols], 9)[0]

    assert pair((FUNC, WEAK, "weak_one"), (FUNC, LOCAL, "loc")) == "loc"
    assert pair((FUNC, LOCAL, "loc"), (FUNC, GLOBAL, "glob")) == "glob"
    assert pair((FUNC, GLOBAL, "__write"), (FUNC, GLOBAL, "write")) == "write"
    assert pair((FUNC, GLOBAL, "abc"), (FUNC, GLOBAL, "abcd")) == "abcd"
    assert pair((NOTYPE, GLOBAL, "label_long"), (FUNC, WEAK, "f")) == "f"
    assert pair((FUNC, GLOBAL, "SyS_abc"), (FUNC, GLOBAL, "sys_abc")) == "sys_abc"


def test_inner_symbol_wins_over_the_outer_one() -> None:
    symbols = [Symbol(0, 100, FUNC, GLOBAL, "outer"), Symbol(10, 20, FUNC, LOCAL, "inner")]
    assert find(symbols, 5, 15, 50, 100) == ["outer", "inner", "outer", None]


def test_the_end_of_an_inner_symbol_belongs_to_the_one_around_it() -> None:
    """An end is the first byte behind, at every depth."""
    nested = [(0, 100, "a"), (10, 90, "b"), (20, 80, "c"), (30, 40, "d")]
    symbols = [Symbol(start, end, FUNC, GLOBAL, name) for start, end, name in nested]
    assert find(symbols, 39, 40, 79, 80, 89, 90, 99, 100) == ["d", "c", "c", "b", "b", "a", "a", None]


def test_a_label_inside_a_function_is_not_a_function() -> None:
    symbols = [
        Symbol(0, 100, FUNC, GLOBAL, "stub"), Symbol(50, 50, NOTYPE, LOCAL, "label"),
        Symbol(120, 120, NOTYPE, LOCAL, "_start"), Symbol(130, 130, NOTYPE, LOCAL, "_dl_start_user"),
    ]  # fmt: skip
    assert find(symbols, 60, 99, 110, 121, 131) == ["stub", "stub", None, "_start", "_dl_start_user"]


def test_addresses_of_the_upper_half_stay_exact() -> None:
    base = 0xFFFFFFFF81000000
    symbols = [Symbol(base, base + 1, FUNC, GLOBAL, "a"), Symbol(base + 1, base + 2, FUNC, GLOBAL, "b")]
    assert find(symbols, base, base + 1, base + 2, 2**64 - 1) == ["a", "b", None, None]


def test_many_nested_symbols_end_in_time() -> None:
    count = 5000  # the address lies in the outermost few only, deeper than anyone looks
    symbols = [Symbol(i, 3 * count - i, FUNC, GLOBAL, str(i)) for i in range(count)]
    assert find(symbols, 3 * count - 900) == [None]
    assert find(symbols, 2 * count + 1) == [str(count - 2)]


def test_an_empty_table_has_no_symbol_at_any_address() -> None:
    assert find([], 0, 5) == [None, None]


@given(st.lists(st.one_of(st.integers(0, 9), st.integers(2**63, 2**63 + 9), st.sampled_from([2**64 - 1, 2**61 - 1]))))
def test_addresses_may_be_in_any_order(addresses) -> None:
    """With low and high addresses together, address and row do not fit one word."""
    for few in (addresses, [address % 2**16 for address in addresses], [address | 2**63 for address in addresses]):
        assert argsort_rows([np.array(few, np.uint64)]).tolist() == sorted(range(len(few)), key=few.__getitem__)


@given(st.lists(st.integers(-3, 9)))
def test_distinct(numbers) -> None:
    for column in (numbers, sorted(numbers)):
        values, place = unique_inverse(np.array(column, np.int64))
        assert values.tolist() == sorted(set(column)) and values[place].tolist() == column


@given(st.lists(st.one_of(st.integers(0, 9), st.integers(2**64 - 9, 2**64 - 1))))
def test_distinct_addresses(addresses) -> None:
    values, place = unique_inverse(np.array(addresses, np.uint64))
    assert values.tolist() == sorted(set(addresses)) and values[place].tolist() == addresses


@given(st.lists(st.integers(-1, 9)))
def test_distinct_rows_that_are_known(numbers) -> None:
    values, place = unique_known(np.array(numbers, np.int64))
    assert values.tolist() == sorted({number for number in numbers if number >= 0})
    assert [int(values[at]) if at >= 0 else -1 for at in place] == numbers
