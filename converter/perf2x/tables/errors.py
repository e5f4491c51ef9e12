"""Errors that end a conversion or give up an object; damage in single records is counted in diagnostics instead."""


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
