"""The outcome of all limits of a command, first in every summary: one of four words, and why."""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from perf2x.base.frozen import Frozen
from perf2x.cli.render.markdown_table import prose
from perf2x.model.number_format import format_change
from perf2x.model.printable_text import plain

if TYPE_CHECKING:
    from perf2x.cli.diff.fail_above import GateVerdict
    from perf2x.cli.render.screen import Screen
    from perf2x.tools.diff.changes import Comparison

_SIGN = re.compile(r"&#(43|61);(?=\d)")
"""A sign before a number, which is no markup; people read this Markdown in logs, too."""


class Verdict(Frozen):
    """The answer to a job."""

    outcome: str
    """``passed``; ``failed``; ``unreliable``: the recording exceeds a limit of quality; or ``no baseline``."""
    reasons: list[str]
    """Sentences; at least one."""
    notes: list[str]
    """Sentences on limits that matched nothing, and on changes that noise explains."""

    @classmethod
    def of(
        cls, limits: Sequence[str], quality: list[str], growth: "GateVerdict | None", whole: "Comparison | None"
    ) -> "Verdict":
        """Sum up what both kinds of gates found; without another recording, ``growth`` and ``whole`` are None.

        ``limits`` are those of --fail-above.
        """
        failed = [*quality, *(growth.failures if growth else ())]
        notes = [*growth.unmatched, *growth.notes] if growth else []
        if failed:
            return cls("unreliable" if quality else "failed", failed, notes)
        if limits and whole is None:
            return cls("no baseline", ["there is no earlier recording to compare with"], notes)
        text = "nothing exceeds its limit" + (f" ({', '.join(limits)})" if limits else "")
        if whole is not None and not whole.normalize:
            change = format_change(whole.whole_after - whole.before.whole, whole.before.whole)
            text += f"; the whole changed by {change}"
        return cls("passed", [text], notes)

    @property
    def failures(self) -> list[str]:
        """Reasons to end with exit code 3."""
        return self.reasons if self.outcome in ("failed", "unreliable") else []

    def lines(self, screen: "Screen") -> Iterator[str]:
        """Lines for people at a terminal, the word in the first."""
        style = {"passed": "bold green", "failed": "bold red"}.get(self.outcome, "bold yellow")
        yield screen.paint(f"perf2x: {self.outcome}", style)
        for sentence in (*self.reasons, *self.notes):
            yield from screen.sentence(f"- {plain(sentence)}", indent="  ")
        yield ""

    def markdown(self) -> Iterator[str]:
        """Lines of Markdown, the word alone in the first; scripts read it there."""
        yield f"### perf2x: {self.outcome}"
        yield ""
        for sentence in (*self.reasons, *self.notes):
            yield "- " + _SIGN.sub(lambda found: chr(int(found[1])), prose(sentence))
        yield ""
