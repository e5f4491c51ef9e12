"""The data of ``perf2x report``, as values for JSON. docs/report.md has the schema."""

from collections.abc import Sequence
from typing import Any

from msgspec import to_builtins

from perf2x.base.frozen_struct import Frozen
from perf2x.cli.diff.fail_above import TOTAL, GrowthVerdict
from perf2x.cli.gate_outcome import Verdict
from perf2x.cli.render.stats_json import quality_facts
from perf2x.cli.render.top_table import top_facts
from perf2x.kernel.load_result import Loaded
from perf2x.model.profile import count_threads
from perf2x.tools.diff.changed_rows import DiffTable, RowSelection
from perf2x.tools.diff.recording_pair import RecordingPair
from perf2x.tools.tables.report_tables import ReportTables

_SESSION_FIELDS = ("hostname", "os_release", "arch", "perf_version", "wall_start_ns")


class Changes(Frozen):
    """Changes since the earlier recording, as a table and as values for JSON."""

    table: DiffTable
    facts: dict[str, Any]


def changes_of(pair: RecordingPair, growth: GrowthVerdict, confidence: float, limit: int) -> Changes:
    """Return the functions whose self cost changed most; rows that ``growth`` judged have its intervals."""
    from perf2x.cli.render.diff_table import diff_facts
    from perf2x.tools.diff.changes import excludes_zero

    table = growth.table(pair, RowSelection("function", "self", limit), confidence)
    facts = {
        "recording": pair.sources[0],
        "normalized": pair.normalize,
        "significant": excludes_zero(
            growth.intervals.get(TOTAL) or table.comparison.total_change(confidence).self_interval
        ),
        "moved": len(table.changed),
        "moved_significantly": sum(row.significant("self") for row in table.changed),
    }
    return Changes(table, facts | diff_facts(table, confidence))


def report_facts(
    loaded: Loaded, tables: ReportTables, sources: Sequence[str], changes: Changes | None, verdict: Verdict | None
) -> dict[str, Any]:
    """Return all data of a report except the key ``next``."""
    stats, meta = quality_facts(loaded), loaded.profile.meta
    by_self, by_total = top_facts(tables.by_self), top_facts(tables.by_total)
    for row in (*by_self["rows"], *by_total["rows"]):
        row["callers"] = to_builtins(tables.callers[row["name"], row["object"]])
    return stats | {
        "recordings": list(sources),
        "session": {key: getattr(meta, key) for key in _SESSION_FIELDS},
        "command_line": list(meta.command_line),
        "duration_ns": meta.duration_ns,
        "events": [event for event in stats["events"] if event["samples"] or "readings" in event],
        "recorded_threads": count_threads(loaded.profile.threads),
        "kernel": tables.kernel,
        "idle": tables.idle,
        "functions": len(tables.by_self.whole.rows),
        "by_self": by_self,
        "by_total": by_total,
        "objects": top_facts(tables.objects),
        "threads": top_facts(tables.threads),
        "paths": [{"functions": path.functions, "self": path.own, "total": path.total} for path in tables.paths],
        "verdict": to_builtins(verdict),
        "difference": changes.facts if changes else None,
    }
