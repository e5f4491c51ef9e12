"""``perf2x man``: the manual page, generated from the commands."""

from collections.abc import Iterator

import typer
from typer.core import TyperCommand, TyperOption

from perf2x import __version__
from perf2x.cli.help import help_row

_TAIL = r""".SH EXIT STATUS
.TP
0
done
.TP
1
the input cannot be converted, or the output cannot be written
.TP
2
usage, or a filter that matched nothing
.TP
3
done, but a quality gate failed (\-\-fail\-if\-\&..., \-\-fail\-above, \-\-strict)
.SH ENVIRONMENT
.TP
PERF2X_OPTION
The default of \-\-option, of any command: PERF2X_FAIL_IF_LOST=1.
.TP
DEBUGINFOD_URLS
Servers to ask for symbols.
.TP
PERF2X_SYSROOT
Directory that stands for / where perf2x reads files by itself: /usr/lib/debug, /boot, /lib/modules, /proc,
/sys, /tmp and recorded paths.
.TP
NO_COLOR
No colours.
.SH FILES
.TP
pyproject.toml, perf2x.toml
Defaults of options, in [tool.perf2x] and [tool.perf2x.COMMAND], or at the top of perf2x.toml.
.SH SEE ALSO
.BR perf\-record (1),
.BR perf\-script (1)"""


def man() -> None:
    """Print the manual page: perf2x man | man -l -."""
    from perf2x.cli.app import COMMANDS, command

    for line in page({name: command(name) for name in COMMANDS}):
        typer.echo(line)


def page(commands: dict[str, TyperCommand]) -> Iterator[str]:
    """Lines of roff (man macros)."""
    yield f'.TH PERF2X 1 "" "perf2x {__version__}" "User Commands"'
    yield r".SH NAME" + "\n" + r"perf2x \- convert Linux perf.data recordings"
    yield ".SH SYNOPSIS\n.B perf2x\n.I COMMAND\n[OPTION]... [INPUT]..."
    for name, command in commands.items():
        yield f".SH {_escape_roff(name.upper())}"
        yield from (_escape_roff(part) for part in (command.help or "").strip().splitlines())
        context = typer.Context(command, info_name=name)
        for parameter in command.params:
            yield from _option_lines(parameter, context)
    yield _TAIL


def _option_lines(parameter: object, context: typer.Context) -> Iterator[str]:
    row = help_row(parameter, context) if isinstance(parameter, TyperOption) else None
    if row is not None:
        names, text = row
        yield f".TP\n.B {_escape_roff(names)}"
        yield _escape_roff(text)


def _escape_roff(text: str) -> str:
    escaped = text.replace("…", "...").replace("\\", r"\e").replace("-", r"\-")
    escaped = "".join(char if char.isascii() else f"\\[u{ord(char):04X}]" for char in escaped)
    return r"\&" + escaped if escaped.startswith((".", "'")) else escaped
