"""Every option of ``convert`` with every format: shown, refused by name, or harmless for a reason."""

import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from perf2x import convert
from perf2x.base.installed_packages import entry_points_by_name
from perf2x.cli.app import command
from perf2x.cli.option_names import option_of
from perf2x.errors import OptionError
from perf2x.kernel.options_for_format import COMMAND_ONLY_SETTINGS
from perf2x.kernel.registry import EMITTERS, load_emitter
from perf2x.model.filters.filter_options import Filters, Grouping
from perf2x.model.filters.profile_filters import PROFILE_FILTERS
from perf2x.model.setting import settings_in
from perf2x.stitcher.call_graph_options import CallGraphOptions
from perf2x.symbolizer.symbol_options import SymbolOptions
from tests.support.command import perf2x, recording
from tests.support.option_pairs import CASES, CODE, FORMATS, HARMLESS, NO_PAIRS, Place, pairs
from tests.support.recordings import ROOT
from tests.support.settings import GROUPED

PARAMETERS = {str(one.name) for one in command("convert").params}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("pairs"))


def test_every_option_has_a_case() -> None:
    assert (PARAMETERS - {"inputs", "inputs_by_name", "help_all"}) | FLAGS.keys() == {*CASES, *NO_PAIRS}
    spelled = {word for option in command("convert").params for word in (*option.opts, *option.secondary_opts)}
    spelled |= {word for name in FORMATS for entry in settings_in(load_emitter(name)).values() for word in entry.names}
    assert {case.words[0] for cases in CASES.values() for case in cases} <= spelled
    assert {word for _, words, _ in HARMLESS for word in words} <= spelled


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
def test_no_option_is_dropped(name: str, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("capstone")
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(place.folder)
    assert [(words, found) for _, words, found in pairs(place, (name,)) if found.startswith("DROPPED")] == []


GIVEN: dict[object, object] = {
    (): ("a=b",),
    None: 0,
    False: True,
    "": "user",
}  # a value beside each default of a Filters
IN_THE_LIBRARY = {
    "anonymize": {"anonymize": "s3cret"},
    "call_graphs.stitch_lbr": {"call_graphs": CallGraphOptions(stitch_lbr=True)},
    "parallelism": {"parallelism": (1,)},
    "data_objects": {"data_objects": True},
    "deferred_missing": {"deferred_missing": "drop"},
    "grouping.fold_recursion": {"grouping": Grouping(fold_recursion=True)},
    "grouping.merge_threads": {"grouping": Grouping(merge_threads=True)},
    "grouping.root": {"grouping": Grouping(root="thread")},
    "latency": {"latency": "value"},
    "merge_callchains": {"merge_callchains": False},
    "off_cpu": {"off_cpu": "apart"},
    "start_time": {"start_time": 5},
    "symbols.inline": {"symbols": SymbolOptions(inline=False)},
    "symbols.names": {"symbols": SymbolOptions(names="full")},
    "tags": {"tags": ({"service": "web"},)},
    "value": {"value": "weight"},
    **{
        f"filters.{name}": {"filters": Filters(**{name: GIVEN[getattr(Filters(), name)]})}
        for name in PROFILE_FILTERS
    },
}  # fmt: skip


def test_the_library_refuses_by_keyword(tmp_path: Path) -> None:
    """An option that a format does not honour; its counterpart on the command line is an option of ``convert``."""
    assert {*IN_THE_LIBRARY, *(setting for setting in GROUPED if setting.startswith("listings."))} == GROUPED
    for name in CODE:
        for setting, keywords in IN_THE_LIBRARY.items():
            with pytest.raises(OptionError, match=rf"{name} cannot take {re.escape(setting)}[:=]"):
                convert(recording("calls"), tmp_path / "out", to=name, **keywords)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="collapsed cannot take tags; otlp and pprof can"):
        convert(recording("calls"), tmp_path / "out.folded", tags=({"service": "web"},))
    with pytest.raises(OptionError, match="chrome cannot take timeline=False: it shows samples over time"):
        convert(recording("calls"), tmp_path / "out", to="chrome", timeline=False)
    assert not list(tmp_path.iterdir())
    flat = convert(recording("calls"), tmp_path / "out.html", symbols=None, timeline=False)
    assert flat.profile.samples.time is None


def test_settings_have_an_option() -> None:
    option = partial(option_of, command("convert").params)
    spelled = {word for one in command("convert").params for word in (*one.opts, *one.secondary_opts)}
    settings = (GROUPED | COMMAND_ONLY_SETTINGS.keys()) - {"data_objects", "listings.source"}
    assert {option(setting).partition(" ")[0] for setting in settings} <= spelled


def flags() -> dict[str, list[str]]:
    """Formats by the fields that have options."""
    found: dict[str, list[str]] = {}
    for name in FORMATS:
        for entry in settings_in(load_emitter(name)).values():
            if entry.names and entry.name not in OWN:
                found.setdefault(entry.name, []).append(name)
    return found


OWN = PARAMETERS | {"event"}
FLAGS = flags()


def lacking() -> list[Any]:
    """(format, flag, value) of the formats' own options that this format lacks; each fourth pair is a quick test."""
    found = [
        (name, case.words[0], " ".join(case.words[1:]))
        for flag, owners in FLAGS.items()
        for case in CASES[flag]
        for name in FORMATS
        if name not in owners
    ]
    return [pytest.param(*pair, marks=pytest.mark.slow if row % 4 else ()) for row, pair in enumerate(found)]


@pytest.mark.parametrize(("name", "flag", "value"), lacking())
def test_a_wrong_option_is_named_as_typed(name: str, flag: str, value: str, tmp_path: Path) -> None:
    words = (flag, value) if value else (flag,)
    ran = perf2x("convert", recording("calls"), "-t", name, "-o", tmp_path / "out", *words)
    owners = next(owners for field, owners in FLAGS.items() if CASES[field][0].words[0] == flag)
    there = f"; {flag} is an option of {', '.join(owners)} (perf2x convert --help)"
    assert (ran.code, ran.said) == (2, f"perf2x: there is no option {flag}{there}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("words", [(), ("-s", "style=branches"), ("--help-all",)])
def test_errors_of_a_format_name_its_options_where_none_was_typed(words: tuple[str, ...]) -> None:
    ran = perf2x("convert", ROOT / "tests" / "laws" / "schedules" / "switches.data", "-t", "bolt", "-o", "-", *words)
    assert (
        "Options of bolt" in ran.out
    ) or "needs its code: find the file with --symfs or --archive, or choose another object with --object" in ran.said


@pytest.mark.parametrize("words", [("--source",), ("--source-dir", "."), ("--assembly",)])
def test_listings_are_refused_by_what_was_typed(words: tuple[str, ...], tmp_path: Path) -> None:
    ran = perf2x("convert", recording("calls"), "-t", "pprof", "-o", tmp_path / "out", *words)
    assert (ran.code, ran.said) == (2, f"perf2x: pprof cannot take {words[0]}; html can")


@pytest.mark.parametrize("name", [name for name in entry_points_by_name(EMITTERS) if settings_in(load_emitter(name))])
def test_a_wrong_value_is_named_as_typed(name: str, tmp_path: Path) -> None:
    """Fields set by ``--set``: wrong names, and values of the wrong kind."""
    fields = settings_in(load_emitter(name)).values()
    wrong = [("nosuch", f"{name} has no option --set nosuch; it has")]
    checked = [entry.name for entry in fields if entry.all_choices or entry.kind in (int, bool)]
    wrong += [(field, f"--set {field}=x") for field in checked]
    options = {entry.name for entry in fields if entry.names}
    for field, words in wrong:
        words = f"--set {field}=…: use the option --" if field in options else words
        ran = perf2x("convert", recording("calls"), "-t", name, "-o", tmp_path / "out", "--set", f"{field}=x")
        assert (ran.code, words in ran.said) == (2, True), ran.said
