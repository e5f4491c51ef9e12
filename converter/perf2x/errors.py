"""Errors that end a conversion or give up an object; damage in single records is counted in diagnostics instead."""

import errno
from collections.abc import Mapping

_MEMORY_WORDS = (
    "failed to map segment",
    "cannot allocate memory",
    "can't start new thread",
    "without exception set",
    "without setting an exception",
    "mmap length",
    "array is too big",
    "maximum allowed",
    "index-sized integer",
    "too large to convert to c ssize_t",
)
"""Texts of other exceptions that a lack of memory causes.

Libraries cannot be loaded, threads cannot start, C functions fail without a reason because an allocation failed (two
texts of CPython), or sizes do not fit 32 bits (CPython and numpy).
"""


class Perf2xError(Exception):
    """Base of every error that perf2x raises on purpose; its text is one sentence for the user.

    The text is its arguments, joined. Every second argument is the library's name of a setting, which the command line
    replaces by its own name.
    """

    def __str__(self) -> str:
        return "".join(map(str, self.args))


class FormatError(Perf2xError):
    """The input cannot be read as a recording; the text names the place, and what was expected and found there."""


class OptionError(Perf2xError):
    """The options contradict each other or the recording (a usage error: exit code 2)."""


class SettingError(OptionError):
    """A setting with a value that cannot be accepted."""


class SeveralFunctionsError(OptionError):
    """A name that several functions may have: ``candidates`` has each with its cost, the highest first."""

    def __init__(self, typed: str, candidates: Mapping[str, str]) -> None:
        super().__init__(f"{typed!r} may be any of {len(candidates)} functions; name one of them in full")
        self.candidates = candidates


class ObjectError(Perf2xError):
    """One ELF file, map or symbol table cannot be read; the conversion goes on without it."""


class OutputError(Perf2xError):
    """The output cannot be written at the requested path."""


def reason(before: str, error: Exception) -> tuple[str, ...]:
    """Return the arguments of an error that has another error as its reason."""
    first, *settings = error.args if isinstance(error, Perf2xError) else (str(error),)
    return f"{before}: {first}", *settings


def is_out_of_memory(error: BaseException | None) -> bool:
    """Return whether an exception or one of its causes means that memory is short: numpy rewords failed imports."""
    while error is not None:
        if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
            return True
        if any(words in str(error).lower() for words in _MEMORY_WORDS):
            return True
        error = error.__cause__ or error.__context__
    return False
