"""``--fail-if`` and ``--strict``: exit code 3 if too much of a recording is missing or unnamed."""

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import typer

from perf2x.cli.error_handling import EXIT_GATE
from perf2x.cli.messages import print_message
from perf2x.cli.options.gate_options import LIMITS, GateFlags
from perf2x.errors import OptionError
from perf2x.model.printable_text import safe_message

if TYPE_CHECKING:
    from perf2x.kernel.load_result import Loaded
    from perf2x.tools.diff.recording_pair import RecordingPair


def refuse_uncheckable_gates(flags: GateFlags, looks_up_names: bool) -> None:
    """Raise OptionError for a limit that the command cannot check."""
    if "unresolved" in dict(flags.fail_if) and not looks_up_names:
        raise OptionError("--fail-if unresolved needs names, so it excludes --no-symbols")


def failed_gates(flags: GateFlags, loaded: "Loaded") -> Iterator[str]:
    """Yield a sentence for every limit that the recording exceeds, or that cannot be checked for it."""
    percentages, limits = quality_percentages(loaded), dict(flags.fail_if)
    # 100 stands for no limit
    for name, description in LIMITS.items():
        if percentages[name] > limits.get(name, 100):
            option = f"--fail-if {name.replace('_', '-')}"
            yield f"{percentages[name]:.2f} % {description}, more than {limits[name]:g} % ({option})"
    missing_ends = ", ".join(count.text for count in loaded.diagnostics.missing_ends())
    if missing_ends and limits.get("lost", 100) < 100:
        yield f"{missing_ends}: an unknown number of samples is missing (--fail-if lost)"
    if limits.get("unresolved", 100) < 100:
        yield from _sentences_on_replaced_programs([loaded], "unresolved names", "--fail-if unresolved")
    for count in loaded.diagnostics.losses if flags.strict else ():
        yield f"{count.text} (--strict); {count.advice}"


def _sentences_on_replaced_programs(recordings: "Iterable[Loaded]", subject: str, option: str) -> Iterator[str]:
    """Yield a sentence for each recording whose programs were replaced on disk: their functions lack names."""
    for loaded in recordings:
        count = loaded.diagnostics.counts.get("objects_replaced")
        if count is not None:
            replaced = f"{', '.join(loaded.sources)}: {count.text}, {count.first} first"
            yield f"{replaced}, so {subject} cannot be judged ({option})"


def unchecked_growth(pair: "RecordingPair", limits: Sequence[object]) -> list[str]:
    """Return sentences on why the ``limits`` on growth cannot be checked for a pair of recordings."""
    recordings = (pair.before, pair.after)
    return [*_sentences_on_replaced_programs(recordings, "changes", "--fail-above")] if limits else []


def quality_percentages(loaded: "Loaded") -> dict[str, float]:
    """Return the shares that ``--fail-if`` limits, in percent, by their names in ``LIMITS``."""
    lost = loaded.diagnostics.lost
    missing = loaded.deferred.missing + loaded.deferred.refused
    return {
        "unresolved": 100 * (1 - loaded.symbols.sample_share) if loaded.symbols is not None else 0.0,
        "lost": 100 * lost / (loaded.recorded_samples + lost) if lost else 0.0,
        "missing_user": 100 * missing / loaded.recorded_samples if missing else 0.0,
    }


def exit_for_failed_gates(sentences: list[str]) -> None:
    """Print the sentences, if any, in the format of the current CI system, and exit with code 3."""
    for sentence in sentences:
        _print_annotation("error", sentence)
    if sentences:
        raise typer.Exit(EXIT_GATE)


def warn(sentences: Iterable[str]) -> None:
    """Print the sentences as warnings in the format of the current CI system."""
    for sentence in sentences:
        _print_annotation("warning", sentence)


def warn_of_losses(loaded: "Loaded") -> None:
    """In GitHub Actions, annotate the workflow run with a warning for every loss."""
    warn(count.text_with_advice for count in loaded.diagnostics.losses if _in_github_actions())


def _in_github_actions() -> bool:
    return os.environ.get("GITHUB_ACTIONS") == "true"


def _print_annotation(level: str, sentence: str) -> None:
    if _in_github_actions():  # GitHub decodes percent escapes
        print_message(f"::{level} title=perf2x::{safe_message(sentence).replace('%', '%25')}")
    elif level == "error" and os.environ.get("GITLAB_CI") == "true" and not os.environ.get("NO_COLOR"):
        typer.echo(f"\x1b[1;31mperf2x: {safe_message(sentence)}\x1b[0m", err=True, color=True)
    else:
        print_message(f"perf2x: {sentence}")
