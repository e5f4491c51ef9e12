"""``perf2x diff``: what got slower, for people as a table and as pictures, and for CI as an exit code."""

import json
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

import click

from perf2x.cli import console
from perf2x.cli.common import Quiet, Verbose
from perf2x.cli.diff_gate import Gate, bars_of, confidence_of
from perf2x.cli.filter_flags import FilterFlags, GroupFlags
from perf2x.cli.gates import leave_closed
from perf2x.cli.loading import load_options
from perf2x.cli.parameters import Argument, Option
from perf2x.cli.stitch_flags import StitchFlags
from perf2x.cli.symbol_flags import SymbolFlags
from perf2x.cli.tables import amount, signed, table
from perf2x.model.errors import OptionError
from perf2x.model.plain_text import plain

if TYPE_CHECKING:
    from perf2x.cli.diff_gate import Verdict
    from perf2x.comparing import Change
    from perf2x.pipeline import Loaded
    from perf2x.totals import Totals

_OUTPUT = "Output"

Before = Annotated[str, Argument(metavar="BEFORE", help="The recording to compare with.")]
After = Annotated[str, Argument(metavar="AFTER", help="The recording that is new.")]
To = Annotated[
    str | None,
    Option(
        "--to",
        "-t",
        metavar="html|pprof|collapsed",
        help="Write the difference, too: red and blue, with its base, or in two columns.",
        panel=_OUTPUT,
    ),
]
Output = Annotated[
    str | None,
    Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Where to write [diff.html, …]; the suffix names the format; - is standard output.",
        panel=_OUTPUT,
    ),
]
Limit = Annotated[int, Option("--limit", "-n", metavar="N", at_least=0, help="Show N lines; 0: all.", panel="Table")]
By = Annotated[str, Option(metavar="function|object|thread", help="What a line is.", panel="Table")]
Sort = Annotated[
    str,
    Option(metavar="self|total", help="Which change to sort by, and to hold gates against.", panel="Table"),
]
Value = Annotated[str, Option(metavar="period|samples", help="What the numbers are.", panel="Table")]
Normalize = Annotated[
    bool,
    Option("--normalize", help="Compare shares: scale AFTER to the whole of BEFORE.", panel="Table"),
]
FailAbove = Annotated[
    list[str] | None,
    Option(
        metavar="[WHAT=]PCT",
        help="Exit with 3 when a line, or the whole, grew by more than PCT % of BEFORE's whole and sampling noise "
        "does not explain it. WHAT: total, function, object, or some of them by name, function:parse*. Repeatable.",
        panel="For CI",
    ),
]
Confidence = Annotated[
    str,
    Option(
        metavar="0.95",
        help="Two recordings of the same program pass at least so often, however many lines are looked at.",
        panel="For CI",
    ),
]
AnyChange = Annotated[
    bool, Option("--any-change", help="--fail-above counts changes that sampling noise explains, too.", panel="For CI")
]
AsJson = Annotated[bool, Option("--json", help="One JSON object on standard output.", panel="Table")]


def diff(
    before: Before,
    after: After,
    *,
    to: To = None,
    output: Output = None,
    limit: Limit = 20,
    by: By = "function",
    sort: Sort = "self",
    value: Value = "period",
    normalize: Normalize = False,
    fail_above: FailAbove = None,
    confidence: Confidence = "0.95",
    any_change: AnyChange = False,
    as_json: AsJson = False,
    chosen: FilterFlags,
    groups: GroupFlags,
    stitching: StitchFlags,
    names: SymbolFlags,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Compare two recordings: the functions that moved most.

    perf2x diff before.data after.data -o diff.html draws it; red grew, blue shrank. ~ marks changes that sampling
    noise explains.
    """
    from perf2x import pipeline
    from perf2x.cli.diff_output import format_to_write, write_difference
    from perf2x.comparing import Comparison
    from perf2x.totals import totals

    gate = Gate(bars_of(fail_above or ()), sort, confidence_of(confidence), any_change)
    to = format_to_write(to, output)
    if sort not in ("self", "total"):
        raise OptionError(f"--sort {sort}: it is self or total")
    options = load_options(chosen, groups, stitching, names)
    with console.progress(quiet) as progress:
        old, new = (pipeline.load(source, options, progress) for source in (before, after))

    @cache
    def compared(kind: str) -> Comparison:
        was = totals(old.profile, None, kind, value)
        try:
            now = totals(new.profile, was.event or None, kind, value)
        except OptionError as error:
            raise OptionError(f"{after}: {error}; --event NAME chooses one that both have") from None
        return Comparison(was, now, normalize)

    verdict = gate.verdict(by, compared)
    comparison = compared(by)
    was, now = comparison.before, comparison.after
    moved = _sorted(_with_limits_of_gate(comparison.changes(gate.confidence), by, sort, verdict), sort)
    written = write_difference(to, output, old, new, value, normalize, (before, after)) if to is not None else ""
    if as_json:
        click.echo(json.dumps(_facts(was, now, moved[: limit or None], gate.confidence), indent=2))
    elif output != "-":
        for line in _lines(was, now, moved[: limit or None], by, normalize):
            click.echo(plain(line))
    for line in () if quiet else _notes((before, old), (after, new), verbose=verbose):
        console.note(line)
    if written and not quiet:
        console.note(written)
    for line in () if quiet else verdict.notes:
        console.note(f"perf2x: {line}")
    leave_closed(verdict.sentences)


def _with_limits_of_gate(rows: list["Change"], by: str, sort: str, verdict: "Verdict") -> Iterator["Change"]:
    """The rows; those that a gate looked at have its interval, so that table and gate say the same."""
    for row in rows:
        limits = verdict.intervals.get((by, row.name, row.object))
        yield row if limits is None else row.with_interval(sort, limits)


def _notes(*sides: tuple[str, "Loaded"], verbose: bool) -> Iterator[str]:
    from perf2x.cli.summary import described, warnings

    for source, loaded in sides:
        for line in described(loaded) if verbose else warnings(loaded):
            yield f"{source}: {line}"


def _sorted(moved: Iterable["Change"], sort: str) -> list["Change"]:
    """Largest move first, whichever way; then by name."""
    return sorted(moved, key=lambda row: (-abs(row.moved(sort)), row.name, row.object))


def _lines(was: "Totals", now: "Totals", rows: list["Change"], by: str, normalize: bool) -> Iterator[str]:
    whole = f"{amount(was.whole, was.unit)} before, {amount(now.whole, was.unit)} after"
    share = signed(now.whole - was.whole, was.whole)
    marked = any(_uncertain(row, column) for row in rows for column in ("self", "total"))
    notes = ("; shares compared" if normalize else "") + ("; ~ may be chance" if marked else "")
    yield f"{was.event}: {whole} ({share}){notes}"
    cells = [
        (
            amount(row.own_before, was.unit, was.whole), amount(row.own_after, was.unit, was.whole),
            _change(row, "self", was.whole),
            amount(row.total_before, was.unit, was.whole), amount(row.total_after, was.unit, was.whole),
            _change(row, "total", was.whole),
            *((row.object or "–", row.name) if by == "function" else (row.name,)),
        )
        for row in rows
    ]  # fmt: skip
    heads = ("object", "function") if by == "function" else (by,)
    yield from table(("self before", "after", "change", "total before", "after", "change", *heads), cells, len(heads))


def _change(row: "Change", column: str, whole: int) -> str:
    """In percent of the whole before, marked when sampling noise explains it."""
    return ("~" if _uncertain(row, column) else "") + signed(row.moved(column), whole)


def _uncertain(row: "Change", column: str) -> bool:
    return row.moved(column) != 0 and not row.significant(column)


def _facts(was: "Totals", now: "Totals", rows: list["Change"], confidence: float) -> dict[str, Any]:
    return {
        "event": was.event,
        "unit": was.unit,
        "before": was.whole,
        "after": now.whole,
        "confidence": confidence,
        "rows": [
            {
                "name": row.name,
                "object": row.object,
                "self": [row.own_before, row.own_after],
                "total": [row.total_before, row.total_after],
                "interval": {column: _rounded(row.interval(column)) for column in ("self", "total")},
                "significant": {column: row.significant(column) for column in ("self", "total")},
            }
            for row in rows
        ],
    }


def _rounded(limits: tuple[float, float]) -> list[float]:
    """To six digits: the last ones may differ between machines."""
    return [float(f"{limit:.6g}") for limit in limits]
