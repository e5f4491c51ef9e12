"""The command and the library write the same bytes, and refuse the same."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from perf2x import Filters, Grouping, Perf2xError, convert, read, write
from perf2x.base.installed_packages import entry_points_by_name
from perf2x.kernel.registry import EMITTERS
from tests.support.command import perf2x, recording

PAIRS: tuple[tuple[tuple[str, ...], Mapping[str, object]], ...] = (
    ((), {}),
    (("--comm", "calls", "--max-stack", "3"), {"filters": Filters(comms=("calls",), max_stack=3)}),
    (("--root", "process"), {"grouping": Grouping(root="process")}),
    (("--root", "none"), {"grouping": Grouping(root="none")}),
    (("--merge-threads",), {"grouping": Grouping(merge_threads=True)}),
    (("--anonymize", "s3cret"), {"anonymize": "s3cret"}),
    (("--tag", "service=web"), {"tags": ({"service": "web"},)}),
)


def cases() -> Iterator[Any]:
    """Formats and options; quick ones are each format without options and with a third of them."""
    for number, name in enumerate(sorted(entry_points_by_name(EMITTERS))):
        for row, pair in enumerate(PAIRS):
            yield pytest.param(name, *pair, marks=() if not row or (number + row) % 3 == 0 else pytest.mark.slow)


@pytest.mark.parametrize(("name", "words", "options"), list(cases()))
def test_command_and_library_agree(
    name: str, words: tuple[str, ...], options: Mapping[str, object], tmp_path: Path
) -> None:
    source, typed, called = recording("calls"), tmp_path / "typed", tmp_path / "called"
    ran = perf2x("convert", source, "-t", name, "-o", typed, "--no-symbols", "-q", *words)
    try:
        convert(source, called, to=name, symbols=None, **options)  # type: ignore[arg-type]
    except Perf2xError as error:
        said = str(error.args[0])  # the names of settings differ
        assert (ran.code, typed.exists()) == (2, False)
        assert said in ran.err
    else:
        assert (ran.code, ran.err) == (0, "")
        assert typed.read_bytes() == called.read_bytes()


def test_lines_begin_with_the_chosen_root_alone(tmp_path: Path) -> None:
    """Whether they are converted, or read and written later."""
    sources = [recording("calls"), recording("forker")]
    converted, written = tmp_path / "a.folded", tmp_path / "b.folded"
    grouping = Grouping(root="process")
    convert(sources, converted, symbols=None, grouping=grouping)
    write(read(sources, symbols=None, grouping=grouping).profile, written)
    assert converted.read_bytes() == written.read_bytes()
    assert {line.partition("-")[0] for line in converted.read_text().splitlines()} >= {"calls"}
    assert all(line.split(";")[0].rpartition("-")[2].isdigit() for line in converted.read_text().splitlines())
