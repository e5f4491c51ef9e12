"""Facts of ``perf2x report`` as plain JSON values of a bounded size; docs/report.md has the schema.

Markdown is made from these facts alone (cli/report/report_page.py), so that both formats say the same.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from perf2x import __version__
from perf2x.analysis.event_columns import wholes
from perf2x.cli.quality_gates import quality_percentages
from perf2x.cli.render.fit_text import shorten
from perf2x.cli.render.stats_json import unwound_facts
from perf2x.cli.render.summary import deferred_line, unwound_line
from perf2x.model.diagnostics import ENDS_EARLY, Severity
from perf2x.model.printable_text import plain
from perf2x.model.profile.profile import count_threads

if TYPE_CHECKING:
    from perf2x.analysis.report.report_tables import Caller, HotPath, ReportTables
    from perf2x.analysis.totals import Total
    from perf2x.pipeline.load_result import Loaded

SCHEMA = 1
_ENDS = 2_000
"""Characters at either end of a text that are looked at: enough for 480 cells."""


class Limits(Struct, frozen=True):
    """Sizes of the parts of a report."""

    rows: int
    """Rows of each table."""
    callers: int
    frames: int
    """Functions of a path."""
    width: int
    """Cells of a name."""

    def name(self, text: str) -> str:
        """Escape a recorded name and shorten it in the middle."""
        return self.sentence(text, 1)

    def sentence(self, text: str, times: int) -> str:
        """Escape a text that may quote names, and shorten it to so many times a name's cells."""
        if len(text) > 2 * _ENDS:
            text = text[:_ENDS] + text[-_ENDS:]  # of which shorten takes less, however many marks
        return shorten(plain(text), times * self.width)


def report_facts(
    loaded: "Loaded",
    tables: "ReportTables",
    sources: Sequence[str],
    difference: dict[str, Any] | None,
    size: Limits,
    verdict: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """All facts but what to look at next, which follows from them; ``advice`` is for those sentences alone."""
    found = tables.whole
    advice = [replace(one, names=tuple(map(size.name, one.names))) for one in loaded.advice if not one.for_dates]
    has_paths = all(one.about != "no_stacks" for one in advice)
    return {
        "schema": SCHEMA,
        "perf2x": __version__,
        "recordings": {"count": len(sources), "names": [size.name(name) for name in sources[: max(size.rows, 1)]]},
        "recorded": _recorded_facts(loaded, size),
        "quality": _quality_facts(loaded, size),
        "measured": {
            "event": size.name(found.event),
            "unit": found.unit,
            "samples": found.samples,
            "value": found.whole,
            "kernel": tables.kernel,
            "idle": tables.idle,
            "functions": len(found.rows),
            **({"columns": wholes(tables.beside)} if tables.beside else {}),
        },
        "by_self": _functions(tables.by_self, tables, size, "self"),
        "by_total": _functions(tables.by_total, tables, size, "total"),
        "objects": _rows(tables.objects[: size.rows], size),
        "threads": _rows(tables.threads[: size.rows], size),
        "paths": [_path_facts(path, size) for path in tables.paths[: size.rows] if has_paths],
        "difference": difference,
        "verdict": verdict,
        "advice": advice,
    }


def _recorded_facts(loaded: "Loaded", size: Limits) -> dict[str, Any]:
    meta, threads = loaded.profile.meta, loaded.profile.threads
    events = enumerate(zip(loaded.events, loaded.profile.events, strict=False))
    counted = [(row, *pair) for row, pair in events if pair[0].rows]
    return {
        "command": size.name(" ".join(meta.command_line)),
        "host": size.name(meta.hostname),
        "kernel": size.name(meta.os_release),
        "arch": size.name(meta.arch),
        "cpus": meta.cpus,
        "perf": size.name(meta.perf_version),
        "start_ns": meta.wall_start_ns,
        "duration_ns": meta.duration_ns,
        "processes": len(set(threads.pid.tolist())),
        "threads": count_threads(threads),
        "events": [
            {
                "name": size.name(count.name),
                "unit": count.unit,
                "samples": count.samples,
                "value": count.value,
                "frequency": event.frequency,
                "period": event.period,
                **({"readings": count.readings} if count.readings else {}),
                **loaded.counted(row),
            }
            for row, count, event in counted[: max(size.rows, 1)]
        ],
        "events_left_out": max(len(counted) - max(size.rows, 1), 0),
    }


def _quality_facts(loaded: "Loaded", size: Limits) -> dict[str, Any]:
    order = {Severity.LOSS: 0, Severity.GUESS: 1, Severity.INFO: 2}
    counts = sorted(
        loaded.diagnostics.counts.values(),
        key=lambda count: (order[count.severity], count.name not in ENDS_EARLY, -count.count),
    )
    shown = counts[: max(size.rows, 1)]
    report, unwound = loaded.symbols, unwound_facts(loaded)
    lacking = report.lacking() if report is not None else []
    return {
        "samples_recorded": loaded.recorded_samples,
        "samples_kept": loaded.samples,
        "percent": {name: round(share, 4) for name, share in quality_percentages(loaded).items()},
        "frames": report.total if report is not None else 0,
        "frames_named": report.named if report is not None else 0,
        "deferred": deferred_line(loaded.deferred),
        "copied_stacks": {"all": unwound["samples"], "whole": unwound["ends"].get("complete", 0)},
        "unwound": unwound_line(loaded.unwound),
        "findings": [
            {
                "name": count.name,
                "severity": str(count.severity),
                "count": count.count,
                "text": size.name(count.words),
                "advice": size.sentence(count.advice, 4),
            }
            for count in shown
        ],
        "findings_left_out": len(counts) - len(shown),
        "unnamed_objects": [
            {
                "name": size.name(row.name),
                "frames": row.unnamed,
                "build_id": size.name(row.build_id),
                "reason": size.sentence(row.reason, 2),
            }
            for row in lacking[: size.rows]
        ],
        "unnamed_objects_left_out": max(len(lacking) - size.rows, 0),
    }


def _rows(rows: Iterable["Total"], size: Limits) -> list[dict[str, Any]]:
    return [
        {"name": size.name(row.name), "object": size.name(row.object), "self": row.own, "total": row.total}
        for row in rows
    ]


def _functions(rows: Sequence["Total"], tables: "ReportTables", size: Limits, sort: str) -> list[dict[str, Any]]:
    held = rows[: size.rows]
    named = {one.name: one.cells([(row.name, row.object) for row in held], sort) for one in tables.beside}
    beside = [
        {"columns": {name: cells[at] for name, cells in named.items()}} if named else {} for at in range(len(held))
    ]
    callers = [_caller_facts(tables.callers.get((row.name, row.object), []), size) for row in held]
    return [facts | more | cells for facts, more, cells in zip(_rows(held, size), callers, beside, strict=True)]


def _caller_facts(callers: Sequence["Caller"], size: Limits) -> dict[str, Any]:
    named = [
        {"name": size.name(row.name), "object": size.name(row.object), "value": row.value}
        for row in callers[: size.callers]
    ]
    return {"callers": named, "callers_left_out": max(len(callers) - size.callers, 0)}


def _path_facts(path: "HotPath", size: Limits) -> dict[str, Any]:
    """Keep the outermost functions, a third of those shown, and the innermost ones."""
    names = [size.name(name) for name, _ in path.names]
    left_out = max(len(names) - size.frames, 0)
    head = len(names) if not left_out else size.frames // 3
    return {
        "self": path.own,
        "total": path.total,
        "outer": names[:head],
        "left_out": left_out,
        "inner": names[head + left_out :],
    }
