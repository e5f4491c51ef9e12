"""Turns failures into one sentence on standard error and an exit code; only bugs in perf2x end with a traceback."""

import contextlib
import errno
import os
import signal
import sys
from collections.abc import Iterator
from typing import NoReturn, TextIO

from perf2x.cli.messages import print_message
from perf2x.errors import OptionError, Perf2xError, is_out_of_memory

_EXIT_OK = 0
EXIT_FAILURE = 1
"""The input cannot be converted, or the output cannot be written."""
EXIT_USAGE = 2
EXIT_GATE = 3
"""The output was written, but a gate failed (--fail-if, --fail-above, --fail-above-errors, --strict)."""
# 128 + SIGINT
_EXIT_INTERRUPTED = 130
# 128 + SIGTERM
_EXIT_TERMINATED = 143

_NO_MEMORY = "not enough memory; use fewer processes (--jobs 1), or a part of the recording (--time, --pid)"
# Values of errno after a failed write; 0 stands for one that this operating system lacks.
_UNWRITABLE_ERRNOS = frozenset(getattr(errno, name, 0) for name in ("ENOSPC", "EDQUOT", "EFBIG", "EIO", "EBADF"))


@contextlib.contextmanager
def report_errors() -> Iterator[None]:
    """Run the body of the ``with`` statement and flush standard output.

    If either fails, print a sentence and raise SystemExit. Exceptions that only a bug can cause pass through.
    """
    try:
        yield
        _flush_stdout()
    except Perf2xError as error:
        _exit(EXIT_USAGE if isinstance(error, OptionError) else EXIT_FAILURE, str(error))
    except KeyboardInterrupt:
        _exit(_EXIT_INTERRUPTED, "interrupted")
    except _Terminated:
        _exit(_EXIT_TERMINATED, "terminated")
    except BrokenPipeError:
        _redirect_to_null(sys.stdout)  # the program that reads our output (head, less) has ended
        _exit(_EXIT_OK)
    except MemoryError as error:
        _clear_frames(error)
        _exit(EXIT_FAILURE, _NO_MEMORY)
    except OSError as error:
        _exit(EXIT_FAILURE, _NO_MEMORY if error.errno == errno.ENOMEM else _os_error_sentence(error))
    except (ImportError, OverflowError, RuntimeError, SystemError, ValueError) as error:
        if not is_out_of_memory(error):
            raise
        _exit(EXIT_FAILURE, _NO_MEMORY)


class _Terminated(BaseException):
    """Raised when SIGTERM or SIGHUP arrives, so that ``finally`` clauses remove unfinished files."""


def exit_cleanly_on_signals() -> None:
    """Make SIGTERM and SIGHUP raise ``_Terminated``, unless they are ignored (nohup)."""

    def terminate(signal_number: int, _: object) -> None:
        raise _Terminated(signal_number)

    for name in ("SIGTERM", "SIGHUP"):
        signal_number = getattr(signal, name, None)
        if signal_number is not None and signal.getsignal(signal_number) is signal.SIG_DFL:
            signal.signal(signal_number, terminate)


def _exit(code: int, sentence: str = "") -> NoReturn:
    try:
        _flush_stdout()
    except OSError:
        _redirect_to_null(sys.stdout)
    if sentence:
        print_message(f"perf2x: {sentence}")
    raise SystemExit(code) from None


def _clear_frames(error: BaseException) -> None:
    """Free the local variables in the traceback, because printing the sentence needs memory."""
    trace = error.__traceback__
    while trace is not None:
        with contextlib.suppress(RuntimeError):  # a frame that is still executing cannot be cleared
            trace.tb_frame.clear()
        trace = trace.tb_next


def _flush_stdout() -> None:
    """Flush standard output while a failure can still be reported; Python would do it at exit."""
    if sys.stdout is not None and not sys.stdout.closed:
        sys.stdout.flush()


def _os_error_sentence(error: OSError) -> str:
    reason = error.strerror or str(error)
    if error.filename:
        return f"{error.filename}: {reason}"
    return f"cannot write to standard output: {reason}" if error.errno in _UNWRITABLE_ERRNOS else reason


def ignore_unwritable_stderr() -> None:
    """Flush standard error, or discard its buffer. Otherwise, Python would fail to flush it and exit with code 120."""
    try:
        if sys.stderr is not None and not sys.stderr.closed:
            sys.stderr.flush()
    except OSError:
        _redirect_to_null(sys.stderr)


def _redirect_to_null(stream: TextIO) -> None:
    """Redirect a broken standard stream to the null device, because Python flushes it once more at exit."""
    with contextlib.suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
