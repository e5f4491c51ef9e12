"""Values and descriptions of parameters follow from their declarations alone, whatever typer would make of them."""

import subprocess
import sys
from typing import Any

import pytest

from perf2x.base.errors import OptionError
from perf2x.cli.app import COMMANDS, command
from tests.support.command import perf2x, recording


def made(name: str, parameter: str) -> tuple[Any, Any]:
    """A parameter of a command, and a context for it."""
    whole: Any = command(name)
    (found,) = (one for one in whole.params if one.name == parameter)
    return found, whole.context_class(whole, info_name=name)


@pytest.mark.parametrize(
    ("name", "parameter", "value", "expected"),
    [
        ("convert", "output", "text", "text"),
        ("convert", "output", None, None),
        ("convert", "tags", ("one", "two"), ["one", "two"]),
        ("convert", "tags", None, ()),
        ("top", "limit", "7", 7),
        ("top", "limit", 20, 20),
        ("top", "by", "object", "object"),
        ("top", "quiet", True, True),
        ("view", "port", "65535", 65535),
        ("diff", "after", "b.data", "b.data"),
    ],
)
def test_texts_become_values(name: str, parameter: str, value: object, expected: object) -> None:
    one, context = made(name, parameter)
    assert one.process_value(context, value) == expected


@pytest.mark.parametrize(
    ("name", "parameter", "value", "words"),
    [
        ("top", "limit", "-1", "--limit -1: it must be at least 0"),
        ("view", "port", "65536", "--port 65536: it must be at most 65535"),
        ("top", "limit", "1e3", "--limit 1e3: expected a whole number"),
        ("top", "by", "functions", "choose from function, object, thread, data-object; did you mean function?"),
        ("diff", "after", None, "AFTER is missing (Usage: diff [OPTIONS] BEFORE AFTER)"),
    ],
)
def test_what_does_not_fit_is_one_sentence(name: str, parameter: str, value: object, words: str) -> None:
    one, context = made(name, parameter)
    with pytest.raises(OptionError) as caught:
        one.process_value(context, value)
    assert words in str(caught.value)


def test_every_command_takes_plain_values_itself() -> None:
    for name in COMMANDS:
        whole: Any = command(name)
        params = whole.get_params(whole.context_class(whole))
        assert all("plain_parameters" in parameter.process_value.func.__module__ for parameter in params), name


@pytest.mark.parametrize("name", COMMANDS)
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
