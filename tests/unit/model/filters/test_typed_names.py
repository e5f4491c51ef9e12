"""Names of functions as people type them."""

import time

import pytest

from perf2x.errors import OptionError
from perf2x.model.filters.profile_filters import Names
from perf2x.model.filters.unmatched_filters import means_function, no_such_message

FOUND = "text::SlowTable::find_or_insert"
OPERATORS = ("operator==", "operator<", "operator<<", "operator->", "operator<=>", "operator()", "operator[]")


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("find_or_insert", FOUND),
        ("SlowTable::find_or_insert", FOUND),
        ("::text::SlowTable::find_or_insert", FOUND),
        ("text::SlowTable::find_or_insert(std::string const&)", FOUND),
        ("find_or_insert(std::string const&) const", FOUND),
        ("find_or_insert", "text::Table<std::map<int, int>, 3>::find_or_insert<…>(int (*)(int), long) const"),
        ("Table<int>::find_or_insert", "text::Table<…>::find_or_insert"),
        ("Table::insert", "text::Table<std::map<int, int>, 3>::insert"),
        ("worker(int, int)", "worker"),
        ("memcmp", "memcmp@plt"),
        ("compute", "compute.constprop.0.isra.0"),
        ("compute", "compute.cold"),
        ("slowCount", "main.slowCount"),
        ("Handler.Serve", "example.org/web/Handler.Serve"),
        ("parse", "<app::Json as app::Parser>::parse"),
        *((name, name) for name in OPERATORS),
        *((name, f"std::{name} <…>") for name in OPERATORS),
        *((f"std::{name}", f"std::{name}(A const&, B const&)") for name in OPERATORS),
    ],
)
def test_a_name_as_typed_means(typed: str, name: str) -> None:
    assert means_function(typed, name)
    assert Names("function", ["other", name]).matching([typed]) == {1}


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("insert", FOUND),
        ("FastTable::find_or_insert", FOUND),
        ("Word", "text::Word::~Word"),
        ("operator=", "text::operator=="),
        ("==", "text::operator=="),
        ("operator<", "text::operator<<"),
        ("", "text::operator=="),
        ("(int)", "main(int)"),
        ("text", FOUND),
    ],
)
def test_another_function_is_not_meant(typed: str, name: str) -> None:
    assert not means_function(typed, name)
    with pytest.raises(OptionError, match="no function"):
        Names("function", [name]).matching([typed])


def test_an_exact_name_is_not_guessed_at() -> None:
    assert Names("function", ["a::run", "run", "run.cold"]).matching(["run"]) == {1}
    assert Names("object", ["a/run"]).kind == "object"
    with pytest.raises(OptionError, match="no object"):
        Names("object", ["main.run"]).matching(["run"])


@pytest.mark.parametrize(
    "name", ["<" * 50_000, "<" * 25_000 + ">" * 25_000, "(" * 50_000, "(" + "()" * 25_000, ".cold" * 4000 + "x"]
)
def test_no_name_takes_long(name: str) -> None:
    start = time.process_time()
    means_function("main", name)
    assert time.process_time() - start < 2


def test_close_names_come_with_what_there_is() -> None:
    known = ["memcpy", FOUND, "other::find_or_insert", *(f"f{number}" for number in range(9))]
    assert no_such_message("function", "find_or_insrt", known).startswith(
        f"no function 'find_or_insrt'; did you mean {FOUND} or other::find_or_insert? The file has: memcpy, {FOUND}, "
    )
    assert (
        no_such_message("event", "cycle", ["cycles:P"])
        == "no event 'cycle'; did you mean cycles:P? The file has: cycles:P"
    )
    assert no_such_message("object", "lic", ["/lib/libc.so.6"], "the recording OLD has") == (
        "no object 'lic'; the recording OLD has: /lib/libc.so.6"
    )
    assert no_such_message("pid", 5, []) == "no pid 5; the file has: none"
