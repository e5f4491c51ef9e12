"""Every option of every command arrives by its one name, and from the command line alone."""

from pathlib import Path
from typing import Any

import pytest
from typer.core import TyperOption

from perf2x.cli.app import HELP_LINES, command
from tests.support.command import perf2x, recording, spellings

WITH_OPTIONS = [name for name in HELP_LINES if spellings(command(name))]


def another_value(option: TyperOption) -> Any:
    """Words to type for a value that differs from the option's default."""
    return not option.default if option.is_flag else "a=b"


def arriving(name: str, monkeypatch: pytest.MonkeyPatch, *words: str) -> Any:
    """The parameters that the command gets."""
    seen: dict[str, Any] = {}
    monkeypatch.setattr(command(name), "callback", lambda **given: seen.update(given))
    arguments = (one for one in command(name).params if one.param_type_name == "argument" and one.required)
    inputs = [str(one.name) for one in arguments]
    ran = perf2x(name, *inputs, *words)
    assert ran.code == 0, ran.said
    return {key: list(value) if isinstance(value, tuple) else value for key, value in seen.items()}


@pytest.mark.parametrize("name", WITH_OPTIONS)
def test_an_option_arrives_by_its_name(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = command(name)
    options = {spelling: option for spelling, (option, negated) in spellings(made).items() if not negated}
    assert options.keys() == {
        max(option.opts, key=len).removeprefix("--")
        for option in made.params
        if option.param_type_name == "option" and option.expose_value
    }
    others = {spelling: another_value(option) for spelling, option in options.items()}
    expected = {str(options[spelling].name): value for spelling, value in others.items()}
    several = {str(option.name) for option in options.values() if option.multiple}
    expected = {key: [value] if key in several else value for key, value in expected.items()}
    off = {option.name: spelling for spelling, (option, negated) in spellings(made).items() if negated}
    words: list[str] = []
    for spelling, value in others.items():
        if options[spelling].is_flag:
            words.append(f"--{spelling if value else off[options[spelling].name]}")
        else:
            words += [f"--{spelling}", str(value)]
    by_line = arriving(name, monkeypatch, *words)
    assert {key: by_line[key] for key in expected} == expected


@pytest.mark.parametrize("name", WITH_OPTIONS)
def test_an_option_can_be_switched_off(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for spelling, (option, negated) in spellings(command(name)).items():
        if negated:
            assert arriving(name, monkeypatch, f"--{spelling}")[option.name] is False


def test_no_file_and_no_variable_sets_an_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A recording's folder decides nothing: a file in it, or above it, could name ~/.bashrc as the output."""
    place = tmp_path / "project"
    place.mkdir()
    monkeypatch.chdir(place)
    for folder in (tmp_path, place):
        (folder / "perf2x.toml").write_text(f"output = {str(tmp_path / 'taken')!r}\n")
        (folder / "pyproject.toml").write_text(f"[tool.perf2x]\noutput = {str(tmp_path / 'taken')!r}\n")
    env = {"PERF2X_OUTPUT": str(tmp_path / "taken"), "PERF2X_TO": "svg"}
    assert "wrote pprof to perf.pb.gz" in perf2x("convert", recording("calls"), "--no-symbols", env=env).err
    assert not (tmp_path / "taken").exists()
