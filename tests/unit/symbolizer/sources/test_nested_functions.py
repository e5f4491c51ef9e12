"""Functions without linkage names get the namespaces, classes and functions that their entries are nested in."""

import struct

from hypothesis import given, settings
from hypothesis import strategies as st

from perf2x.base.binaries.dwarf.address_lookup import MAX_NESTING, enclosing_names
from perf2x.base.binaries.dwarf.compilation_units import Unit
from perf2x.base.binaries.dwarf.source_locations import is_nameless_call_operator
from tests.support.examples import examples
from tests.unit.symbolizer.sources.test_damaged_debug_info import FIRST, by_hand, entry

ABBREVIATIONS = (
    b"\x01\x11\x01\x11\x01\x12\x06\x00\x00"  # unit: low_pc addr, high_pc data4
    b"\x02\x2e\x01\x01\x13\x03\x08\x00\x00"  # function: sibling ref4, name string
    b"\x03\x2e\x01\x03\x08\x00\x00"  # function: name string
    b"\x04\x13\x01\x01\x13\x00\x00"  # structure: sibling ref4
    b"\x05\x34\x00\x03\x08\x00\x00"  # variable: name string
    b"\x06\x39\x01\x03\x08\x00\x00"  # namespace: name string
    b"\x07\x13\x01\x03\x08\x00\x00"  # structure: name string
    b"\x00"
)
FUNCTIONS, STRUCTURE, NAMESPACE, CLASS = (2, 3), 4, 6, 7
Around = dict[int, list[tuple[int, str]]]
Tree = tuple[int, str, list["Tree"]]
"""(abbreviation, name, children)."""


def tree(names) -> st.SearchStrategy[Tree]:
    leaf = st.tuples(st.just(5), names, st.just([]))
    kinds = st.sampled_from([*FUNCTIONS, STRUCTURE, NAMESPACE, CLASS])
    return st.recursive(leaf, lambda inner: st.tuples(kinds, names, st.lists(inner, max_size=4)), max_leaves=12)


def written(node: Tree, at: int, around: list[tuple[int, str]], expected: Around) -> bytes:
    """The bytes of an entry at ``at`` of its unit; notes what is around it, innermost first."""
    kind, name, children = node
    expected[at] = around
    size = 1 + (4 if kind in (2, STRUCTURE) else 0) + (len(name) + 1 if kind != STRUCTURE else 0)
    inside = [(kind, name if kind != STRUCTURE else ""), *around]
    body = b""
    for child in children:
        body += written(child, at + size + len(body), inside, expected)
    if kind != 5:
        body += b"\0"
    sibling = struct.pack("<I", at + size + len(body)) if kind in (2, STRUCTURE) else b""
    text = name.encode() + b"\0" if kind != STRUCTURE else b""
    return bytes([kind]) + sibling + text + body


def unit_of(trees) -> tuple[Unit, Around]:
    expected: Around = {}
    at, parts = FIRST + len(entry(1, 0, 0)), []
    for node in trees:
        parts.append(written(node, at, [], expected))
        at += len(parts[-1])
    return by_hand(*parts, b"\0", abbreviations=ABBREVIATIONS), expected


@settings(max_examples=examples(80), deadline=None)
@given(
    st.lists(tree(st.sampled_from(["work", "main", "operator()", "operator()<int>", "<lambda(int)>", ""])), max_size=4),
    st.data(),
)
def test_functions_around_are_those_that_the_entries_were_written_in(trees, data) -> None:
    unit, expected = unit_of(trees)
    asked = data.draw(st.lists(st.sampled_from(sorted(expected)), unique=True) if expected else st.just([]))
    found = enclosing_names([(unit, at) for at in asked])
    assert found == {(unit, at): named(expected[at]) for at in asked}


def named(around: list[tuple[int, str]]) -> tuple[str, str]:
    """Scope and function, read one by one."""
    around = around[:MAX_NESTING]
    functions = [row for row, (kind, _) in enumerate(around) if kind in FUNCTIONS]
    inside = (around[row][1] for row in functions if around[row][1] and not is_nameless_call_operator(around[row][1]))
    names = [name or ("(anonymous namespace)" if kind == NAMESPACE else "") for kind, name in around]
    scope = names[: functions[0]] if functions else names
    is_lambda = bool(scope) and (not scope[0] or scope[0].startswith("<lambda"))
    return "" if is_lambda else "::".join(name for name in scope[::-1] if name), next(inside, "")


def test_places_where_no_entry_begins_are_left_out() -> None:
    unit, expected = unit_of([(2, "work", [(5, "x", [])])])
    first, second = sorted(expected)
    assert enclosing_names([(unit, second + 1), (unit, second), (unit, 1)]) == {(unit, second): ("", "work")}
    assert enclosing_names([(unit, first)]) == {(unit, first): ("", "")}


def nested(depth) -> list[tuple[Unit, int]]:
    """The entries of functions each inside the one before."""
    unit, start = by_hand(b"\3f\0" * depth, abbreviations=ABBREVIATIONS), FIRST + len(entry(1, 0, 0))
    return [(unit, start + 3 * row) for row in range(depth)]


def test_endless_nesting_ends_in_time() -> None:
    places = nested(30)
    assert [enclosing_names(places)[place][1] for place in places] == ["", *["f"] * 29]
    assert enclosing_names(nested(6000)) == {}


def test_units_are_not_walked_over_and_over() -> None:
    places = nested(300)
    for _ in range(100):
        enclosing_names(places[:1])
    assert enclosing_names(places) == {}
