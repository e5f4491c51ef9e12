"""``perf2x top``: the hottest functions, objects or threads as a table; no viewer needed for a first look."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import click

from perf2x.cli import console
from perf2x.cli.common import Inputs, Quiet, Verbose, recordings
from perf2x.cli.filter_flags import FilterFlags, GroupFlags
from perf2x.cli.loading import load_options
from perf2x.cli.parameters import Option
from perf2x.cli.stitch_flags import StitchFlags
from perf2x.cli.symbol_flags import SymbolFlags
from perf2x.cli.tables import amount, percent, plural, table
from perf2x.model.errors import OptionError
from perf2x.model.plain_text import plain

if TYPE_CHECKING:
    from perf2x.totals import Total, Totals

Limit = Annotated[int, Option("--limit", "-n", metavar="N", at_least=0, help="Show N lines; 0: all.", panel="Table")]
By = Annotated[str, Option(metavar="function|object|thread", help="What a line is.", panel="Table")]
Sort = Annotated[str, Option(metavar="self|total", help="Which number to sort by.", panel="Table")]
Value = Annotated[str, Option(metavar="period|samples", help="What the numbers are.", panel="Table")]
AsJson = Annotated[bool, Option("--json", help="One JSON object on standard output.", panel="Table")]


def top(
    inputs: Inputs = None,
    *,
    limit: Limit = 20,
    by: By = "function",
    sort: Sort = "self",
    value: Value = "period",
    as_json: AsJson = False,
    chosen: FilterFlags,
    groups: GroupFlags,
    stitching: StitchFlags,
    names: SymbolFlags,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Show the hottest functions: what each costs itself, and with all that it calls."""
    from perf2x import pipeline
    from perf2x.cli.summary import described, notable
    from perf2x.totals import totals

    if sort not in ("self", "total"):
        raise OptionError(f"--sort {sort}: it is self or total")
    with console.progress(quiet) as progress:
        loaded = pipeline.load(recordings(inputs), load_options(chosen, groups, stitching, names), progress)
    found = totals(loaded.profile, None, by, value)
    rows = hottest(found, sort, limit)
    if as_json:
        click.echo(json.dumps(_facts(found, rows), indent=2))
        return
    for line in _lines(found, rows, by, loaded.profile.meta.duration_ns):
        click.echo(plain(line))
    if not quiet:
        others = [event.name for event in loaded.events if event.samples and event.name != found.event]
        if others:
            console.note(f"left out: {', '.join(others)} (--event NAME chooses)")
        for line in described(loaded) if verbose else notable(loaded):
            console.note(line)


def hottest(found: "Totals", sort: str, limit: int) -> list["Total"]:
    """The first ``limit`` rows (0: all) by cost, then by name."""

    def cost(row: "Total") -> tuple[int, int, str, str]:
        first, second = (row.own, row.total) if sort == "self" else (row.total, row.own)
        return -first, -second, row.name, row.object

    return sorted(found.rows, key=cost)[: limit or None]


def _lines(found: "Totals", rows: list["Total"], by: str, duration_ns: int) -> Iterator[str]:
    whole = amount(found.whole, found.unit)
    time = f" in {duration_ns / 1e9:.3f} s" if duration_ns else ""
    samples = plural(found.samples, "sample")
    yield f"{found.event}: {samples}, {whole}{time}; showing {len(rows)} of {len(found.rows)} {by}s"
    cells = [
        (
            amount(row.own, found.unit, found.whole), percent(row.own, found.whole),
            amount(row.total, found.unit, found.whole), percent(row.total, found.whole),
            *((row.object or "–", row.name) if by == "function" else (row.name,)),
        )
        for row in rows
    ]  # fmt: skip
    heads = ("object", "function") if by == "function" else (by,)
    yield from table(("self", "", "total", "", *heads), cells, len(heads))


def _facts(found: "Totals", rows: list["Total"]) -> dict[str, Any]:
    return {
        "event": found.event,
        "unit": found.unit,
        "samples": found.samples,
        "value": found.whole,
        "rows": [{"name": row.name, "object": row.object, "self": row.own, "total": row.total} for row in rows],
    }
