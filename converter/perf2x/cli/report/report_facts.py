"""Facts of ``perf2x report`` as plain JSON values: those of ``--stats json``, ``top`` and ``diff``, and callers.

docs/report.md has the schema.
"""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct, to_builtins

from perf2x import __version__
from perf2x.cli.render.fit_text import shorten
from perf2x.cli.render.stats_json import stats_of
from perf2x.cli.render.top_table import total_facts
from perf2x.model.printable_text import plain
from perf2x.model.profile.profile import count_threads

if TYPE_CHECKING:
    from perf2x.analysis.diff.changed_rows import DiffTable
    from perf2x.analysis.report_tables import ReportTables
    from perf2x.analysis.top_rows import TopTable
    from perf2x.cli.diff.diff_gate import GateVerdict
    from perf2x.cli.diff.gate_outcome import Verdict
    from perf2x.pipeline.load_result import Loaded
    from perf2x.pipeline.recording_pair import RecordingPair

SCHEMA = 1
LEAST = 8_000
"""Bytes that the facts of any recording fit."""
_OF_STATS = ("samples", "percent", "deferred", "unwound", "symbols", "diagnostics")
_OF_META = ("hostname", "os_release", "arch", "perf_version", "wall_start_ns")
_SIZES = ((400, 24), (120, 12), (60, 6), (30, 3), (12, 1), (12, 0))
"""Cells of a text, and entries of a list of texts, to try."""


class Changes(Struct, frozen=True):
    """What changed since another recording."""

    table: "DiffTable"
    facts: dict[str, Any]


def changes_of(pair: "RecordingPair", growth: "GateVerdict", confidence: float, rows: int) -> Changes:
    """Return the functions that changed most by themselves.

    Intervals of what ``growth`` judged are its own, the others have that ``confidence``.
    """
    from perf2x.analysis.diff.changed_rows import Shown, has_moved
    from perf2x.analysis.diff.changes import excludes_zero
    from perf2x.cli.diff.diff_gate import WHOLE
    from perf2x.cli.render.diff_table import change_facts

    compared = pair.compared("function")
    changes = [*growth.with_intervals(compared.changes(confidence), "function", "self")]
    table = pair.table(Shown("function", "self", rows), changes)
    moved = [row for row in changes if has_moved(row, compared.before.whole)]
    limits = growth.intervals.get(WHOLE) or compared.whole_interval(confidence, 1)
    facts = {
        "recording": pair.sources[0],
        "normalized": compared.normalize,
        "significant": excludes_zero(limits),
        "moved": len(moved),
        "moved_significantly": sum(row.significant("self") for row in moved),
    }
    return Changes(table, facts | change_facts(table, confidence))


def report_facts(
    loaded: "Loaded", tables: "ReportTables", sources: Sequence[str], changes: Changes | None, verdict: "Verdict | None"
) -> dict[str, Any]:
    """All facts but what to look at next, which follows from them."""
    stats, meta = stats_of(loaded, {}, {}, []), loaded.profile.meta
    held = enumerate(zip(loaded.events, stats["events"], strict=True))
    events = [known | loaded.counted(row) for row, (event, known) in held if event.rows]
    has_paths = all(one.about != "no_stacks" for one in loaded.advice)
    return {
        "schema": SCHEMA,
        "perf2x": __version__,
        "recordings": list(sources),
        "session": {key: getattr(meta, key) for key in _OF_META},
        "command_line": list(meta.command_line),
        "duration_ns": meta.duration_ns,
        "events": events,
        **{key: stats[key] for key in _OF_STATS},
        "recorded_threads": count_threads(loaded.profile.threads),
        "kernel": tables.kernel,
        "idle": tables.idle,
        "functions": len(tables.by_self.whole.rows),
        "by_self": _with_callers(tables.by_self, tables),
        "by_total": _with_callers(tables.by_total, tables),
        "objects": total_facts(tables.objects),
        "threads": total_facts(tables.threads),
        "paths": [to_builtins(path) for path in tables.paths] if has_paths else [],
        "verdict": to_builtins(verdict),
        "difference": changes.facts if changes else None,
    }


def _with_callers(table: "TopTable", tables: "ReportTables") -> dict[str, Any]:
    facts = total_facts(table)
    for row, key in zip(facts["rows"], table.keys, strict=True):
        row["callers"] = to_builtins(tables.callers.get(key, []))
    return facts


def json_text(facts: dict[str, Any], rows: int, most: int) -> str:
    """Return the facts as JSON of at most ``most`` bytes, LEAST at least: lists and texts become shorter to fit."""
    text = ""
    for step, (width, texts) in enumerate(_SIZES):
        text = json.dumps(_bounded(facts, width, rows >> step, texts), indent=1) + "\n"
        if len(text.encode()) <= most:
            break
    return text


def _bounded(value: Any, width: int, rows: int, texts: int) -> Any:
    """The value with shorter texts and lists, of which texts keep both ends; the number ``_left_out`` is beside."""
    if isinstance(value, str):
        return shorten(plain(value[: 4 * width] + value[4 * width :][-4 * width :]), width)
    if isinstance(value, list):
        return [_bounded(one, width, rows, texts) for one in value]
    if not isinstance(value, dict):
        return value
    found: dict[str, Any] = {}
    for key, one in value.items():
        held = one
        if isinstance(one, list) and one and isinstance(one[0], dict | str):
            most = texts if isinstance(one[0], str) else rows
            tail = most // 2 if isinstance(one[0], str) else 0
            if len(one) > most:
                held = [*one[: most - tail], *one[len(one) - tail :]]
                found[f"{key}_left_out"] = len(one) - most
        found[key] = _bounded(held, width, rows, texts)
    return found
