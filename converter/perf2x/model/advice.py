"""Advice on how to record better: sentences with recorded names, which each output quotes in its own way."""

from collections.abc import Callable

from perf2x.base.frozen_struct import Frozen


class Advice(Frozen):
    """One sentence with placeholders ``{0}``, ``{1}`` … for recorded names."""

    about: str
    text: str
    names: tuple[str, ...] = ()
    for_dates: bool = False
    """Whether it matters only to outputs that show the time of day."""

    command: str = ""
    """The command of perf2x that the sentence ends with."""

    def with_names(self, quoted: Callable[[str], str]) -> str:
        """Return the sentence with its names, each quoted by ``quoted``, and its command."""
        return self.text.format(*map(quoted, self.names)) + self.command

    def words(self) -> str:
        """Return the sentence with its names in quotes."""
        return self.with_names(lambda name: f"'{name}'")
