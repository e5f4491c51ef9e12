"""Exit codes, and conversion of external errors to one sentence on standard error."""

import contextlib
import errno
import os
import signal
import sys
from collections.abc import Iterator
from typing import NoReturn, TextIO

from perf2x.cli.messages import print_message
from perf2x.errors import OptionError, Perf2xError, is_out_of_memory

_DONE = 0
CANNOT = 1
"""The input cannot be converted, or the output cannot be written."""
USAGE = 2
GATE = 3
"""Converted, but a quality gate failed (--fail-if-…, --fail-above, --strict)."""
_INTERRUPTED = 130
"""128 + SIGINT, as shells do."""
_TERMINATED = 143
"""128 + SIGTERM, as shells do."""

_NO_MEMORY = "not enough memory; use fewer processes (--jobs 1), or a part of the recording (--time, --pid)"
_UNWRITABLE = frozenset(getattr(errno, name, 0) for name in ("ENOSPC", "EDQUOT", "EFBIG", "EIO", "EBADF"))
"""Errors of a full disk, a quota, a file size limit (ulimit -f), a failing device, a closed stream."""


@contextlib.contextmanager
def report_errors() -> Iterator[None]:
    """Run the body and flush standard output; print a sentence and raise SystemExit if either fails."""
    try:
        yield
        _flush_stdout()
    except Perf2xError as error:
        _exit(USAGE if isinstance(error, OptionError) else CANNOT, str(error))
    except KeyboardInterrupt:
        _exit(_INTERRUPTED, "interrupted; nothing was written")
    except _Terminated:
        _exit(_TERMINATED, "terminated; nothing was written")
    except BrokenPipeError:
        _redirect_to_null(sys.stdout)  # our reader (head, less) has closed the pipe
        _exit(_DONE)
    except MemoryError as error:
        _clear_frames(error)
        _exit(CANNOT, _NO_MEMORY)
    except OSError as error:
        _exit(CANNOT, _NO_MEMORY if error.errno == errno.ENOMEM else _os_error_sentence(error))
    except (ImportError, OverflowError, RuntimeError, SystemError, ValueError) as error:
        if not is_out_of_memory(error):
            raise
        _exit(CANNOT, _NO_MEMORY)


class _Terminated(BaseException):
    """SIGTERM or SIGHUP was received; unwinding the stack removes unfinished files."""


def exit_cleanly_on_signals() -> None:
    """Make SIGTERM and SIGHUP raise Terminated, unless they are ignored (nohup)."""

    def terminate(number: int, _: object) -> None:
        raise _Terminated(number)

    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, terminate)


def _exit(code: int, sentence: str = "") -> NoReturn:
    try:
        _flush_stdout()
    except OSError:
        _redirect_to_null(sys.stdout)
    if sentence:
        print_message(f"perf2x: {sentence}")
    raise SystemExit(code) from None


def _clear_frames(error: BaseException) -> None:
    """Clear the local variables of the failed functions, to free memory for printing the error."""
    trace = error.__traceback__
    while trace is not None:
        with contextlib.suppress(RuntimeError):  # a frame that is still executing
            trace.tb_frame.clear()
        trace = trace.tb_next


def _flush_stdout() -> None:
    """Flush standard output now, while a failure can still be reported, not when Python exits."""
    if sys.stdout is not None and not sys.stdout.closed:
        sys.stdout.flush()


def _os_error_sentence(error: OSError) -> str:
    """Return the sentence for an error of the operating system; base/files/atomic.py handles those of output files."""
    reason = error.strerror or str(error)
    if error.filename:
        return f"{error.filename}: {reason}"
    return f"cannot write to standard output: {reason}" if error.errno in _UNWRITABLE else reason


def ignore_unwritable_stderr() -> None:
    """At exit, discard the text that standard error did not accept.

    From Python 3.14 on it would cause exit code 120.
    """
    try:
        if sys.stderr is not None and not sys.stderr.closed:
            sys.stderr.flush()
    except OSError:
        _redirect_to_null(sys.stderr)


def _redirect_to_null(stream: TextIO) -> None:
    """Discard the rest of a standard stream, which Python flushes again at exit."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
