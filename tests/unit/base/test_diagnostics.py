"""Counts of what was skipped, lost or guessed."""

from perf2x.base.diagnostics import Diagnostics, Severity


def test_losses_are_neither_guesses_nor_remarks() -> None:
    diagnostics = Diagnostics()
    for severity in Severity:
        diagnostics.add(f"a_{severity}", severity, "look again" if severity is Severity.LOSS else "")
    assert [count.name for count in diagnostics.losses] == ["a_loss"]
    sentences = [count.sentence for count in diagnostics.counts.values()]
    assert sentences == ["1 a info", "1 a guess", "1 a loss; look again"]
