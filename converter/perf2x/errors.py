"""Errors that end a conversion or give up an object; damage in single records is counted in diagnostics instead."""

import errno
from collections.abc import Mapping

_OUT_OF_MEMORY_TEXTS = (
    # the system: a library cannot be loaded, a thread cannot be started
    "failed to map segment",
    "cannot allocate memory",
    "can't start new thread",
    # CPython: an allocation failed in a C function, which returned an error, but did not set an exception
    "without exception set",
    "without setting an exception",
    # CPython and numpy: a size exceeds what a 32-bit process can address
    "mmap length",
    "array is too big",
    "maximum allowed",
    "index-sized integer",
    "too large to convert to c ssize_t",
)
"""Parts of the texts, in lower case, of exceptions other than MemoryError that are raised when memory is short."""


class Perf2xError(Exception):
    """Base of every error that perf2x raises on purpose; its text is one sentence for the user.

    The text is its arguments, joined. Every second argument is the library's name of a setting, which the command line
    replaces by the name of its option: ``Perf2xError("it is too large; ", "max_unpacked", " raises the limit")`` ends
    with "--max-unpacked raises the limit" there.
    """

    def __str__(self) -> str:
        return "".join(map(str, self.args))


class FormatError(Perf2xError):
    """The input cannot be read as a recording; the text says where, what was expected there, and what was found."""


class OptionError(Perf2xError):
    """Options cannot be accepted: they are malformed, or contradict each other or the recording (exit code 2)."""


class SettingError(OptionError):
    """One setting cannot be accepted because of its value, the output format or the input.

    Every second argument is a setting's name, as in Perf2xError.
    """


class SeveralFunctionsError(OptionError):
    """A name of a function that the user typed means several functions.

    ``candidates`` maps their full names to their costs as text, highest cost first.
    """

    def __init__(self, typed: str, candidates: Mapping[str, str]) -> None:
        super().__init__(f"{typed!r} may be any of {len(candidates)} functions; name one of them in full")
        self.candidates = candidates


class ObjectError(Perf2xError):
    """An object, a part of it, or another file with names, such as a perf map, cannot be read.

    A conversion goes on without it.
    """


class OutputError(Perf2xError):
    """The output cannot be written at the requested path."""


def prefixed_args(prefix: str, error: Exception) -> tuple[str, ...]:
    """Return arguments for a Perf2xError: the text is ``prefix``, a colon, and the text of ``error``.

    Names of settings in ``error`` stay separate arguments, so that the command line can replace them.
    """
    first, *others = error.args if isinstance(error, Perf2xError) else (str(error),)
    return f"{prefix}: {first}", *others


def is_out_of_memory(error: BaseException | None) -> bool:
    """Return whether an exception, or one of its causes, means that memory is short.

    Causes count, because numpy, for instance, raises an ImportError of its own after a library could not be loaded.
    """
    while error is not None:
        if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
            return True
        if any(text in str(error).lower() for text in _OUT_OF_MEMORY_TEXTS):
            return True
        error = error.__cause__ or error.__context__
    return False
