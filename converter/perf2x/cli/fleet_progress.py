"""Shows the progress of a command on a dataset: a line that is rewritten on a terminal, a line every 15 s in a log."""

import sys
import time
from typing import TYPE_CHECKING

import typer

from perf2x.cli.messages import print_message
from perf2x.model.number_format import plural

if TYPE_CHECKING:
    from perf2x.fleet.executors import TaskTotals

_LOG_INTERVAL_S = 15.0


class FleetProgress:
    """Prints how much is done, the rate, and an estimate of the remaining time."""

    def __init__(self, quiet: bool, plural_noun: str) -> None:
        self._plural_noun = plural_noun
        self._quiet, self._is_terminal = quiet, sys.stderr.isatty()
        self._start = self._last_print = time.monotonic()

    def __call__(self, totals: "TaskTotals") -> None:
        """Print the totals so far, unless a line was printed recently."""
        now = time.monotonic()
        interval = 0.2 if self._is_terminal else _LOG_INTERVAL_S
        if self._quiet or now - self._last_print < interval:
            return
        self._last_print = now
        line = progress_line(totals, now - self._start, self._plural_noun)
        if self._is_terminal:
            typer.echo(f"\r\x1b[K{line}", err=True, nl=False)
        else:
            print_message(line)

    def close(self) -> None:
        """Erase the line on a terminal."""
        if self._is_terminal and not self._quiet:
            typer.echo("\r\x1b[K", err=True, nl=False)


def progress_line(totals: "TaskTotals", seconds: float, plural_noun: str) -> str:
    """Return a line such as ``120 of 1,000 recordings, 12.0/s, 73 s left, 2 errors``."""
    rate = totals.done / seconds if seconds > 0 else 0.0
    parts = [f"{totals.done:,} of {totals.total:,} {plural_noun}", f"{rate:.1f}/s"]
    if rate and 10 * totals.done >= totals.total:
        parts.append(f"{(totals.total - totals.done) / rate:.0f} s left")
    if totals.failed:
        parts.append(plural(totals.failed, "error"))
    return ", ".join(parts)
