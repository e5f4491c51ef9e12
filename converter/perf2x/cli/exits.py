"""Exit codes, and how errors made on purpose become one sentence on standard error."""

import functools
import os
import sys
from collections.abc import Callable
from typing import ParamSpec

import click

from perf2x.cli import console
from perf2x.model.errors import OptionError, Perf2xError

DONE = 0
CANNOT = 1
"""The input cannot be converted, or the output cannot be written."""
USAGE = 2
GATE = 3
"""Converted, but a quality gate closed (--fail-if-…, --fail-above, --strict)."""
INTERRUPTED = 130
"""As a shell counts a SIGINT."""

P = ParamSpec("P")


def guarded(command: Callable[P, None]) -> Callable[P, None]:
    """A command that answers Perf2xError with one sentence and an exit code; other exceptions are bugs and stay so."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except Perf2xError as error:
            console.note(f"perf2x: {error}")
            raise click.exceptions.Exit(USAGE if isinstance(error, OptionError) else CANNOT) from None
        except KeyboardInterrupt:
            click.echo("perf2x: interrupted; nothing was written", err=True)
            raise click.exceptions.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            # Our reader (head, less) has seen enough. Python flushes standard output once more when it exits.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise click.exceptions.Exit(DONE) from None

    return run
