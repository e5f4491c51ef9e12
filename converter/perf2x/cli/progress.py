"""What goes to standard error: notes, and a progress bar when a person is watching."""

import contextlib
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

from perf2x.tables.printable import message

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from perf2x.pipeline.context import Progress

_BAR_AFTER_S = 0.7
"""Work shorter than this shows no bar, so that small files do not flicker."""


def note(line: str) -> None:
    """One line on standard error, without control characters and of bounded length (tables/printable.py)."""
    block(message(line))


def block(text: str) -> None:
    """Text as it is on standard error: JSON, which has no control characters but its line ends."""
    with contextlib.suppress(OSError):  # nobody is there to hear, or the log is on a full disk: the work goes on
        typer.echo(text, err=True)


@contextlib.contextmanager
def progress(quiet: bool) -> "Iterator[Progress | None]":
    """A callback that draws a bar on long work; None when standard error is no terminal or the user wants quiet."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    shown = _Shown()
    try:
        yield shown.update
    finally:
        shown.close()


class _Shown:
    """A rich bar that appears late and goes when the work is done."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._bar: Bar | None = None
        self._tasks: dict[str, int] = {}

    def update(self, stage: str, done: int, total: int) -> None:
        if self._bar is None:
            if time.monotonic() - self._start < _BAR_AFTER_S:
                return
            self._bar = _open_bar()
        task = self._tasks.get(stage)
        if task is None:
            task = self._tasks[stage] = self._bar.add_task(stage, total=total or None)
        self._bar.update(task, completed=done, total=total or None)  # type: ignore[arg-type]

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()


def _open_bar() -> "Bar":
    from rich.console import Console
    from rich.progress import Progress as Bar

    bar = Bar(console=Console(stderr=True), transient=True)
    bar.start()
    return bar
