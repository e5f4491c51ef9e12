"""The verdict of ``report`` and ``diff`` for a CI job: are the limits on quality and on growth met?"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from perf2x.base.frozen_struct import Frozen
from perf2x.cli.fail_if import exit_for_failed_gates, warn
from perf2x.cli.render.markdown_table import sentence_with_code
from perf2x.model.number_format import format_change, plural
from perf2x.model.printable_text import escaped

if TYPE_CHECKING:
    from perf2x.cli.diff.fail_above import GrowthVerdict
    from perf2x.cli.options.diff_options import GrowthFlags
    from perf2x.cli.render.screen import Screen
    from perf2x.tools.diff.changes import Comparison

_TOO_FEW = "too few samples to judge"
# With this many samples in each recording, growth of the total by 31 % can be told from noise.
_MIN_SAMPLES = 100


class Verdict(Frozen):
    """Whether a command's limits are met, and why."""

    outcome: str
    """``passed``; ``failed`` (something grew too much); ``unreliable`` (the recording exceeds a limit on quality, or a
    limit cannot be checked); ``too few samples to judge``; ``no baseline`` (no earlier recording of the same program).
    """
    reasons: list[str]
    """At least one sentence."""
    notes: list[str]
    """Sentences on what did not fail, as in GrowthVerdict."""

    @classmethod
    def combine(
        cls, flags: "GrowthFlags", quality_failures: list[str], growth: "GrowthVerdict | None", comparison: "Comparison"
    ) -> "Verdict":
        """Return the verdict on both kinds of limits: those on quality and those on growth (``flags``).

        Without an earlier recording, ``growth`` is None, and ``comparison`` compares the recording with itself.
        """
        limits = flags.fail_above
        failures = [*quality_failures, *(filter(None, (*growth.failures.values(), growth.cause)) if growth else ())]
        notes = growth.notes if growth else []
        if failures:
            return cls("unreliable" if quality_failures else "failed", failures, notes)
        if limits and not flags.any_change and (shortage := [*_sample_shortage(comparison)]):
            return cls(_TOO_FEW, shortage, notes)
        if limits and (growth is None or growth.other_program):
            reason = growth.other_program if growth else "there is no earlier recording to compare with"
            return cls("no baseline", [reason], notes)
        text = "nothing exceeds its limit" + (f" ({', '.join(limit.text for limit in limits)})" if limits else "")
        if growth is not None and not comparison.normalize:
            change = format_change(comparison.cost_after - comparison.before.cost, comparison.before.cost)
            text += f"; the total changed by {change}"
        return cls("passed", [text], notes)

    def exit_or_warn(self) -> None:
        """Print what failed and exit with code 3; warn if there are too few samples."""
        if self.outcome in ("failed", "unreliable"):
            exit_for_failed_gates(self.reasons)
        if self.outcome == _TOO_FEW:
            warn(self.reasons)

    def lines(self, screen: "Screen") -> Iterator[str]:
        """Yield lines for a terminal; the first has the outcome."""
        style = {"passed": "bold green", "failed": "bold red"}.get(self.outcome, "bold yellow")
        yield screen.paint(f"perf2x: {self.outcome}", style)
        for sentence in (*self.reasons, *self.notes):
            yield from screen.sentence(f"- {escaped(sentence)}", indent="  ")
        yield ""

    def markdown(self) -> Iterator[str]:
        """Yield lines of Markdown; the first has nothing but the outcome, so that scripts can read it."""
        yield f"### perf2x: {self.outcome}"
        yield ""
        for sentence in (*self.reasons, *self.notes):
            yield f"- {sentence_with_code(sentence)}"
        yield ""


def _sample_shortage(comparison: "Comparison") -> Iterator[str]:
    """Yield a sentence on the first recording with too few samples; counts of perf stat have no sampling noise."""
    for side, name in ((comparison.after, "the recording"), (comparison.before, "the earlier recording")):
        if side.samples < _MIN_SAMPLES and (side.samples or not side.cost):
            samples = plural(side.samples, "sample")
            yield f"{name} has {samples}, and a comparison needs {_MIN_SAMPLES}: record for longer"
            return
