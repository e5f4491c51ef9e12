"""``--help`` as plain text: options in their groups, each with its default; 80 columns, or what the terminal has."""

import os
import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import click

_GENERAL = "General"
_COLUMN = 26
_WIDEST = 100
_EPILOG = (
    "Options may also be set in the environment (PERF2X_SYMFS=DIR) or as defaults in pyproject.toml"
    " ([tool.perf2x] symfs = \"DIR\")."
)  # fmt: skip


class PlainCommand(click.Command):
    """A command with that help."""

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        """The line above what is wrong."""
        formatter.write(_usage(ctx.command_path, self.get_params(ctx)) + "\n")

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """What ``perf2x COMMAND --help`` prints."""
        formatter.write("\n".join(command_help(self, ctx.command_path, self.get_params(ctx), _width())) + "\n")


class PlainGroup(click.Group):
    """The same for ``perf2x --help``; a command is made when it is asked for: one's options take a fifth of all."""

    def __init__(self, names: Sequence[str], make: Callable[[str], click.Command], **settings: Any) -> None:
        nothing_yet: dict[str, Any] = dict.fromkeys(names)  # for the names in "Did you mean …?"
        super().__init__(commands=nothing_yet, **settings)
        self._names, self._make = names, make

    def list_commands(self, ctx: Any) -> list[str]:
        """The names, in the help's order."""
        return list(self._names)

    def get_command(self, ctx: Any, cmd_name: str) -> click.Command | None:
        """One of them; None for another name."""
        return self._make(cmd_name) if cmd_name in self._names else None

    def all_commands(self) -> dict[str, click.Command]:
        """All of them by name."""
        return {name: self._make(name) for name in self._names}

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        """The line above what is wrong."""
        formatter.write(f"Usage: {ctx.command_path} COMMAND [OPTION]...\n")

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """What ``perf2x --help`` prints."""
        width = _width()
        lines = [f"Usage: {ctx.command_path} COMMAND [OPTION]...", "", *_paragraphs(self.help or "", width)]
        rows = [(name, _first_sentence(command.help or "")) for name, command in self.all_commands().items()]
        lines += ["", _heading("Commands"), *_rows(rows, width, 12)]
        rows = [row for row in map(option_row, self.get_params(ctx)) if row is not None]
        lines += ["", _heading("Options"), *_rows(rows, width)]
        formatter.write("\n".join(lines) + "\n")


def command_help(command: Any, path: str, params: Sequence[Any], width: int) -> Iterator[str]:
    """Lines: usage, description, arguments, options group by group, the general ones last."""
    arguments = [
        param for param in params if param.param_type_name == "argument" and not getattr(param, "hidden", False)
    ]
    yield _usage(path, params)
    yield ""
    yield from _paragraphs(command.help or "", width)
    if arguments:
        yield from ("", _heading("Arguments"))
        yield from _rows([(str(one.metavar), _with_default(one, one.help or "")) for one in arguments], width, 14)
    groups = _groups(params)
    for title, rows in groups:
        yield from ("", _heading(title))
        yield from _rows(rows, width)
    if len(groups) > 1:
        yield ""
        yield from textwrap.wrap(_EPILOG, width)


def _usage(path: str, params: Sequence[Any]) -> str:
    arguments = [str(param.metavar) for param in params if param.param_type_name == "argument"]
    return f"Usage: {' '.join([path, '[OPTION]...', *arguments])}"


def option_row(option: Any) -> tuple[str, str] | None:
    """``-o, --output FILE`` and its help with the default; None for arguments and hidden options."""
    if option.param_type_name != "option" or getattr(option, "hidden", False):
        return None
    return option_names(option), _with_default(option, option.help or "")


def option_names(option: Any) -> str:
    """``-o, --output FILE``: short names first."""
    names = sorted([*option.opts, *option.secondary_opts], key=lambda name: name.startswith("--"))
    value = "" if option.is_flag else f" {option.metavar or 'VALUE'}"
    return ", ".join(names) + value


def default_of(parameter: Any) -> str:
    """The default as it would be said on the command line; "" for switches that are off and what is not set."""
    shown = getattr(parameter, "show_default", None)
    if isinstance(shown, str):
        return shown
    default = parameter.default
    if isinstance(default, bool):
        secondary = getattr(parameter, "secondary_opts", [])
        return (parameter.opts[0] if default else secondary[0]) if secondary else ""
    return str(default) if isinstance(default, str | int) and default != "" else ""


def _with_default(parameter: Any, text: str) -> str:
    default = default_of(parameter)
    return f"{text.removesuffix('.')} [{default}]." if default else text


def _groups(params: Sequence[Any]) -> list[tuple[str, list[tuple[str, str]]]]:
    groups: dict[str, list[tuple[str, str]]] = {}
    for param in params:
        row = option_row(param)
        if row is not None:
            groups.setdefault(getattr(param, "panel", "") or _GENERAL, []).append(row)
    last = groups.pop(_GENERAL, [])
    return [*groups.items(), (_GENERAL, last)]


def _rows(rows: Sequence[tuple[str, str]], width: int, column: int = _COLUMN) -> Iterator[str]:
    """Two columns; a name that does not fit stands on a line of its own."""
    for name, text in rows:
        lines = textwrap.wrap(text, width - column, break_on_hyphens=False) or [""]
        if len(name) + 4 > column:
            yield f"  {name}"
        else:
            yield f"  {name:<{column - 2}}{lines.pop(0)}".rstrip()
        yield from (" " * column + line for line in lines)


def _paragraphs(text: str, width: int) -> Iterator[str]:
    for number, part in enumerate(text.strip().split("\n\n")):
        yield from [""] * bool(number)
        yield from textwrap.wrap(" ".join(part.split()), width, break_on_hyphens=False)


def _first_sentence(text: str) -> str:
    return " ".join(text.strip().partition("\n\n")[0].split())


def _heading(title: str) -> str:
    """Bold on a terminal that may be coloured; the writer takes colours out for files."""
    return f"{title}:" if os.environ.get("NO_COLOR") else click.style(f"{title}:", bold=True)


def _width() -> int:
    import shutil  # with the modules of three compressions

    return min(max(shutil.get_terminal_size((80, 24)).columns, 60), _WIDEST)
