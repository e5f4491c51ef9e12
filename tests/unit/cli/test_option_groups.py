"""Groups of options become parameters of a command, and values again."""

import inspect
from typing import Annotated, ClassVar

import pytest
import typer
from msgspec import Struct
from typer.testing import CliRunner

from perf2x.cli.help import rare_options
from perf2x.cli.option_groups import Hidden, Only, Without, typed, with_groups
from perf2x.cli.options import Rare
from perf2x.symbolizer.symbol_options import SymbolOptions


class Ways(Struct, frozen=True):
    """A group."""

    PANEL: ClassVar[str] = "Ways"

    one_way: Annotated[bool, typer.Option(help="One.")] = False
    others: Annotated[list[str] | None, typer.Option("--other", help="More.")] = None
    third: Annotated[int, typer.Option(help="Last."), Rare] = 3


class Longer(Ways, frozen=True):
    """The same with another text and one more."""

    third: Annotated[int, typer.Option(help="Not last.")] = 4
    fourth: Annotated[str, typer.Option(help="Four.")] = "x"


def options(ways: object) -> tuple[list[str], set[str | None]]:
    """Parameters of a command with this group, and the rare ones."""

    def command(first: str = "", *, ways: Ways, quiet: bool = False) -> None:
        """A command."""

    command.__annotations__["ways"] = ways
    made = with_groups(command)
    return list(inspect.signature(made).parameters), set(rare_options(made))


def test_a_command_gets_what_was_typed_as_groups() -> None:
    got: list[object] = []
    app = typer.Typer()

    @app.command()
    @with_groups
    def command(first: str, *, ways: Longer, quiet: bool = False) -> None:
        """A command."""
        got.append((first, ways, quiet))

    words = ["name", "--one-way", "--other", "a", "--other", "b", "--third", "7", "--quiet"]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert CliRunner().invoke(app, ["name"]).exit_code == 0
    assert got == [("name", Longer(True, ["a", "b"], 7), True), ("name", Longer(), False)]
    shown = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "100"}).output
    assert "Ways" in shown and "A command." in shown and "Not last." in shown


@pytest.mark.parametrize(
    ("ways", "names", "rare"),
    [
        (Ways, ["one_way", "others", "third"], {"third"}),
        (Longer, ["one_way", "others", "third", "fourth"], set()),
        (Annotated[Ways, Without("others")], ["one_way", "third"], {"third"}),
        (Annotated[Ways, Only("others")], ["others"], set()),
        (Annotated[Ways, Hidden("one_way")], ["one_way", "others", "third"], {"one_way", "third"}),
        (Annotated[Ways, Rare, Without("third")], ["one_way", "others"], {"one_way", "others"}),
    ],
)
def test_a_command_chooses_of_a_group(ways: object, names: list[str], rare: set[str]) -> None:
    assert options(ways) == (["first", *names, "quiet", "help_all"], rare)


def test_a_variable_stands_for_an_option_that_was_not_given(monkeypatch) -> None:
    monkeypatch.delenv("DEBUGINFOD_URLS", raising=False)
    assert typed(SymbolOptions, {"debuginfod_urls": None}) == SymbolOptions()
    monkeypatch.setenv("DEBUGINFOD_URLS", "https://a/ http://b")
    assert typed(SymbolOptions, {"debuginfod_urls": None}).debuginfod_urls == ("https://a/", "http://b")
    assert typed(SymbolOptions, {"debuginfod_urls": ["http://c"]}).debuginfod_urls == ("http://c",)
