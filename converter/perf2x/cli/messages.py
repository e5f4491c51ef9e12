"""Messages on standard error."""

import contextlib
from collections.abc import Iterable

import typer


def print_message(line: str) -> None:
    """Print one line on standard error; control characters are escaped, and a very long line is shortened."""
    from perf2x.model.printable_text import safe_message  # imported here to speed up --help

    print_text(safe_message(line))


def print_messages(lines: Iterable[str], quiet: bool) -> None:
    """Print each line, unless ``quiet``."""
    for line in () if quiet else lines:
        print_message(line)


def print_text(text: str) -> None:
    """Print text without control characters, such as JSON, on standard error."""
    with contextlib.suppress(OSError):  # the work continues
        typer.echo(text, err=True)
