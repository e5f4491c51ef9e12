"""Errors that end a conversion or give up an object; damage in single records is counted in diagnostics instead."""


class Perf2xError(Exception):
    """Base of every error that perf2x raises on purpose; its text is one sentence for the user."""


class FormatError(Perf2xError):
    """The input cannot be read as a recording; the text says where, what was expected and what was found."""


class OptionError(Perf2xError):
    """The options contradict each other or the recording (a usage error: exit code 2)."""


class ObjectError(Perf2xError):
    """One ELF file, map or symbol table cannot be read; the conversion goes on without it."""


class OutputError(Perf2xError):
    """The output cannot be written where it was asked for."""
