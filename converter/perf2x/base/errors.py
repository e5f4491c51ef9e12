"""Errors that end a conversion or give up an object; damage in single records is counted in diagnostics instead."""

import errno

_MEMORY_WORDS = (
    "failed to map segment",
    "cannot allocate memory",
    "can't start new thread",
    "without exception set",
    "without setting an exception",
)
"""Texts of other exceptions when memory is short: on libraries that cannot be loaded, on threads, and the two that
CPython words for a C function that failed without a reason, as extensions do whose allocation failed."""


class Perf2xError(Exception):
    """Base of every error that perf2x raises on purpose; its text is one sentence for the user."""


class FormatError(Perf2xError):
    """The input cannot be read as a recording; the text says where, what was expected and what was found."""


class OptionError(Perf2xError):
    """The options contradict each other or the recording (a usage error: exit code 2)."""


class SettingError(OptionError):
    """A setting that cannot be taken; the text has the library's name for it, and the command line its own.

    The text is ``before``, the name, ``after``.
    """

    def __init__(self, before: str, setting: str, after: str = "") -> None:
        super().__init__(before, setting, after)  # all arguments, so that it passes from one process to another
        self.setting = setting

    def named(self, name: str) -> str:
        """The text with another name for the setting."""
        before, _, after = self.args
        return f"{before}{name}{after}"

    def __str__(self) -> str:
        return self.named(self.setting)


class ObjectError(Perf2xError):
    """One ELF file, map or symbol table cannot be read; the conversion goes on without it."""


class OutputError(Perf2xError):
    """The output cannot be written where it was asked for."""


def is_out_of_memory(error: BaseException | None) -> bool:
    """Whether an exception or one of its causes means that memory is short: numpy rewords failed imports."""
    while error is not None:
        if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
            return True
        if any(words in str(error).lower() for words in _MEMORY_WORDS):
            return True
        error = error.__cause__ or error.__context__
    return False
