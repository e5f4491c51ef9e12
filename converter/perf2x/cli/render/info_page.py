"""The report of ``perf2x info`` in every format."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import to_builtins

from perf2x.cli.render.header_sections import section_lines
from perf2x.cli.render.hints import advice_with_inputs
from perf2x.cli.render.info_json import info_facts
from perf2x.cli.render.markdown_table import code, lines_as_markdown
from perf2x.cli.render.report_formats import Report
from perf2x.cli.render.screen import Screen
from perf2x.cli.render.summary import deferred_line, symbol_lines, unwound_line
from perf2x.kernel.load_result import Loaded
from perf2x.model.number_format import counted_as, plural
from perf2x.model.printable_text import plain
from perf2x.symbolizer.symbol_report import ObjectReport

if TYPE_CHECKING:
    from perf2x.tools.explain.missing_names import UnnamedObject

# Maximum number of objects without names to list.
_MOST_OBJECTS = 1000


def info_report(loaded: Loaded, reasons: "Sequence[UnnamedObject] | None") -> Report:
    """Return the recording in every format. The table has a line for each property, none of them shortened.

    ``reasons``: why objects have no names, if requested.
    """
    facts = info_facts(loaded)
    if reasons is not None and facts["symbols"] is not None:
        facts["symbols"]["explained"] = [to_builtins(one) for one in reasons]
        facts["symbols"]["not_explained"] = len(_not_explained(loaded, reasons))

    def lines(screen: Screen) -> Iterator[str]:
        for line in _info_lines(loaded, facts, reasons or ()):
            yield screen.labelled(plain(line))

    title = f"perf2x info: {code(facts['session']['source'])}"
    return Report(lines, lambda: facts, lambda: lines_as_markdown(title, _info_lines(loaded, facts, reasons or ())))


def _info_lines(loaded: Loaded, facts: dict[str, Any], reasons: "Sequence[UnnamedObject]") -> Iterator[str]:
    for label, text in _session(loaded, facts):
        yield f"{label}: {text}"
    yield f"{counted_as(event['name'] for event in facts['events'])}: {facts['samples']:,}"
    yield from (f"  {line}" for line in event_lines(loaded, facts["events"]))
    yield f"threads: {facts['threads']:,}"
    yield f"duration: {facts['duration_ns'] / 1e9:.6f} s"
    yield "records:"
    yield from (f"  {name}: {number:,}" for name, number in facts["records"].items())
    yield from _judged(loaded, reasons)
    for one in reasons:
        yield f"without names: {one.name}, {plural(one.frames, 'frame')}"
        yield from (f"  {label}: {text}" for label, text in _reason(one))
    yield from _rest(loaded, reasons)


def event_lines(loaded: Loaded, events: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Yield a line for each event of ``info_facts``: samples, or readings, and their sum."""
    for event in events:
        number = f"{event['readings']:,} readings" if event.get("readings") else f"{event['samples']:,} samples"
        is_read = event.get("readings") or not loaded.recording.session.counts
        counted = f", {event['counted']:,} counted" if "counted" in event else ""
        number += f", {event['value']:,} {event['unit']}{counted}"
        yield f"{event['name']}: {number if is_read else 'not counted'}"


def _not_explained(loaded: Loaded, reasons: "Sequence[UnnamedObject]") -> tuple[ObjectReport, ...]:
    """Return objects with unnamed frames for which there is no explanation in ``reasons``."""
    return loaded.symbols.lacking()[len(reasons) :] if loaded.symbols is not None else ()


def _rest(loaded: Loaded, reasons: "Sequence[UnnamedObject]") -> Iterator[str]:
    """Yield a sentence on the objects that are not explained; nothing if none were requested, or all are."""
    rest = _not_explained(loaded, reasons) if reasons else ()
    if rest:
        frames = plural(sum(row.unnamed for row in rest), "frame")
        yield f"without names: {plural(len(rest), 'more object')}, {frames}; those with the most frames are explained"


def _reason(one: "UnnamedObject") -> Iterator[tuple[str, str]]:
    yield "why", one.why
    yield from (("looked at", f"{place.path}: {place.result}") for place in one.looked_at)
    yield from (("try", f"{advice.what}: {advice.command}") for advice in one.advice)


def _session(loaded: Loaded, facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (label, text) for the properties in the header."""
    if facts["session"]["source"]:
        yield "source", facts["session"]["source"]
    yield from session_facts(facts["session"])
    for line in section_lines(loaded.recording.session.features):
        label, _, text = line.partition(": ")
        yield label, text


def session_facts(session: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (label, text) for the known properties: where and how it was recorded."""
    for label in ("hostname", "arch", "os_release", "perf_version"):
        if session[label]:
            yield label.replace("_", " "), session[label]
    if session["command_line"]:
        yield "command", " ".join(session["command_line"])


def quality_lines(loaded: Loaded, objects: int) -> Iterator[str]:
    """Yield sentences on deferred user stacks and stack dumps, frame names in this many objects, losses, oddities."""
    deferred = deferred_line(loaded.deferred)
    if deferred:
        yield f"deferred: {deferred}"
    unwound = unwound_line(loaded.unwound)
    if unwound:
        yield f"unwound: {unwound}"
    yield from symbol_lines(loaded, objects)
    for count in loaded.diagnostics.counts.values():
        yield f"{count.severity}: {count.sentence}"


def _judged(loaded: Loaded, reasons: "Sequence[UnnamedObject]") -> Iterator[str]:
    """Yield sentences on the quality of the recording, and on how to record better."""
    yield from quality_lines(loaded, _MOST_OBJECTS)
    yield from (f"hint: {one.words()}" for one in advice_with_inputs(loaded) if not (one.command and reasons))
