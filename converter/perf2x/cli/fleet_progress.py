"""Shows the progress of a command on a dataset: a terminal has one line that is rewritten, a log a line every 15 s."""

import sys
import time
from typing import TYPE_CHECKING

import typer

from perf2x.cli.messages import print_message
from perf2x.model.number_format import plural

if TYPE_CHECKING:
    from perf2x.fleet.executors import TaskTotals

# Seconds between two lines in a log.
_LOG_INTERVAL_S = 15.0


class FleetProgress:
    """Prints how much is done, the rate, and an estimate of the remaining time.

    ``plural_noun`` names what is counted: ``recordings``.
    """

    def __init__(self, quiet: bool, plural_noun: str) -> None:
        self._plural_noun = plural_noun
        self._quiet, self._is_terminal = quiet, sys.stderr.isatty()
        self._start = self._last_print = time.monotonic()

    def __call__(self, totals: "TaskTotals") -> None:
        """Print the totals so far, unless the last line was printed less than an interval ago."""
        now = time.monotonic()
        interval = 0.2 if self._is_terminal else _LOG_INTERVAL_S  # in seconds
        if self._quiet or now - self._last_print < interval:
            return
        self._last_print = now
        line = progress_line(totals, now - self._start, self._plural_noun)
        if self._is_terminal:
            # go to the beginning of the line, and erase the line
            typer.echo(f"\r\x1b[K{line}", err=True, nl=False)
        else:
            print_message(line)

    def close(self) -> None:
        """Erase the line on a terminal."""
        if self._is_terminal and not self._quiet:
            typer.echo("\r\x1b[K", err=True, nl=False)


def progress_line(totals: "TaskTotals", seconds: float, plural_noun: str) -> str:
    """Return a line such as ``120 of 1,000 recordings, 12.0/s, 73 s left, 2 errors``.

    ``seconds`` is the time since the start. The remaining time is shown only after a tenth of the work is done.
    """
    rate = totals.done / seconds if seconds > 0 else 0.0
    parts = [f"{totals.done:,} of {totals.total:,} {plural_noun}", f"{rate:.1f}/s"]
    if rate and 10 * totals.done >= totals.total:
        parts.append(f"{(totals.total - totals.done) / rate:.0f} s left")
    if totals.failed:
        parts.append(plural(totals.failed, "error"))
    return ", ".join(parts)
