"""Exit codes, and how everything that can go wrong outside becomes one sentence on standard error."""

import contextlib
import errno
import os
import signal
import sys
from collections.abc import Iterator
from typing import NoReturn, TextIO

from perf2x.cli.messages import print_message
from perf2x.tables.errors import OptionError, Perf2xError

DONE = 0
CANNOT = 1
"""The input cannot be converted, or the output cannot be written."""
USAGE = 2
GATE = 3
"""Converted, but a quality gate closed (--fail-if-…, --fail-above, --strict)."""
INTERRUPTED = 130
"""As a shell counts a SIGINT."""
TERMINATED = 143
"""As a shell counts a SIGTERM."""

_NO_MEMORY = "not enough memory; fewer processes (--jobs 1) or a part of the recording (--time, --pid) need less"
_MEMORY_WORDS = ("failed to map segment", "cannot allocate memory", "can't start new thread")
"""What other exceptions say when memory is short: of libraries that cannot be loaded, of threads."""

_FULL = frozenset(getattr(errno, name, 0) for name in ("ENOSPC", "EDQUOT", "EFBIG", "EIO"))
"""A disk, a quota, a limit for files (ulimit -f), a device that fails."""


@contextlib.contextmanager
def report_errors() -> Iterator[None]:
    """Run what is inside, and flush standard output; SystemExit with one sentence when that goes wrong."""
    try:
        yield
        _flush()
    except Perf2xError as error:
        _leave(USAGE if isinstance(error, OptionError) else CANNOT, str(error))
    except KeyboardInterrupt:
        _leave(INTERRUPTED, "interrupted; nothing was written")
    except Terminated:
        _leave(TERMINATED, "terminated; nothing was written")
    except BrokenPipeError:
        _redirect_to_null(sys.stdout)  # our reader (head, less) has seen enough
        _leave(DONE)
    except MemoryError as error:
        _forget(error)
        _leave(CANNOT, _NO_MEMORY)
    except OSError as error:
        _leave(CANNOT, _NO_MEMORY if error.errno == errno.ENOMEM else _trouble(error))
    except (ImportError, RuntimeError) as error:
        if not _is_out_of_memory(error):
            raise
        _leave(CANNOT, _NO_MEMORY)


def _is_out_of_memory(error: BaseException | None) -> bool:
    """Whether an exception, or one that it came from, is for want of memory: numpy words failed imports anew."""
    while error is not None:
        if isinstance(error, MemoryError) or any(words in str(error).lower() for words in _MEMORY_WORDS):
            return True
        error = error.__cause__ or error.__context__
    return False


class Terminated(BaseException):
    """SIGTERM or SIGHUP came: what is half done is taken away on the way out."""


def exit_cleanly_on_signals() -> None:
    """Let SIGTERM and SIGHUP raise Terminated, unless they are ignored (nohup)."""

    def terminate(number: int, _: object) -> None:
        raise Terminated(number)

    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, terminate)


def _leave(code: int, sentence: str = "") -> NoReturn:
    try:
        _flush()
    except OSError:
        _redirect_to_null(sys.stdout)
    if sentence:
        print_message(f"perf2x: {sentence}")
    raise SystemExit(code) from None


def _forget(error: BaseException) -> None:
    """Let go of what the functions that failed were holding, so that there is memory to say so."""
    trace = error.__traceback__
    while trace is not None:
        with contextlib.suppress(RuntimeError):  # a function that is still at it
            trace.tb_frame.clear()
        trace = trace.tb_next


def _flush() -> None:
    """Now, when there is still somebody to say that it failed, not when Python exits."""
    if sys.stdout is not None and not sys.stdout.closed:
        sys.stdout.flush()


def _trouble(error: OSError) -> str:
    """The sentence for what the system refused; files that are written say so themselves (files/output.py)."""
    reason = error.strerror or str(error)
    if error.filename:
        return f"{error.filename}: {reason}"
    return f"cannot write to standard output: {reason}" if error.errno in _FULL else reason


def ignore_unwritable_stderr() -> None:
    """Let go, at exit, of what standard error did not take; from Python 3.14 on that would end in exit code 120."""
    try:
        if sys.stderr is not None and not sys.stderr.closed:
            sys.stderr.flush()
    except OSError:
        _redirect_to_null(sys.stderr)


def _redirect_to_null(stream: TextIO) -> None:
    """Let what is left in a standard stream go nowhere: Python flushes it once more when it exits."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
