"""Every option of every command by its one name: on the command line, in the environment, in a file."""

import json
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest
from typer.core import TyperOption

from perf2x.cli.app import COMMANDS, command, function_of
from perf2x.cli.config import settings, variable
from tests.support.command import perf2x

WITH_OPTIONS = [name for name in COMMANDS if settings(command(name))]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def another_value(option: TyperOption, hint: Any) -> Any:
    """A value that differs from the option's default."""
    kinds = [part for part in (get_args(hint) or [hint]) if part is not type(None)]
    if option.is_flag:
        return not option.default
    if get_origin(hint) is Literal or get_origin(kinds[0]) is Literal:
        words = get_args(hint) if get_origin(hint) is Literal else get_args(kinds[0])
        return next(word for word in words if word != option.default)
    return 7 if kinds[0] is int else "a=b"


def arriving(name: str, monkeypatch: pytest.MonkeyPatch, *words: str, env: dict[str, str] | None = None) -> Any:
    """The parameters that the command gets."""
    seen: dict[str, Any] = {}
    monkeypatch.setattr(command(name), "callback", lambda **given: seen.update(given))
    arguments = (one for one in command(name).params if one.param_type_name == "argument" and one.required)
    inputs = [str(one.name) for one in arguments]
    ran = perf2x(name, *inputs, *words, env=env)
    assert ran.code == 0, ran.said
    return {key: list(value) if isinstance(value, tuple) else value for key, value in seen.items()}


@pytest.mark.parametrize("name", WITH_OPTIONS)
def test_an_option_has_one_name_everywhere(name: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = command(name)
    hints = get_type_hints(function_of(name))
    options = {spelling: one.option for spelling, one in settings(made).items() if not one.negated}
    assert options.keys() == {
        max(option.opts, key=len).removeprefix("--")
        for option in made.params
        if option.param_type_name == "option" and option.expose_value
    }
    others = {spelling: another_value(option, hints[str(option.name)]) for spelling, option in options.items()}
    expected = {str(options[spelling].name): value for spelling, value in others.items()}
    several = {str(option.name) for option in options.values() if option.multiple}
    expected = {key: [value] if key in several else value for key, value in expected.items()}

    off = {one.option.name: spelling for spelling, one in settings(made).items() if one.negated}
    words: list[str] = []
    for spelling, value in others.items():
        if options[spelling].is_flag:
            words.append(f"--{spelling if value else off[options[spelling].name]}")
        else:
            words += [f"--{spelling}", str(value)]
    by_line = arriving(name, monkeypatch, *words)
    assert {key: by_line[key] for key in expected} == expected

    env = {
        variable(spelling): str(int(value) if value in (True, False) else value) for spelling, value in others.items()
    }
    by_variable = arriving(name, monkeypatch, env=env)
    assert {key: by_variable[key] for key in expected} == expected

    for table in ("", f'["{name}"]\n'):
        allowed = {spelling: value for spelling, value in others.items() if spelling != "send"}  # see test_send.py
        lines = [f"{spelling} = {json.dumps(value)}" for spelling, value in allowed.items()]
        (here / "perf2x.toml").write_text(table + "\n".join(lines) + "\n")
        by_file = arriving(name, monkeypatch)
        assert {key: by_file[key] for key in expected if key != "send"} == {
            key: value for key, value in expected.items() if key != "send"
        }


@pytest.mark.parametrize("name", WITH_OPTIONS)
def test_switching_an_option_off_has_a_variable_too(name: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for spelling, setting in settings(command(name)).items():
        if setting.negated:
            key = setting.option.name
            assert arriving(name, monkeypatch, f"--{spelling}")[key] is False
            assert arriving(name, monkeypatch, env={variable(spelling): "1"})[key] is False
            assert arriving(name, monkeypatch, env={variable(spelling): "0"})[key] is True
            (here / "perf2x.toml").write_text(f"{spelling} = true\n")
            assert arriving(name, monkeypatch)[key] is False
            (here / "perf2x.toml").unlink()


def test_a_switch_in_the_environment_is_yes_or_no(here: Path) -> None:
    ran = perf2x("top", env={"PERF2X_NO_INLINE": "perhaps"})
    assert (ran.code, ran.err) == (2, "perf2x: PERF2X_NO_INLINE=perhaps: it is a switch; set it to 1 or 0\n")
