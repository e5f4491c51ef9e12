"""``perf2x info``: what is in a recording, for people and, with ``--json``, for machines.

The JSON's top level is stable: ``samples``, ``events``, ``threads``, ``duration_ns``, ``records``, ``deferred``,
``unwound``, ``symbols``, ``lost``, ``session``; later versions only add. The schema is in the README.
"""

import dataclasses
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import click

from perf2x.cli import console, sections
from perf2x.cli.common import DEFAULT, Input, Quiet, recordings
from perf2x.cli.parameters import Option
from perf2x.cli.stats import symbol_facts
from perf2x.cli.symbol_flags import SymbolFlags
from perf2x.model.plain_text import plain

if TYPE_CHECKING:
    from perf2x.pipeline import Loaded

WithSymbols = Annotated[bool, Option("--symbols", help="Look names up, too, and say which share of frames has one.")]
AsJson = Annotated[bool, Option("--json", help="One JSON object on standard output.")]


def info(
    source: Input = DEFAULT,
    *,
    as_json: AsJson = False,
    with_symbols: WithSymbols = False,
    names: SymbolFlags,
    quiet: Quiet = False,
) -> None:
    """Show what is in a recording: events, samples, threads, time span, records, losses, deferred and copied stacks.

    Which share of frames has a name is looked up with --symbols, or when an option says where names are.
    """
    from perf2x import pipeline

    recordings([source])
    symbols = names.options() if with_symbols or names != SymbolFlags() else None
    options = pipeline.LoadOptions(symbols=symbols, stacks=symbols is not None)
    with console.progress(quiet) as progress:
        loaded = pipeline.load(source, options, progress)
    if as_json:
        click.echo(json.dumps(facts(loaded), indent=2, ensure_ascii=True))
        return
    for line in _lines(loaded):
        click.echo(plain(line))


def facts(loaded: "Loaded") -> dict[str, Any]:
    """Everything ``info`` knows, as plain JSON values."""
    session, meta = loaded.recording.session, loaded.profile.meta
    return {
        "samples": loaded.recorded_samples,
        "events": [_event(loaded, row) for row in range(len(session.events))],
        "threads": len(loaded.profile.threads),
        "duration_ns": meta.duration_ns,
        "records": dict(sorted(loaded.recording.sideband.record_counts.items())),
        "deferred": dataclasses.asdict(loaded.deferred),
        "unwound": _unwound(loaded),
        "symbols": symbol_facts(loaded),
        "start_ns": meta.start_ns,
        "wall_start_ns": meta.wall_start_ns,
        "diagnostics": [dataclasses.asdict(count) for count in loaded.diagnostics.counts.values()],
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
            "features": sections.as_json(session.features),
        },
        "lost": _lost(loaded),
    }


def _lost(loaded: "Loaded") -> dict[str, Any]:
    """What the kernel could not write, by event, and how often it stopped an event that fired too often."""
    names = [event.name for event in loaded.recording.session.events]
    losts, throttles = loaded.recording.sideband.losts, loaded.recording.sideband.throttles
    records: dict[str, int] = {}
    samples: dict[str, int] = {}
    for event, lost, samples_only in zip(
        losts.event.tolist(), losts.lost.tolist(), losts.samples_only.tolist(), strict=True
    ):
        counts = samples if samples_only else records
        name = names[event] if 0 <= event < len(names) else ""
        counts[name] = counts.get(name, 0) + lost
    return {"records": records, "samples": samples, "throttled": int((~throttles.lifted).sum())}


def _unwound(loaded: "Loaded") -> dict[str, Any]:
    report = loaded.unwound
    ends = {end.name.lower(): count for end, count in report.ends.items()}
    return {"samples": report.samples, "frames": report.frames, "guessed_frames": report.guessed, "ends": ends}


def _event(loaded: "Loaded", row: int) -> dict[str, Any]:
    event, count = loaded.recording.session.events[row], loaded.events[row]
    return {
        "name": event.name,
        "samples": count.samples,
        "value": count.value,
        "unit": count.unit,
        "type": event.type,
        "config": event.config,
        "frequency" if "freq" in event.flags else "period": event.sample_period,
        "flags": sorted(event.flags),
    }


def _lines(loaded: "Loaded") -> Iterator[str]:
    from perf2x.cli.summary import deferred_line, symbol_lines, unwound_line

    known = facts(loaded)
    session = known["session"]
    for label in ("source", "hostname", "arch", "os_release", "perf_version"):
        if session[label]:
            yield f"{label.replace('_', ' ')}: {session[label]}"
    if session["command_line"]:
        yield f"command: {' '.join(session['command_line'])}"
    yield from sections.lines(loaded.recording.session.features)
    yield f"samples: {known['samples']:,}"
    for event in known["events"]:
        yield f"  {event['name']}: {event['samples']:,} samples, {event['value']:,} {event['unit']}"
    yield f"threads: {known['threads']:,}"
    yield f"duration: {known['duration_ns'] / 1e9:.6f} s"
    yield "records:"
    for name, number in known["records"].items():
        yield f"  {name}: {number:,}"
    deferred = deferred_line(loaded.deferred)
    if deferred:
        yield f"deferred: {deferred}"
    unwound = unwound_line(loaded.unwound)
    if unwound:
        yield f"unwound: {unwound}"
    yield from symbol_lines(loaded, 1000)
    for count in loaded.diagnostics.counts.values():
        yield f"{count.severity}: {count.words}; {count.advice}"
