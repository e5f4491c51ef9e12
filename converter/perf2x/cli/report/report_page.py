"""The page of ``perf2x report``, made from its facts: Markdown that no recorded name can break, or for a terminal."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from perf2x.analysis.diff.changed_rows import compared_note
from perf2x.analysis.event_columns import cell_text
from perf2x.cli.diff.gate_outcome import verdict_lines, verdict_markdown
from perf2x.cli.render.markdown_table import code, escape_tildes, prose, table_rows
from perf2x.cli.render.screen import Screen, change_style, heat
from perf2x.cli.render.text_table import (
    HEAD,
    Column,
    Layout,
    bar_column,
    name_column,
    number_column,
    table_lines,
    text_column,
    without_pictures,
)
from perf2x.model.advice import Advice
from perf2x.model.number_format import format_amount, format_change, format_percent, plural
from perf2x.model.printable_text import short

Facts = dict[str, Any]


class Words(Struct, frozen=True):
    """Ways to write names, and sentences that may quote them."""

    name: Callable[[str], str]
    prose: Callable[[str], str]


MARKDOWN = Words(code, prose)
TEXT = Words(lambda name: name or "–", str)


class Part(Struct, frozen=True):
    """Part of a page: lines, a table, a sentence of ours."""

    title: str
    lines: Sequence[str]
    layouts: Sequence[Layout] = ()
    """From wide to narrow."""
    note: str = ""


def markdown_page(facts: Facts, steps: Sequence[Advice]) -> Iterator[str]:
    """Lines of the report in Markdown."""
    yield from verdict_markdown(facts["verdict"]) if facts["verdict"] else ()
    yield f"### perf2x report: {_recordings(facts, MARKDOWN)}"
    for part in _parts(facts, steps, MARKDOWN):
        yield from ("", f"#### {part.title}") if part.title else ()
        yield from ("", *part.lines) if part.lines else ()
        yield from ("", *table_rows(without_pictures(part.layouts)[0])) if part.layouts else ()
        yield from ("", escape_tildes(part.note)) if part.note else ()


def terminal_page(facts: Facts, steps: Sequence[Advice], screen: Screen) -> Iterator[str]:
    """Lines of the report for people at a terminal."""
    yield from verdict_lines(facts["verdict"], screen) if facts["verdict"] else ()
    yield from screen.sentence(f"perf2x report: {_recordings(facts, TEXT)}", "bold")
    for part in _parts(facts, steps, TEXT):
        yield from ("", screen.paint(part.title, "bold underline")) if part.title else ()
        for line in part.lines:
            yield from screen.sentence(line, indent="  ")
        yield from table_lines(part.layouts, screen) if part.layouts else ()
        yield from screen.sentence(part.note) if part.note else ()


def _recordings(facts: Facts, words: Words) -> str:
    found = facts["recordings"]
    return words.name(found["names"][0]) + (f" and {found['count'] - 1} more" if found["count"] > 1 else "")


def _parts(facts: Facts, steps: Sequence[Advice], words: Words) -> Iterator[Part]:
    """Parts that say something."""
    parts = (
        Part("", list(_recorded(facts, words))),
        Part("Look at next", [f"- {step.with_names(words.name)}" for step in steps]),
        _difference(facts, words),
        Part("Hottest functions by themselves", (), _functions(facts, "by_self", words)),
        Part("Hottest functions with all that they call", (), _functions(facts, "by_total", words)),
        Part("Hottest paths", list(_paths(facts, words))),
        Part("Objects", (), _shares(facts, "objects")),
        Part("Threads", (), _shares(facts, "threads")),
        Part("Quality", list(_quality(facts, words))),
    )
    return (part for part in parts if part.lines or part.layouts)


def _recorded(facts: Facts, words: Words) -> Iterator[str]:
    found, measured = facts["recorded"], facts["measured"]
    machine = [words.name(found[key]) for key in ("host", "kernel", "arch") if found[key]]
    machine += [plural(found["cpus"], "CPU")] if found["cpus"] else []
    time = f" in {found['duration_ns'] / 1e9:.3f} s" if found["duration_ns"] else ""
    processes = f"{found['processes']:,} process" + ("" if found["processes"] == 1 else "es")
    yield f"- {plural(found['threads'], 'thread')} of {processes}{time}"
    if found["command"]:
        yield f"- recorded with {words.name(found['command'])}"
    if machine:
        yield f"- on {', '.join(machine)}"
    for event in found["events"]:
        rate = f"{event['frequency']:,} Hz" if event["frequency"] else f"every {event['period']:,}"
        sampled = f"{plural(event['samples'], 'sample')}, ", f", {rate}"
        before, behind = ("", " counted") if "readings" in event else sampled
        if "counted" in event:
            behind += f", {format_amount(event['counted'], event['unit'])} counted"
        yield f"- {words.name(event['name'])}: {before}{format_amount(event['value'], event['unit'])}{behind}"
    if found["events_left_out"]:
        yield f"- and {plural(found['events_left_out'], 'event')} more"
    for name, cell in measured.get("columns", {}).items():
        if not isinstance(cell, int):
            yield f"- {words.name(name)}: {cell_text(cell, cell)}"
    if measured["functions"]:
        amount = format_amount(measured["value"], measured["unit"])
        yield f"- below: {words.name(measured['event'])}, {amount} in {plural(measured['functions'], 'function')}"


def _functions(facts: Facts, table: str, words: Words) -> list[Layout]:
    """Shares of the whole; callers with shares of the function's total."""
    rows = facts[table]
    bar, *costs = _costs(rows, facts["measured"]["value"], table.removeprefix("by_"))
    name = name_column("function", [row["name"] for row in rows])
    thing = name_column("object", [row["object"] for row in rows], "dim")
    callers = text_column("called by", [_callers(row, words) for row in rows])
    costs += _beside(facts, rows)
    everything = [*costs, name, thing, callers]
    return [[bar, *everything], [bar, *costs, name, callers], everything, [*costs, name, callers]] if rows else []


def _beside(facts: Facts, rows: Sequence[Facts]) -> list[Column]:
    """Columns of other events and ratios."""
    wholes = facts["measured"].get("columns", {})
    cells = {name: [cell_text(row["columns"][name], whole) for row in rows] for name, whole in wholes.items()}
    return [number_column(short(name, HEAD), texts) for name, texts in cells.items()]


def _costs(rows: Sequence[Facts], whole: int, drawn: str) -> list[Column]:
    """A bar, and shares of the whole."""
    return [
        bar_column([row[drawn] for row in rows]),
        *(
            number_column(
                key,
                [format_percent(row[key], whole) for row in rows],
                [heat(row[key], whole) for row in rows] if key == drawn else "",
            )
            for key in ("self", "total")
        ),
    ]


def _callers(row: Facts, words: Words) -> str:
    total = row["total"]
    named = [
        f"{words.name(one['name']) if one['name'] else 'no caller'} {format_percent(one['value'], total)}"
        for one in row["callers"]
    ]
    more = [f"{row['callers_left_out']:,} more"] if row["callers_left_out"] else []
    return ", ".join([*named, *more])


def _paths(facts: Facts, words: Words) -> Iterator[str]:
    whole = facts["measured"]["value"]
    for number, path in enumerate(facts["paths"], 1):
        left_out = [f"… {path['left_out']:,} more …"] if path["left_out"] else []
        names = [*map(words.name, path["outer"]), *left_out, *map(words.name, path["inner"])]
        own = f", the last by itself {format_percent(path['self'], whole)}" if path["self"] else ""
        yield f"{number}. {format_percent(path['total'], whole)}{own}: {' → '.join(names)}"


def _shares(facts: Facts, table: str) -> list[Layout]:
    rows = facts[table]
    name = name_column(table.removesuffix("s"), [row["name"] for row in rows])
    bar, *costs = _costs(rows, facts["measured"]["value"], "self")
    return [[bar, *costs, name], [*costs, name]] if rows else []


def _difference(facts: Facts, words: Words) -> Part:
    found, unit, title = facts["difference"], facts["measured"]["unit"], "What changed"
    if found is None:
        return Part(title, ())
    before, after = found["value"]
    amounts = f"{format_amount(before, unit)} before, {format_amount(after, unit)} after"
    doubt = "" if found["significant"] or found["normalized"] else ", may be noise"
    note = compared_note(found["work"], found["normalized"])
    since = f"Since {words.name(found['before'])}: {amounts} ({format_change(after - before, before)}{doubt}){note}."
    lines = [since, *_renamed(found, words)]
    if found["rows"]:
        wholes = (before, before if found["normalized"] else after)
        note = "~ marks changes that sampling noise may explain."
        return Part(title, lines, _changes(found["rows"], wholes, unit), note)
    nothing = f"{plural(found['moved'], 'function')} changed." if found["moved"] else "No function changed."
    return Part(title, [*lines, nothing])


def _renamed(found: Facts, words: Words) -> Iterator[str]:
    pairs = [f"{words.name(new)} for {words.name(old)}" for old, new in found["renamed_objects"]]
    more = [f"{found['renamed_objects_left_out']:,} more"] if found["renamed_objects_left_out"] else []
    if pairs or more:
        yield f"Takes {', '.join([*pairs, *more])}."


def _changes(rows: Sequence[Facts], wholes: tuple[int, int], unit: str) -> list[Layout]:
    """Layouts from wide to narrow: all; without shares; changes only."""
    whole = wholes[0]
    before, after = ([format_amount(row["self"][at], unit, whole) for row in rows] for at in (0, 1))
    shares = [[format_percent(row["self"][at], wholes[at]) for row in rows] for at in (0, 1)]
    own, total = (
        (
            [("" if row[real] else "~") + format_change(row[key][1] - row[key][0], whole) for row in rows],
            [change_style(row[key][1] - row[key][0], row[real]) for row in rows],
        )
        for key, real in (("self", "significant"), ("total", "total_significant"))
    )
    amounts = [number_column("self before", before), number_column("after", after)]
    changes = [number_column("change", *own), number_column("total", *total)]
    name = name_column("function", [row["name"] for row in rows])
    thing = name_column("object", [row["object"] for row in rows], "dim")
    parts = [number_column("share before", shares[0]), number_column("after", shares[1])]
    return [[*amounts, *changes, *parts, name, thing], [*amounts, *changes, name, thing], [*changes, name]]


def _quality(facts: Facts, words: Words) -> Iterator[str]:
    found = facts["quality"]
    kept, recorded = found["samples_kept"], found["samples_recorded"]
    if recorded:
        yield (
            f"- {kept:,} of {recorded:,} samples used" if kept != recorded else f"- {plural(kept, 'sample')}, all used"
        )
    if found["frames"]:
        share = format_percent(found["frames_named"], found["frames"])
        yield f"- {share} of {plural(found['frames'], 'frame')} have names"
    for row in found["unnamed_objects"]:
        reason = f": {words.prose(row['reason'])}" if row["reason"] else ""
        yield f"  - {words.name(row['name'])}: {row['frames']:,} without{reason}"
    if found["unnamed_objects_left_out"]:
        yield f"  - and {plural(found['unnamed_objects_left_out'], 'object')} more"
    for line in (found["deferred"], found["unwound"]):
        if line:
            yield f"- {words.prose(line)}"
    for row in found["findings"]:
        advice = f"; {words.prose(row['advice'])}" if row["advice"] else ""
        yield f"- {row['severity']}: {words.prose(row['text'])}{advice}"
    if found["findings_left_out"]:
        yield f"- and {plural(found['findings_left_out'], 'finding')} more"
