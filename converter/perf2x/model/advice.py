"""Advice on how to record better, in sentences that quote recorded names each in its own way."""

from collections.abc import Callable

from perf2x.base.frozen import Frozen


class Advice(Frozen):
    """One sentence; ``{0}``, ``{1}`` … in it stand for recorded names."""

    about: str
    text: str
    names: tuple[str, ...] = ()
    for_dates: bool = False
    """Whether it matters only where the time of day is shown."""

    def with_names(self, quoted: Callable[[str], str]) -> str:
        """The sentence with its names, each as ``quoted`` writes it."""
        return self.text.format(*map(quoted, self.names))

    def words(self) -> str:
        """The sentence with its names in quotes."""
        return self.with_names(lambda name: f"'{name}'")
