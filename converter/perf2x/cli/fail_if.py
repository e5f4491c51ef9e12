"""Quality gates for CI: after writing the output, exit with code 3 if a share exceeds its limit."""

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import typer

from perf2x.cli.error_handling import GATE
from perf2x.cli.messages import print_message
from perf2x.cli.options.gate_options import LIMITS, GateFlags
from perf2x.errors import OptionError
from perf2x.model.printable_text import message

if TYPE_CHECKING:
    from perf2x.kernel.load_result import Loaded
    from perf2x.tools.diff.recording_pair import RecordingPair


def check_gates(gates: GateFlags, has_symbols: bool) -> None:
    """Raise OptionError for a limit that the command cannot check, before any work is done."""
    if "unresolved" in dict(gates.fail_if) and not has_symbols:
        raise OptionError("--fail-if unresolved needs names, so it excludes --no-symbols")


def failed_gates(gates: GateFlags, loaded: "Loaded") -> Iterator[str]:
    """Yield a sentence for every gate that the recording fails."""
    measured, limits = quality_percentages(loaded), dict(gates.fail_if)
    for name, what in LIMITS.items():
        if measured[name] > limits.get(name, 100):
            typed = f"--fail-if {name.replace('_', '-')}"
            yield f"{measured[name]:.2f} % {what}, more than {limits[name]:g} % ({typed})"
    missing = ", ".join(count.words for count in loaded.diagnostics.missing_ends())
    if missing and limits.get("lost", 100) < 100:
        yield f"{missing}: an unknown number of samples is missing (--fail-if lost)"
    if limits.get("unresolved", 100) < 100:
        yield from _replaced_objects([loaded], "unresolved names", "--fail-if unresolved")
    for count in loaded.diagnostics.losses if gates.strict else ():
        yield f"{count.words} (--strict); {count.advice}"


def _replaced_objects(recordings: "Iterable[Loaded]", what: str, typed: str) -> Iterator[str]:
    """Yield a sentence for each recording with unnamed programs whose files have changed since.

    ``what``: limits on it cannot be checked for such a recording.
    """
    for loaded in recordings:
        count = loaded.diagnostics.counts.get("objects_replaced")
        if count is not None:
            found = f"{', '.join(loaded.sources)}: {count.words}, {count.first} first"
            yield f"{found}, so {what} cannot be judged ({typed})"


def unchecked_growth(pair: "RecordingPair", limits: Sequence[object]) -> list[str]:
    """Return sentences on why limits of growth cannot be checked for a pair of recordings."""
    return [*_replaced_objects((pair.before, pair.after), "changes", "--fail-above")] if limits else []


def quality_percentages(loaded: "Loaded") -> dict[str, float]:
    """Return the shares that gates limit, in percent: ``unresolved``, ``lost``, ``missing_user``."""
    lost = loaded.diagnostics.lost
    missing = loaded.deferred.missing + loaded.deferred.refused
    return {
        "unresolved": 100 * (1 - loaded.symbols.sample_share) if loaded.symbols is not None else 0.0,
        "lost": 100 * lost / (loaded.recorded_samples + lost) if lost else 0.0,
        "missing_user": 100 * missing / loaded.recorded_samples if missing else 0.0,
    }


def exit_for_failed_gates(sentences: list[str]) -> None:
    """Print the sentences in the format of the current CI, and exit with code 3; do nothing without sentences."""
    for sentence in sentences:
        _print_line("error", sentence)
    if sentences:
        raise typer.Exit(GATE)


def warn(sentences: Iterable[str]) -> None:
    """Print the sentences in the format of the current CI."""
    for sentence in sentences:
        _print_line("warning", sentence)


def warn_of_losses(loaded: "Loaded") -> None:
    """In GitHub Actions, annotate the run with a warning for every loss; do nothing elsewhere."""
    warn(count.sentence for count in loaded.diagnostics.losses if _is_github())


def _is_github() -> bool:
    return os.environ.get("GITHUB_ACTIONS") == "true"


def _print_line(level: str, sentence: str) -> None:
    """Print one line on standard error: for GitHub as an annotation, escaped; for GitLab in red."""
    if _is_github():
        print_message(f"::{level} title=perf2x::{message(sentence).replace('%', '%25')}")
    elif level == "error" and os.environ.get("GITLAB_CI") == "true" and not os.environ.get("NO_COLOR"):
        typer.echo(f"\x1b[1;31mperf2x: {message(sentence)}\x1b[0m", err=True, color=True)
    else:
        print_message(f"perf2x: {sentence}")
