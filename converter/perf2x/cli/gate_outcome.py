"""The combined outcome of all limits of a command, printed first in every summary, with reasons."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from perf2x.base.frozen_struct import Frozen
from perf2x.cli.fail_if import exit_for_failed_gates, warn
from perf2x.cli.render.markdown_table import sentence_with_code
from perf2x.model.number_format import format_change, plural
from perf2x.model.printable_text import plain

if TYPE_CHECKING:
    from perf2x.cli.diff.fail_above import GateVerdict
    from perf2x.cli.options.diff_options import ComparisonFlags
    from perf2x.cli.render.screen import Screen
    from perf2x.tools.diff.changes import Comparison

_TOO_FEW = "too few samples to judge"
_FEWEST = 100
"""With this many samples, growth of the total by 31 % can be distinguished from noise."""


class Verdict(Frozen):
    """The outcome for a CI job."""

    outcome: str
    """``passed``, ``failed``, ``unreliable`` (the recording exceeds a limit of quality), ``too few samples to judge``,
    or ``no baseline`` (nothing to compare with).
    """
    reasons: list[str]
    """At least one sentence."""
    notes: list[str]
    """Sentences on limits that matched nothing, and on changes within noise."""

    @classmethod
    def of(
        cls, flags: "ComparisonFlags", quality: list[str], growth: "GateVerdict | None", whole: "Comparison"
    ) -> "Verdict":
        """Combine the results of both kinds of gates.

        Without another recording, ``growth`` is None, and ``whole`` compares the recording with itself.
        """
        limits = flags.fail_above
        failed = [*quality, *(filter(None, (*growth.failures.values(), growth.cause)) if growth else ())]
        notes = growth.notes if growth else []
        if failed:
            return cls("unreliable" if quality else "failed", failed, notes)
        if limits and not flags.any_change and (few := [*_too_few(whole)]):
            return cls(_TOO_FEW, few, notes)
        if limits and (growth is None or growth.other_program):
            why = growth.other_program if growth else "there is no earlier recording to compare with"
            return cls("no baseline", [why], notes)
        text = "nothing exceeds its limit" + (f" ({', '.join(one.text for one in limits)})" if limits else "")
        if growth is not None and not whole.normalize:
            change = format_change(whole.whole_after - whole.before.whole, whole.before.whole)
            text += f"; the total changed by {change}"
        return cls("passed", [text], notes)

    def end(self) -> None:
        """Print what failed and exit with code 3, or warn that nothing could be judged."""
        if self.outcome in ("failed", "unreliable"):
            exit_for_failed_gates(self.reasons)
        if self.outcome == _TOO_FEW:
            warn(self.reasons)

    def lines(self, screen: "Screen") -> Iterator[str]:
        """Yield lines for people at a terminal, with the outcome in the first."""
        style = {"passed": "bold green", "failed": "bold red"}.get(self.outcome, "bold yellow")
        yield screen.paint(f"perf2x: {self.outcome}", style)
        for sentence in (*self.reasons, *self.notes):
            yield from screen.sentence(f"- {plain(sentence)}", indent="  ")
        yield ""

    def markdown(self) -> Iterator[str]:
        """Yield lines of Markdown, with only the outcome in the first, for scripts."""
        yield f"### perf2x: {self.outcome}"
        yield ""
        for sentence in (*self.reasons, *self.notes):
            yield f"- {sentence_with_code(sentence)}"
        yield ""


def _too_few(sides: "Comparison") -> Iterator[str]:
    """Yield a sentence on a recording with too few samples.

    Counts of perf stat are never too few: they have no samples, and no sampling noise.
    """
    for side, which in ((sides.after, "the recording"), (sides.before, "the earlier recording")):
        if side.samples < _FEWEST and (side.samples or not side.whole):
            yield f"{which} has {plural(side.samples, 'sample')}, and a comparison needs {_FEWEST}: record for longer"
            return
