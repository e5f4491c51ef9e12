"""Markdown of ``perf2x report``, made from its facts: headings, tables and lists that no recorded name can break."""

from collections.abc import Iterator, Sequence
from typing import Any

from perf2x.cli.diff.verdict import verdict_markdown
from perf2x.cli.render.diff_table import work_note
from perf2x.cli.render.markdown_table import code, escape_tildes, prose, table_row
from perf2x.cli.render.number_format import format_amount, format_change, format_percent, plural
from perf2x.model.advice import Advice

Facts = dict[str, Any]


def report_markdown(facts: Facts, steps: Sequence[Advice]) -> Iterator[str]:
    """Lines of the whole report."""
    if facts["verdict"]:
        yield from verdict_markdown(facts["verdict"])
    recordings = facts["recordings"]
    more = f" and {recordings['count'] - 1} more" if recordings["count"] > 1 else ""
    yield f"### perf2x report: {code(recordings['names'][0])}{more}"
    for title, lines in (
        ("", _recorded(facts)),
        ("Look at next", [f"- {step.with_names(code)}" for step in steps]),
        ("What changed", _difference(facts)),
        ("Hottest functions by themselves", _functions(facts, "by_self", "self")),
        ("Hottest functions with all that they call", _functions(facts, "by_total", "total")),
        ("Hottest paths", _paths(facts)),
        ("Objects", _shares(facts, "objects", "object")),
        ("Threads", _shares(facts, "threads", "thread")),
        ("Quality", _quality(facts)),
    ):
        shown = [*lines]
        if shown:
            yield from ("", f"#### {title}", "") if title else ("",)
            yield from shown


def _recorded(facts: Facts) -> Iterator[str]:
    found, measured = facts["recorded"], facts["measured"]
    machine = [code(found[key]) for key in ("host", "kernel", "arch") if found[key]]
    machine += [plural(found["cpus"], "CPU")] if found["cpus"] else []
    time = f" in {found['duration_ns'] / 1e9:.3f} s" if found["duration_ns"] else ""
    processes = f"{found['processes']:,} process" + ("" if found["processes"] == 1 else "es")
    yield f"- {plural(found['threads'], 'thread')} of {processes}{time}"
    if found["command"]:
        yield f"- recorded with {code(found['command'])}"
    if machine:
        yield f"- on {', '.join(machine)}"
    for event in found["events"]:
        rate = f"{event['frequency']:,} Hz" if event["frequency"] else f"every {event['period']:,}"
        amount = format_amount(event["value"], event["unit"])
        yield f"- {code(event['name'])}: {plural(event['samples'], 'sample')}, {amount}, {rate}"
    if found["events_left_out"]:
        yield f"- and {plural(found['events_left_out'], 'event')} more"
    if measured["samples"]:
        amount = format_amount(measured["value"], measured["unit"])
        yield f"- below: {code(measured['event'])}, {amount} in {plural(measured['functions'], 'function')}"


def _functions(facts: Facts, table: str, column: str) -> Iterator[str]:
    """Shares of the whole; callers with shares of the function's total."""
    whole, rows = facts["measured"]["value"], facts[table]
    if not rows:
        return
    yield table_row(["self", "total", "function", "object", "called by"])
    yield table_row(["--:", "--:", ":--", ":--", ":--"])
    for row in rows:
        shares = [format_percent(row[key], whole) for key in ("self", "total")]
        yield table_row([*shares, code(row["name"]), code(row["object"]), _callers(row)])


def _callers(row: Facts) -> str:
    named = [
        f"{code(caller['name']) if caller['name'] else 'no caller'} {format_percent(caller['value'], row['total'])}"
        for caller in row["callers"]
    ]
    more = [f"{row['callers_left_out']:,} more"] if row["callers_left_out"] else []
    return ", ".join([*named, *more])


def _paths(facts: Facts) -> Iterator[str]:
    whole = facts["measured"]["value"]
    for number, path in enumerate(facts["paths"], 1):
        left_out = [f"… {path['left_out']:,} more …"] if path["left_out"] else []
        names = [*map(code, path["outer"]), *left_out, *map(code, path["inner"])]
        own = f", the last by itself {format_percent(path['self'], whole)}" if path["self"] else ""
        yield f"{number}. {format_percent(path['total'], whole)}{own}: {' → '.join(names)}"


def _shares(facts: Facts, table: str, head: str) -> Iterator[str]:
    rows, whole = facts[table], facts["measured"]["value"]
    if not rows:
        return
    yield table_row(["self", "total", head])
    yield table_row(["--:", "--:", ":--"])
    for row in rows:
        yield table_row([*(format_percent(row[key], whole) for key in ("self", "total")), code(row["name"])])


def _difference(facts: Facts) -> Iterator[str]:
    found, unit = facts["difference"], facts["measured"]["unit"]
    if found is None:
        return
    before, after = found["value"]
    amounts = f"{format_amount(before, unit)} before, {format_amount(after, unit)} after"
    doubt = "" if found["significant"] or found["normalized"] else ", may be noise"
    compared = work_note(found["work"]) if found["work"] else "; shares compared" if found["normalized"] else ""
    yield f"Since {code(found['before'])}: {amounts} ({format_change(after - before, before)}{doubt}){compared}."
    if found["renamed_objects"]:
        pairs = [f"{code(new)} for {code(old)}" for old, new in found["renamed_objects"]]
        more = [f"{found['renamed_objects_left_out']:,} more"] if found["renamed_objects_left_out"] else []
        yield f"Takes {', '.join([*pairs, *more])}."
    if not found["rows"]:
        yield "No function changed." if not found["moved"] else f"{plural(found['moved'], 'function')} changed."
        return
    yield ""
    yield table_row(["self before", "after", "change", "total", "share before", "after", "function", "object"])
    yield table_row(["--:"] * 6 + [":--", ":--"])
    for row in found["rows"]:
        yield table_row(_change_cells(row, [before, before if found["normalized"] else after], unit))
    yield ""
    yield escape_tildes("~ marks changes that sampling noise may explain.")


def _change_cells(row: Facts, wholes: list[int], unit: str) -> list[str]:
    whole = wholes[0]
    shares = [format_percent(*sides) for sides in zip(row["self"], wholes, strict=True)]
    amounts = [format_amount(value, unit, whole) for value in row["self"]]
    own, total = (format_change(row[key][1] - row[key][0], whole) for key in ("self", "total"))
    marked = [own if row["significant"] else f"~{own}", total if row["total_significant"] else f"~{total}"]
    return [*amounts, *map(escape_tildes, marked), *shares, code(row["name"]), code(row["object"])]


def _quality(facts: Facts) -> Iterator[str]:
    found = facts["quality"]
    kept, recorded = found["samples_kept"], found["samples_recorded"]
    yield f"- {kept:,} of {recorded:,} samples used" if kept != recorded else f"- {plural(kept, 'sample')}, all used"
    if found["frames"]:
        share = format_percent(found["frames_named"], found["frames"])
        yield f"- {share} of {plural(found['frames'], 'frame')} have names"
    for row in found["unnamed_objects"]:
        reason = f": {prose(row['reason'])}" if row["reason"] else ""
        yield f"  - {code(row['name'])}: {row['frames']:,} without{reason}"
    if found["unnamed_objects_left_out"]:
        yield f"  - and {plural(found['unnamed_objects_left_out'], 'object')} more"
    for line in (found["deferred"], found["unwound"]):
        if line:
            yield f"- {prose(line)}"
    for row in found["findings"]:
        advice = f"; {prose(row['advice'])}" if row["advice"] else ""
        yield f"- {row['severity']}: {prose(row['text'])}{advice}"
    if found["findings_left_out"]:
        yield f"- and {plural(found['findings_left_out'], 'finding')} more"
