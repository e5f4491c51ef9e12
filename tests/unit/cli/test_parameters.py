"""Parameters of commands are made of settings; what was typed is read as they say, whatever typer would make of it."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import pytest
from msgspec import Struct

from perf2x.cli.app import HELP_LINES, command, entry_points
from perf2x.cli.help import CONTEXT_SETTINGS
from perf2x.cli.options.output_options import OutputFlags
from perf2x.cli.parameters import Hidden, Honouring, Only, Without, make_command, make_struct
from perf2x.errors import Perf2xError
from perf2x.kernel.load_options import LoadOptions
from perf2x.model.annotate_options import ListingOptions
from perf2x.model.format_features import ListingSettings
from perf2x.model.plugin_options import LISTINGS
from perf2x.model.setting import Argument, Setting
from perf2x.symbolizer.symbol_options import SymbolOptions
from tests.support.command import perf2x, recording


class Ways(Struct, frozen=True):
    """A group."""

    PANEL: ClassVar[str] = "Ways"

    one_way: Annotated[bool, Setting("One.")] = False
    others: Annotated[tuple[str, ...], Setting("More.", ("--other",))] = ()
    third: Annotated[int, Setting("Last.", least=1, most=9, rare=True)] = 3


class Longer(Ways, frozen=True):
    """A group like the one above, with another text and more."""

    third: Annotated[int, Setting("Not last.")] = 4
    fourth: Annotated[str, Setting("Four.")] = "x"
    fifth: Annotated[Literal["left", "right"] | None, Setting("Five.")] = None
    numbers: Annotated[tuple[int, ...], Setting("Six.", metavar="0-3")] = ()
    read: Annotated[int | None, Setting("Seven.", read=lambda _, text: {"read": len(text), "fourth": text})] = None


def run(kind: Any, *words: str) -> Any:
    """The group that a command with it gets, its first argument and whether it is to be quiet."""
    got: list[Any] = []
    wanted: Callable[..., None] = lambda first, *, ways, quiet=False: got.append((ways, first, quiet))  # noqa: E731
    wanted.__annotations__ |= {
        "first": Annotated[str, Argument("First.", metavar="FIRST")],
        "ways": kind,
        "quiet": Annotated[bool, Setting("Quiet.", ("--quiet", "-q"))],
    }
    made = make_command("try", wanted)
    made(list(words), prog_name="try", standalone_mode=False)
    return got[0] if got else made


def test_a_command_gets_what_was_typed_as_groups() -> None:
    assert run(Longer, "name") == (Longer(), "name", False)
    words = ["--one-way", "--other", "a", "--other", "b", "--third", "7", "--fifth", "left", "--numbers", "5,1-2", "-q"]
    expected = Longer(True, ("a", "b"), 7, "x", "left", (1, 2, 5))
    assert run(Longer, "name", *words) == (expected, "name", True)
    assert [run(Ways, "name", "--third", text)[0].third for text in "19"] == [1, 9]
    assert run(Longer, "name", "--read", "four")[0] == Longer(fourth="four", read=4)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["x", "--third", "0"], "--third 0: it must be at least 1"),
        (["x", "--third", "10"], "--third 10: it must be at most 9"),
        (["x", "--third", "1e3"], "--third 1e3: expected a whole number"),
        (["--one-way"], "FIRST is missing (Usage: try [OPTIONS] FIRST)"),
    ],
)
def test_what_does_not_fit_is_one_sentence(words: list[str], sentence: str, capsys: Any) -> None:
    with pytest.raises((Perf2xError, SystemExit)) as caught:
        run(Ways, *words)
    assert sentence in f"{caught.value}{capsys.readouterr().err}"


def test_a_choice_names_what_was_meant(capsys: Any) -> None:
    with pytest.raises((Perf2xError, SystemExit)) as caught:
        run(Longer, "x", "--fifth", "lft")
    assert "--fifth lft: choose from left, right; did you mean left?" in f"{caught.value}{capsys.readouterr().err}"


@pytest.mark.parametrize(
    ("ways", "names", "rare"),
    [
        (Ways, ["one_way", "others", "third"], {"third"}),
        (Annotated[Ways, Without("others")], ["one_way", "third"], {"third"}),
        (Annotated[Ways, Only("others")], ["others"], set()),
        (Annotated[Ways, Hidden("one_way")], ["one_way", "others", "third"], {"one_way", "third"}),
        (Annotated[Ways, Hidden(Ways), Without("third")], ["one_way", "others"], {"one_way", "others"}),
    ],
)
def test_a_command_chooses_of_a_group(ways: object, names: list[str], rare: set[str], capsys: Any) -> None:
    made = run(ways, "--help")
    assert [one.name for one in made.params] == ["first", *names, "quiet", "help_all"]
    assert made.rare_parameters == rare
    shown = capsys.readouterr().out
    assert "Ways:" in shown or rare >= set(names)
    assert all(
        (f"--{name.replace('_', '-').replace('others', 'other')}" in shown) == (name not in rare) for name in names
    )
    assert ("--help-all" in shown) == bool(rare)


def test_options_of_groups_that_a_command_does_not_honour_are_not_there() -> None:
    def options(kind: Any) -> set[str]:
        return {one.name for one in run(kind, "--help").params}

    assert not {"as_recorded", "syntax"} & options(LoadOptions)
    assert {"as_recorded", "syntax"} < options(Annotated[LoadOptions, Honouring(LISTINGS)])


def test_a_variable_stands_for_an_option_that_was_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DEBUGINFOD_URLS", raising=False)
    assert make_struct(SymbolOptions, {"debuginfod_urls": None}) == SymbolOptions()
    monkeypatch.setenv("DEBUGINFOD_URLS", "https://a/ http://b")
    assert make_struct(SymbolOptions, {"debuginfod_urls": None}).debuginfod_urls == ("https://a/", "http://b")
    assert make_struct(SymbolOptions, {"debuginfod_urls": ["http://c"]}).debuginfod_urls == ("http://c",)


def test_a_group_inside_another_is_as_there_until_something_is_said_of_it() -> None:
    assert make_struct(LoadOptions, {"assembly": False, "around": 10}).of(ListingSettings).listings is None
    assert make_struct(LoadOptions, {"around": "3"}).of(ListingSettings).listings == ListingOptions(around=3)
    assert make_struct(LoadOptions, {"names": "short"}).symbols == SymbolOptions(names="short")
    assert make_struct(LoadOptions, {"names": "short", "no_symbols": True}).symbols is None


def test_defaults_show_where_they_are_texts_or_numbers() -> None:
    shown = {one.name: one.default for one in run(Longer, "--help").params}
    assert shown["third"] == 4 and shown["fourth"] == "x" and shown["fifth"] is shown["others"] is None
    assert [one.multiple for one in run(OutputFlags, "--help").params if one.name == "set_texts"] == [True]


def test_every_command_takes_values_as_they_were_typed() -> None:
    for name in HELP_LINES:
        whole = command(name)
        params = whole.get_params(whole.context_class(whole, **CONTEXT_SETTINGS))
        assert all("plain_parameters" in parameter.process_value.func.__module__ for parameter in params), name


@pytest.mark.parametrize("name", HELP_LINES)
def test_help_shows_no_types_of_python(name: str) -> None:
    shown = perf2x(*name.split(), "--help", env={"COLUMNS": "200"}).out
    assert "<bool>" not in shown and "list[" not in shown and "<str>" not in shown


def test_small_commands_load_no_pydantic() -> None:
    words = ["perf2x", "top", recording("calls"), "-n", "3", "--by", "object", "--json", "-q", "--no-symbols"]
    code = (
        f"import sys; from perf2x.cli import main; sys.argv = {words!r}\n"
        "try: main()\nexcept SystemExit as end: assert not end.code\n"
        "sys.exit(' '.join({'pydantic', 'rich'} & set(sys.modules)) or 0)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize("words", [["info"], ["top", "-q"], ["convert", "-t", "collapsed", "-o", "-", "-q"], ["dump"]])
def test_recordings_may_be_given_as_perf_takes_them(words: list[str]) -> None:
    source = recording("calls")
    expected = perf2x(*words, source)
    assert (expected.code, expected.out != "") == (0, True)
    assert perf2x(*words, "-i", source) == perf2x(*words, f"--input={source}") == expected
    assert " -i" not in perf2x(words[0], "--help-all").out


def test_every_command_that_takes_recordings_takes_them_by_name() -> None:
    params = {name: command(name).params for name in entry_points()}
    by_place = {name for name, found in params.items() if any(one.metavar == "INPUT" for one in found)}
    assert by_place == {name for name, found in params.items() if any("-i" in one.opts for one in found)}
    assert len(by_place) >= 9


def test_recordings_by_place_and_by_name_are_added() -> None:
    first, second = recording("calls"), recording("events")
    words = ("convert", "-t", "collapsed", "-o", "-", "-q", "--no-symbols")
    assert perf2x(*words, first, "-i", second).out == perf2x(*words, first, second).out
    assert perf2x("annotate", "-i", first, "[calls]").out == perf2x("annotate", "[calls]", first).out != ""
    assert perf2x("info", first, "-i", second).said == f"perf2x: too many recordings: {first}, {second}"


STRANGER = '''"""A command of somebody else."""

from typing import Annotated

from perf2x.plugins import Argument, Setting


def hello(
    name: Annotated[str, Argument("Whom.", metavar="NAME")],
    *,
    times: Annotated[int, Setting("How often.", least=1)] = 1,
) -> None:
    """Say hello.

    ::

        perf2x say hello you
    """
    for _ in range(times):
        print(f"hello {name}")
'''


def test_a_package_of_somebody_else_brings_a_command(tmp_path: Path) -> None:
    about = tmp_path / "stranger-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger\nVersion: 1\n")
    points = "[perf2x.commands]\nsay.hello = stranger:hello\nbroken = stranger.nowhere:none\n"
    (about / "entry_points.txt").write_text(points)
    (tmp_path / "stranger.py").write_text(STRANGER)

    def perf2x(*words: str) -> "subprocess.CompletedProcess[str]":
        code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from perf2x.cli import main; main()"
        return subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)

    assert perf2x("say", "hello", "you", "--times", "2").stdout == "hello you\nhello you\n"
    assert perf2x("say", "hello", "you", "--times", "0").stderr == "perf2x: --times 0: it must be at least 1\n"
    shown = perf2x("--help").stdout
    assert "say hello        Say hello.\n" in shown and "cannot be imported: No module named 'stranger" in shown
    assert shown.index("  formats") < shown.index("  broken") < shown.index("  say hello")
    assert "  perf2x say hello you\n" in perf2x("say", "hello", "--help").stdout
    assert "there is no command say helo; did you mean say hello?" in perf2x("say", "helo").stderr
    assert perf2x("--version").returncode == 0


def test_an_installation_without_commands_is_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perf2x.base.installed_packages.entry_points", lambda group: [])
    entry_points.cache_clear()
    ran = perf2x("convert", "x")
    entry_points.cache_clear()
    assert (ran.code, ran.out) == (2, "")
    assert ran.said.startswith("perf2x: the installation of perf2x is older than its code")
