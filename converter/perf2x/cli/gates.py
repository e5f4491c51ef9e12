"""Quality gates for CI: a share that is too large ends the command with exit code 3, after the output was written."""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

from perf2x.cli import progress as console
from perf2x.cli.exits import GATE
from perf2x.cli.options.gates import GateFlags
from perf2x.tables.diagnostics import Severity
from perf2x.tables.errors import OptionError
from perf2x.tables.printable import message

if TYPE_CHECKING:
    from perf2x.pipeline.result import Loaded


def check(gates: GateFlags, has_symbols: bool) -> None:
    """OptionError for limits that are no percentages, before any work is done."""
    for name in ("fail_if_unresolved", "fail_if_lost", "fail_if_missing_user"):
        limit(name, getattr(gates, name))
    if gates.fail_if_unresolved is not None and not has_symbols:
        raise OptionError("--fail-if-unresolved cannot be told with --no-symbols")


def closed(gates: GateFlags, loaded: "Loaded") -> Iterator[str]:
    """One sentence for every gate that the recording does not pass."""
    measured = shares(loaded)
    for name, what in (
        ("fail_if_unresolved", "of the frames have no name"),
        ("fail_if_lost", "of the samples were lost"),
        ("fail_if_missing_user", "of the samples miss their user stack"),
    ):
        allowed, share = limit(name, getattr(gates, name)), measured[name.removeprefix("fail_if_")]
        if allowed is not None and share > allowed:
            yield f"{share:.2f} % {what}, more than {allowed:g} % (--{name.replace('_', '-')})"
    losses = [count for count in loaded.diagnostics.counts.values() if count.severity is Severity.LOSS]
    for count in losses if gates.strict else ():
        yield f"{count.words} (--strict); {count.advice}"


def shares(loaded: "Loaded") -> dict[str, float]:
    """What the gates measure, in percent."""
    lost = loaded.diagnostics["lost_samples"] + loaded.diagnostics["lost_records"]
    missing = loaded.deferred.missing + loaded.deferred.refused
    return {
        "unresolved": 100 * (1 - loaded.symbols.share) if loaded.symbols is not None else 0.0,
        "lost": 100 * lost / (loaded.recorded_samples + lost) if lost else 0.0,
        "missing_user": 100 * missing / loaded.recorded_samples if missing else 0.0,
    }


def limit(name: str, text: str | None) -> float | None:
    """``5`` or ``5%``; OptionError for what is no share."""
    if text is None:
        return None
    try:
        value = float(text.strip().removesuffix("%"))
    except ValueError:
        value = -1.0
    if not 0 <= value <= 100:
        raise OptionError(f"--{name.replace('_', '-')} {text}: expected a percentage such as 5 or 0.5")
    return value


def leave_closed(sentences: list[str]) -> None:
    """Say why, in the words of the CI that runs this, and end with the gates' exit code; nothing for an empty list."""
    for sentence in sentences:
        announce(sentence)
    if sentences:
        raise typer.Exit(GATE)


def warn_of_losses(loaded: "Loaded") -> None:
    """In GitHub Actions, a warning at the run for everything recorded that is not in the output; nothing elsewhere."""
    if os.environ.get("GITHUB_ACTIONS") == "true":
        for count in loaded.diagnostics.counts.values():
            if count.severity is Severity.LOSS:
                advice = f"; {count.advice}" if count.advice else ""
                _annotate("warning", f"{count.words}{advice}")


def _annotate(level: str, sentence: str) -> None:
    """GitHub's own words for a message at the run (workflow commands, with their escapes)."""
    escaped = message(sentence).replace("%", "%25")
    console.note(f"::{level} title=perf2x::{escaped}")


def announce(sentence: str) -> None:
    """One line on standard error; GitHub shows it at the run, GitLab in red."""
    if os.environ.get("GITHUB_ACTIONS") == "true":
        _annotate("error", sentence)
    elif os.environ.get("GITLAB_CI") == "true" and not os.environ.get("NO_COLOR"):
        typer.echo(f"\x1b[1;31mperf2x: {message(sentence)}\x1b[0m", err=True, color=True)
    else:
        console.note(f"perf2x: {sentence}")
