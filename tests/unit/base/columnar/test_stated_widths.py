"""numpy counts and numbers rows in the machine's width, which is 32 bits in a browser: the product states 64."""

import ast
import re
from pathlib import Path

import pytest

import perf2x

_PACKAGE = Path(perf2x.__file__).parent
_HELPERS = frozenset({"argsort", "bincount", "flatnonzero", "lexsort", "repeat", "searchsorted"})
"""Of `base/columnar/arrays.py`, in place of numpy's functions and methods of these names."""
_DTYPE_AT = {"arange": 3, "array": 1, "full": 2, "cumsum": 2}
"""The place of a dtype among arguments; without one Python's numbers and truths give the machine's width."""
_COUNTS = frozenset({"return_counts", "return_index", "return_inverse"})
_NAMES = _HELPERS | _DTYPE_AT.keys() | {"nonzero", "argwhere", "sum", "reduceat", "unique"}


def _is_bare(call: ast.Call, user: ast.AST | None) -> bool:
    """Whether a call gives or takes numbers of the machine's width; ``user`` is what the result is handed to."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in _NAMES:
        return False
    name, of_numpy = call.func.attr, ast.unparse(call.func.value) == "np"
    given, named = [ast.unparse(value) for value in call.args], {word.arg for word in call.keywords}
    handed_to = ast.unparse(user.func) if isinstance(user, ast.Call) else ""
    has_cast = any(value.startswith("as_intp(") for value in given[:2])
    if name in _HELPERS:  # int() gives a number of Python; numpy's weighted sums are floats
        is_weighted = name == "bincount" and has_cast and (len(given) > 1 or "weights" in named)
        return handed_to != "int" and not is_weighted
    if name in ("nonzero", "argwhere"):  # an array's own are for indices at once
        return of_numpy and handed_to not in ("np.array", "as_int32", "as_int64", "as_uint64")
    if name == "sum":
        return "dtype" not in named and (of_numpy or not given)
    return (
        (name == "reduceat" and not has_cast)
        or (name == "unique" and bool(named & _COUNTS))
        or (of_numpy and name in _DTYPE_AT and len(given) <= _DTYPE_AT[name] and "dtype" not in named)
    )


def _bare_calls(source: str) -> list[str]:
    found, user = [], dict[ast.AST, ast.AST]()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            user |= dict.fromkeys(ast.iter_child_nodes(node), node)
        if isinstance(node, ast.Call) and _is_bare(node, user.get(node)):
            found.append(f"line {node.lineno}: {ast.unparse(node)}")
    return found


def test_no_width_is_the_machines() -> None:
    """`arrays.py` has functions for all of these, and sums of Python's kind (`sum_of`)."""
    files = [path for path in _PACKAGE.rglob("*.py") if path.name != "arrays.py"]
    calls = re.compile(rf"\.({'|'.join(_NAMES)})\(")  # parsing all others takes as long
    sources = {str(path.relative_to(_PACKAGE)): path.read_text("utf-8") for path in files}
    found = {name: _bare_calls(source) for name, source in sources.items() if calls.search(source)}
    assert [f"{name}, {call}" for name, calls in found.items() for call in calls] == []


@pytest.mark.parametrize(
    "line",
    [
        "np.flatnonzero(held)",
        "values.argsort()",
        "np.searchsorted(ends, first)",
        "np.bincount(rows)",
        "np.bincount(rows, weights)",
        "np.repeat(values, counts)",
        "np.add.reduceat(values, begins)",
        "np.arange(4)",
        "np.arange(0, 4, 2)",
        "np.array([1])",
        "np.full(3, -1)",
        "np.cumsum(held)",
        "held.sum()",
        "np.sum(parts, axis=0)",
        "np.unique(values, return_inverse=True)",
        "np.nonzero(table)",
    ],
)  # fmt: skip
def test_a_bare_call_is_seen(line: str) -> None:
    assert _bare_calls(line)


@pytest.mark.parametrize(
    "line",
    [
        "flatnonzero(held)",
        "int(np.searchsorted(ends, first))",
        "np.bincount(as_intp(rows), weights)",
        "np.add.reduceat(values, as_intp(begins))",
        "np.arange(4, dtype=np.uint64)",
        "np.array([1], np.int64)",
        "np.cumsum(held, dtype=np.int32)",
        "table.sum(axis=1, dtype=np.int64)",
        "np.array(np.nonzero(table), np.int64)",
    ],
)  # fmt: skip
def test_a_stated_width_is_no_mistake(line: str) -> None:
    assert not _bare_calls(line)
