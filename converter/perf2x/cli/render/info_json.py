"""Everything that ``perf2x info`` shows about a recording, as plain JSON values. docs/scripts.md has the schema."""

from typing import Any

from msgspec import to_builtins

from perf2x.base.columnar import sum_of
from perf2x.cli.render.copyable_advice import advice_with_typed_options
from perf2x.cli.render.header_sections import sections_as_json
from perf2x.cli.render.stats_json import advice_facts, symbol_facts, unwound_facts
from perf2x.kernel.load_result import Loaded
from perf2x.model.profile import count_threads, numbered_names
from perf2x.model.recording import losses_to_count


def info_facts(loaded: Loaded) -> dict[str, Any]:
    """Return the JSON of ``perf2x info``: nested dicts and lists of numbers, texts and None."""
    session, meta = loaded.recording.session, loaded.profile.meta
    return {
        "samples": loaded.recorded_samples,
        "events": [_event_facts(loaded, row) for row in range(len(session.events))],
        "threads": count_threads(loaded.profile.threads),
        "duration_ns": meta.duration_ns,
        "records": dict(sorted(loaded.recording.sideband.record_counts.items())),
        "deferred": to_builtins(loaded.deferred),
        "unwound": unwound_facts(loaded),
        "symbols": symbol_facts(loaded),
        "start_ns": meta.start_ns,
        "wall_start_ns": meta.wall_start_ns,
        "diagnostics": [to_builtins(count) for count in loaded.diagnostics.counts.values()],
        "advice": advice_facts(advice_with_typed_options(loaded)),
        "session": {
            "source": session.source,
            "pipe": session.is_pipe,
            "byte_order": "little" if session.byte_order == "<" else "big",
            "arch": session.arch,
            "hostname": session.hostname,
            "os_release": session.os_release,
            "perf_version": session.perf_version,
            "command_line": list(session.command_line),
            "build_ids": {name: build_id.hex() for name, build_id in sorted(session.build_ids.items())},
            "features": sections_as_json(session.features),
        },
        "lost": _lost_facts(loaded),
    }


def _lost_facts(loaded: Loaded) -> dict[str, Any]:
    names = [event.name for event in loaded.recording.session.events]
    throttles = loaded.recording.sideband.throttles
    losts = losses_to_count(loaded.recording.session.events, loaded.recording.sideband.losts)
    records: dict[str, int] = {}
    samples: dict[str, int] = {}
    for event, count, is_samples in zip(
        losts.event.tolist(), losts.lost.tolist(), losts.samples_only.tolist(), strict=True
    ):
        counts = samples if is_samples else records
        name = names[event] if 0 <= event < len(names) else ""
        counts[name] = counts.get(name, 0) + count
    # only records that begin a throttling are counted
    return {"records": records, "samples": samples, "throttled": sum_of(~throttles.is_unthrottle)}


def _event_facts(loaded: Loaded, row: int) -> dict[str, Any]:
    event, count = loaded.recording.session.events[row], loaded.events[row]
    return {
        "name": numbered_names(loaded.profile.events)[row],
        "samples": count.samples,
        "value": count.value,
        "unit": count.unit,
        **({"readings": count.readings} if count.readings else {}),
        **loaded.exact_count(row),
        "type": event.type,
        "config": event.config,
        "frequency" if "freq" in event.flags else "period": event.sample_period,
        "flags": sorted(event.flags),
    }
