"""The report of ``perf2x info`` in every format."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import to_builtins

from perf2x.cli.render.copyable_advice import advice_with_typed_options
from perf2x.cli.render.header_sections import section_lines
from perf2x.cli.render.info_json import info_facts
from perf2x.cli.render.markdown_table import code, lines_as_markdown
from perf2x.cli.render.report_formats import Report
from perf2x.cli.render.screen import Screen
from perf2x.cli.render.summary import deferred_line, symbol_lines, unwound_line
from perf2x.kernel.load_result import Loaded
from perf2x.model.number_format import count_noun, plural
from perf2x.model.printable_text import escaped
from perf2x.symbolizer.symbol_report import ObjectReport

if TYPE_CHECKING:
    from perf2x.tools.explain.missing_names import UnnamedObject

_MAX_OBJECTS = 1000


def info_report(loaded: Loaded, explanations: "Sequence[UnnamedObject] | None") -> Report:
    """Return the report in every format; ``explanations`` is None if reasons for missing names were not requested."""
    facts = info_facts(loaded)
    if explanations is not None and facts["symbols"] is not None:
        facts["symbols"]["explained"] = [to_builtins(unnamed) for unnamed in explanations]
        facts["symbols"]["not_explained"] = len(_unexplained_objects(loaded, explanations))

    def lines(screen: Screen) -> Iterator[str]:
        for line in _info_lines(loaded, facts, explanations or ()):
            yield screen.with_styled_label(escaped(line))

    title = f"perf2x info: {code(facts['session']['source'])}"
    return Report(
        lines, lambda: facts, lambda: lines_as_markdown(title, _info_lines(loaded, facts, explanations or ()))
    )


def _info_lines(loaded: Loaded, facts: dict[str, Any], explanations: "Sequence[UnnamedObject]") -> Iterator[str]:
    for label, text in _header_facts(loaded, facts):
        yield f"{label}: {text}"
    yield f"{count_noun(event['name'] for event in facts['events'])}: {facts['samples']:,}"
    yield from (f"  {line}" for line in event_lines(loaded, facts["events"]))
    yield f"threads: {facts['threads']:,}"
    yield f"duration: {facts['duration_ns'] / 1e9:.6f} s"
    yield "records:"
    yield from (f"  {name}: {count:,}" for name, count in facts["records"].items())
    yield from _quality_and_advice(loaded, explanations)
    for unnamed in explanations:
        yield f"without names: {unnamed.name}, {plural(unnamed.frames, 'frame')}"
        yield from (f"  {label}: {text}" for label, text in _explanation(unnamed))
    yield from _unexplained_line(loaded, explanations)


def event_lines(loaded: Loaded, events: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Yield a line for each event of ``info_facts``; an event of perf stat that was never read is "not counted"."""
    for event in events:
        amount = f"{event['readings']:,} readings" if event.get("readings") else f"{event['samples']:,} samples"
        was_read = event.get("readings") or not loaded.recording.session.is_perf_stat
        counted = f", {event['counted']:,} counted" if "counted" in event else ""
        amount += f", {event['value']:,} {event['unit']}{counted}"
        yield f"{event['name']}: {amount if was_read else 'not counted'}"


def _unexplained_objects(loaded: Loaded, explanations: "Sequence[UnnamedObject]") -> tuple[ObjectReport, ...]:
    return loaded.symbols.unnamed_objects()[len(explanations) :] if loaded.symbols is not None else ()


def _unexplained_line(loaded: Loaded, explanations: "Sequence[UnnamedObject]") -> Iterator[str]:
    others = _unexplained_objects(loaded, explanations) if explanations else ()
    if others:
        frames = plural(sum(row.unnamed for row in others), "frame")
        yield f"without names: {plural(len(others), 'more object')}, {frames}; only those with the most are explained"


def _explanation(unnamed: "UnnamedObject") -> Iterator[tuple[str, str]]:
    yield "why", unnamed.why
    yield from (("looked at", f"{searched.path}: {searched.result}") for searched in unnamed.looked_at)
    yield from (("try", f"{advice.what}: {advice.command}") for advice in unnamed.advice)


def _header_facts(loaded: Loaded, facts: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if facts["session"]["source"]:
        yield "source", facts["session"]["source"]
    yield from session_facts(facts["session"])
    for line in section_lines(loaded.recording.session.features):
        label, _, text = line.partition(": ")
        yield label, text


def session_facts(session: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the label and the text for each known property in the JSON of a session."""
    for label in ("hostname", "arch", "os_release", "perf_version"):
        if session[label]:
            yield label.replace("_", " "), session[label]
    if session["command_line"]:
        yield "command", " ".join(session["command_line"])


def labelled_quality_lines(loaded: Loaded, max_objects: int) -> Iterator[str]:
    """Yield lines on stacks, names (of at most ``max_objects`` objects) and losses."""
    deferred = deferred_line(loaded.deferred)
    if deferred:
        yield f"deferred: {deferred}"
    unwound = unwound_line(loaded.unwound)
    if unwound:
        yield f"unwound: {unwound}"
    yield from symbol_lines(loaded, max_objects)
    for count in loaded.diagnostics.counts.values():
        yield f"{count.severity}: {count.text_with_advice}"


def _quality_and_advice(loaded: Loaded, explanations: "Sequence[UnnamedObject]") -> Iterator[str]:
    yield from labelled_quality_lines(loaded, _MAX_OBJECTS)
    yield from (
        f"hint: {advice.sentence()}"
        for advice in advice_with_typed_options(loaded)
        if not (advice.command and explanations)
    )
