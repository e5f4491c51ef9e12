"""Changes since another recording, as facts of ``perf2x report``; the same figures as ``perf2x diff``."""

from typing import TYPE_CHECKING, Any

from perf2x.analysis.diff.changed_rows import has_moved, sort_changes

if TYPE_CHECKING:
    from perf2x.analysis.diff.changes import Change
    from perf2x.cli.diff.diff_gate import GateVerdict
    from perf2x.cli.report.report_facts import Limits
    from perf2x.pipeline.recording_pair import RecordingPair


def difference_facts(pair: "RecordingPair", growth: "GateVerdict", confidence: float, size: "Limits") -> dict[str, Any]:
    """Wholes of both sides, how many functions moved, and those that moved most by themselves.

    Intervals of what ``growth`` judged are its own, the others have that ``confidence``.
    """
    from perf2x.analysis.diff.changes import excludes_zero
    from perf2x.cli.diff.diff_gate import WHOLE

    compared = pair.compared("function")
    changes = sort_changes(growth.with_intervals(compared.changes(confidence), "function", "self"), "self")
    moved = [row for row in changes if has_moved(row, compared.before.whole)]
    limits = growth.intervals.get(WHOLE) or compared.whole_interval(confidence, 1)
    return {
        "before": size.name(pair.sources[0]),
        "confidence": confidence,
        "normalized": compared.normalize,
        "work": pair.work,
        "renamed_objects": [[*map(size.name, names)] for names in pair.renamed_objects[: size.rows]],
        "renamed_objects_left_out": max(len(pair.renamed_objects) - size.rows, 0),
        "value": [compared.before.whole, compared.whole_after],
        "samples": [compared.before.samples, compared.after.samples],
        "significant": excludes_zero(limits),
        "moved": len(moved),
        "moved_significantly": sum(row.significant("self") for row in moved),
        "rows": [_change_facts(row, size) for row in moved[: size.rows]],
    }


def _change_facts(row: "Change", size: "Limits") -> dict[str, Any]:
    return {
        "name": size.name(row.name),
        "object": size.name(row.object),
        "self": [row.own_before, row.own_after],
        "total": [row.total_before, row.total_after],
        "self_interval": [round(limit) for limit in row.own_interval],
        "significant": row.significant("self"),
        "total_significant": row.significant("total"),
    }
