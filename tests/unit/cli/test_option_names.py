"""Errors below the command line carry settings, and the command line names them as they are typed."""

import ast
import pickle
import re
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path

import pytest

import perf2x
from perf2x.cli.app import HELP_LINES, command
from perf2x.cli.option_names import option_of, options_in_errors
from perf2x.errors import FormatError, Perf2xError, SettingError, prefixed_args

ROOT = Path(perf2x.__file__).parent
MODULES = [path for path in ROOT.rglob("*.py") if path.relative_to(ROOT).parts[0] != "cli"]
OF_OTHERS = re.compile(r"\b(perf (record|inject|mem)|node|python|fleet ingest)\b[^;()]*")
"""Commands, of other programs too, named with options of their own."""


def test_settings_of_an_error_are_named_as_typed() -> None:
    option = partial(option_of, command("convert").params)
    with (
        pytest.raises(FormatError, match=r"^x: too large; --max-unpacked or --time 10%$"),
        options_in_errors(option),
    ):
        raise FormatError("x: too large; ", "max_unpacked", " or ", "times", " 10%")
    with (
        pytest.raises(SettingError, match=r"^--set width and width$"),
        options_in_errors(option),
        options_in_errors("--set {}".format),
    ):
        raise SettingError("", "width", " and width")


def test_the_library_names_its_keywords() -> None:
    error = FormatError("x; ", "max_unpacked", " raises the limit")
    assert str(error) == str(pickle.loads(pickle.dumps(error))) == "x; max_unpacked raises the limit"
    assert prefixed_args("y", error) == ("y: x; ", "max_unpacked", " raises the limit")
    assert prefixed_args("y", OSError("no")) == ("y: no",)
    assert str(Perf2xError()) == ""


def spelled() -> set[str]:
    """All options of all commands."""
    return {word for name in HELP_LINES for one in command(name).params for word in (*one.opts, *one.secondary_opts)}


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def last_name(node: ast.AST) -> str:
    """The name that is called or assigned, without the object in front of it; "" where there is none."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


@cache
def named(path: Path) -> dict[str, list[ast.AST]]:
    """Return the possible definitions of each name of a module, imported names included: functions, assigned values."""
    found: dict[str, list[ast.AST]] = {}
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef):
            found.setdefault(node.name, []).extend(each for each in ast.walk(node) if isinstance(each, ast.Return))
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                for one in target.elts if isinstance(target, ast.Tuple) else (target,):
                    found.setdefault(last_name(one), []).append(node.value)
    return found


def texts(node: ast.AST, path: Path, deeper: int = 3) -> Iterator[str]:
    """Texts in an expression, in values of its names, and in what the functions return that it calls."""
    for each in ast.walk(node):
        if isinstance(each, ast.Constant) and isinstance(each.value, str):
            yield each.value
        elif deeper and isinstance(each, ast.Name | ast.Attribute):
            for value in named(path).get(last_name(each), ()):
                yield from texts(value, path, deeper - 1)


def test_no_error_below_the_command_line_names_an_option() -> None:
    """It would name what users of the library cannot type."""
    options, wrong, seen = spelled(), [], 0
    for path in MODULES:
        source = path.read_text()
        seen += source.count("Error(")
        for node in ast.walk(tree(path)) if "Error(" in source and "--" in source else ():
            if isinstance(node, ast.Call) and last_name(node.func).endswith("Error"):
                for text in texts(node, path):
                    found = set(re.findall(r"(?<!\S)\(?(--[a-z][a-z-]*)", OF_OTHERS.sub("", text))) & options
                    wrong += [(str(path.relative_to(ROOT)), node.lineno, option) for option in found]
    assert not wrong
    assert seen > 300
