"""Makes the JSON of ``--stats``: the quality of a recording and of its conversion. docs/stats.md has the schema."""

import json
from collections.abc import Iterable
from typing import Any

from msgspec import to_builtins

from perf2x import __version__
from perf2x.base.files.atomic import open_output
from perf2x.cli.fail_if import quality_percentages
from perf2x.cli.messages import print_text
from perf2x.cli.render.copyable_advice import advice_with_typed_options
from perf2x.kernel.load_result import Loaded
from perf2x.model.advice import Advice

_SCHEMA = 1


def write_stats(stats: str, facts: dict[str, Any]) -> None:
    """Write the facts as JSON: to standard error if ``stats`` is ``json``, otherwise to the file of that name."""
    text = json.dumps(facts, indent=2)
    if stats == "json":
        print_text(text)
        return
    with open_output(stats, inputs=()) as out:
        out.write(f"{text}\n".encode())


def stats_of(loaded: Loaded, output: dict[str, Any], seconds: dict[str, float], gates: list[str]) -> dict[str, Any]:
    """Return the JSON of ``--stats``; ``gates`` has a sentence for each failed gate."""
    rounded = {name: round(value, 3) for name, value in seconds.items()}
    return quality_facts(loaded) | {"output": output, "seconds": rounded, "gates": gates}


def quality_facts(loaded: Loaded) -> dict[str, Any]:
    """Return the statistics that do not depend on the output, as values for JSON."""
    counts = loaded.diagnostics.counts.values()
    return {
        "schema": _SCHEMA,
        "perf2x": __version__,
        "source": loaded.profile.meta.source,
        "samples": {"recorded": loaded.recorded_samples, "kept": loaded.samples},
        "events": [to_builtins(event) | loaded.exact_count(index) for index, event in enumerate(loaded.events)],
        "lost": {"samples": loaded.diagnostics["lost_samples"], "records": loaded.diagnostics["lost_records"]},
        "percent": {name: round(percentage, 4) for name, percentage in quality_percentages(loaded).items()},
        "deferred": to_builtins(loaded.deferred),
        "unwound": unwound_facts(loaded),
        "features": {report.NAME: to_builtins(report) for report in loaded.reports if report.NAME},
        "symbols": symbol_facts(loaded),
        "records": dict(sorted(loaded.record_counts.items())),
        "diagnostics": [to_builtins(count) for count in counts],
        "advice": advice_facts(advice_with_typed_options(loaded)),
    }


def advice_facts(advice: Iterable[Advice]) -> list[dict[str, str]]:
    """Return the topic and the sentence of each piece of advice, for JSON."""
    return [{"about": item.about, "text": item.sentence()} for item in advice]


def symbol_facts(loaded: Loaded) -> dict[str, Any] | None:
    """Return how many frames there are, and how many have names; None if names were not looked up."""
    report = loaded.symbols
    if report is None:
        return None
    return {
        "frames": report.total,
        "named": report.named,
        "share": round(report.share, 6),
        "objects": [to_builtins(row) for row in report.objects],
    }


def unwound_facts(loaded: Loaded) -> dict[str, Any]:
    """Return the outcome of unwinding user stack dumps, for JSON."""
    report = loaded.unwound
    ends = {end.name.lower(): count for end, count in report.ends.items()}
    return {"samples": report.samples, "frames": report.frames, "guessed_frames": report.guessed, "ends": ends}
