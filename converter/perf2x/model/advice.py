"""Advice on how to record better, in sentences with recorded names, which each output quotes in its own style."""

from collections.abc import Callable

from perf2x.base.frozen_struct import Frozen


class Advice(Frozen):
    """One sentence of advice: ``text``, in which ``{0}``, ``{1}`` … stand for ``names``, then ``command``."""

    about: str  # key of the kind of advice, for programs, such as "undated"
    text: str
    names: tuple[str, ...] = ()
    concerns_dates: bool = False
    """Whether the advice matters only to outputs that show the time of day."""

    command: str = ""
    """The command of perf2x that the sentence ends with; "" if it ends with none."""

    def with_names(self, quote: Callable[[str], str]) -> str:
        """Fill in the names; ``quote`` puts a name in quotes."""
        return self.text.format(*map(quote, self.names)) + self.command

    def sentence(self) -> str:
        """The whole sentence, with names in single quotes."""
        return self.with_names(lambda name: f"'{name}'")
