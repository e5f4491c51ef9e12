"""``perf2x diff``: what got slower, for people as a table and for CI as an exit code."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perf2x.cli import console
from perf2x.cli.common import Quiet
from perf2x.cli.filter_flags import FilterFlags, GroupFlags
from perf2x.cli.gates import leave_closed, limit
from perf2x.cli.loading import load_options
from perf2x.cli.stitch_flags import StitchFlags
from perf2x.cli.symbol_flags import SymbolFlags
from perf2x.cli.tables import amount, percent, table
from perf2x.model.errors import OptionError

if TYPE_CHECKING:
    from perf2x.comparing import Change
    from perf2x.model.profile import Profile
    from perf2x.pipeline import Loaded
    from perf2x.totals import Totals

FORMATS = {"collapsed": ".folded", "pprof": ".pb.gz"}

Before = Annotated[str, typer.Argument(metavar="BEFORE", help="The recording to compare with.")]
After = Annotated[str, typer.Argument(metavar="AFTER", help="The recording that is new.")]
To = Annotated[
    str | None,
    typer.Option("--to", "-t", metavar="collapsed|pprof", help="Write the difference, too: two columns, or a base."),
]
Output = Annotated[str | None, typer.Option("--output", "-o", metavar="FILE", help="Where to; - is standard output.")]
Limit = Annotated[int, typer.Option("--limit", "-n", metavar="N", min=0, help="Show N lines; 0: all.")]
By = Annotated[str, typer.Option(metavar="function|object|thread", help="What a line is.")]
Sort = Annotated[str, typer.Option(metavar="self|total", help="Which change to sort by, and to hold the gate against.")]
Value = Annotated[str, typer.Option(metavar="period|samples", help="What the numbers are.")]
Normalize = Annotated[bool, typer.Option("--normalize", help="Compare shares: scale AFTER to the whole of BEFORE.")]
FailAbove = Annotated[
    str | None,
    typer.Option(metavar="PCT", help="Fail when a line, or the whole, grew by more than PCT % of BEFORE's whole."),
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]


def diff(
    before: Before,
    after: After,
    *,
    to: To = None,
    output: Output = None,
    lines: Limit = 20,
    by: By = "function",
    sort: Sort = "self",
    value: Value = "period",
    normalize: Normalize = False,
    fail_above: FailAbove = None,
    as_json: AsJson = False,
    chosen: FilterFlags,
    groups: GroupFlags,
    stitching: StitchFlags,
    names: SymbolFlags,
    quiet: Quiet = False,
) -> None:
    """Compare two recordings: the functions that moved most."""
    from perf2x import pipeline
    from perf2x.comparing import changes
    from perf2x.totals import totals

    allowed = limit("fail_above", fail_above)
    _check(to, output, sort)
    options = load_options(chosen, groups, stitching, names)
    with console.progress(quiet) as progress:
        old, new = (pipeline.load(source, options, progress) for source in (before, after))
    was = totals(old.profile, None, by, value)
    now = totals(new.profile, was.event or None, by, value)
    moved = _sorted(changes(was, now, normalize=normalize), sort)
    if to is not None:
        _write(to, output, old, new, value, was.whole / now.whole if normalize and now.whole else None, (before, after))
    if as_json:
        typer.echo(json.dumps(_facts(was, now, moved[: lines or None]), indent=2))
    elif output != "-":
        for line in _lines(was, now, moved[: lines or None], by, normalize):
            typer.echo(console.clean(line))
    leave_closed(list(_grown(was, now, moved, allowed, sort, normalize)))


def _check(to: str | None, output: str | None, sort: str) -> None:
    if to is not None and to not in FORMATS:
        raise OptionError(f"--to {to}: a difference can be {' or '.join(FORMATS)}")
    if output is not None and to is None:
        raise OptionError(f"--output {output}: say what to write with --to {' or --to '.join(FORMATS)}")
    if sort not in ("self", "total"):
        raise OptionError(f"--sort {sort}: it is self or total")


def _sorted(moved: list["Change"], sort: str) -> list["Change"]:
    """Largest move first, whichever way; then by name."""
    return sorted(moved, key=lambda row: (-abs(_moved(row, sort)), row.name, row.object))


def _moved(row: "Change", sort: str) -> int:
    return row.own if sort == "self" else row.total


def _write(
    to: str,
    output: str | None,
    old: "Loaded",
    new: "Loaded",
    value: str,
    factor: float | None,
    sources: tuple[str, str],
) -> None:
    from perf2x.cli.output import writing
    from perf2x.comparing import difference, scaled, two_columns
    from perf2x.emit.collapsed import Collapsed
    from perf2x.emit.pprof import Pprof

    after: Profile = new.profile if factor is None else scaled(new.profile, factor)
    target = output or f"diff{FORMATS[to]}"
    with writing(target, inputs=sources) as out:
        if to == "collapsed":
            out.writelines(two_columns(old.profile, after, Collapsed(value=value)))
        else:
            Pprof().emit(difference(old.profile, after), out)
    if target != "-":
        hint = f"flamegraph.pl {target} > diff.svg" if to == "collapsed" else f"go tool pprof -http=: {target}"
        console.note(f"wrote {to} to {target} ({hint})")


def _lines(was: "Totals", now: "Totals", rows: list["Change"], by: str, normalize: bool) -> Iterator[str]:
    whole = f"{amount(was.whole, was.unit)} before, {amount(now.whole, was.unit)} after"
    share = _signed(now.whole - was.whole, was.whole)
    yield f"{was.event}: {whole} ({share}){'; shares compared' if normalize else ''}"
    cells = [
        (
            amount(row.own_before, was.unit, was.whole), amount(row.own_after, was.unit, was.whole),
            _signed(row.own, was.whole),
            amount(row.total_before, was.unit, was.whole), amount(row.total_after, was.unit, was.whole),
            _signed(row.total, was.whole),
            *((row.object or "–", row.name) if by == "function" else (row.name,)),
        )
        for row in rows
    ]  # fmt: skip
    heads = ("object", "function") if by == "function" else (by,)
    yield from table(("self before", "after", "change", "total before", "after", "change", *heads), cells, len(heads))


def _signed(change: int, whole: int) -> str:
    """In percent of the whole before: ``+1.2 %``."""
    text = percent(change, whole)
    return text if change < 0 or not whole else f"+{text}"


def _grown(
    was: "Totals", now: "Totals", moved: list["Change"], allowed: float | None, sort: str, normalize: bool
) -> Iterator[str]:
    """A sentence for each line, and for the whole, that grew by more than is allowed; the worst first."""
    if allowed is None or not was.whole:
        return
    bar = allowed / 100 * was.whole
    if not normalize and now.whole - was.whole > bar:
        yield f"the whole grew by {_signed(now.whole - was.whole, was.whole)}, more than {allowed:g} % (--fail-above)"
    for row in moved:
        if _moved(row, sort) > bar:
            place = f" in {row.object}" if row.object else ""
            grown = _signed(_moved(row, sort), was.whole)
            yield f"{row.name}{place} grew by {grown} of the whole, more than {allowed:g} % (--fail-above)"


def _facts(was: "Totals", now: "Totals", rows: list["Change"]) -> dict[str, Any]:
    return {
        "event": was.event,
        "unit": was.unit,
        "before": was.whole,
        "after": now.whole,
        "rows": [
            {
                "name": row.name,
                "object": row.object,
                "self": [row.own_before, row.own_after],
                "total": [row.total_before, row.total_after],
            }
            for row in rows
        ],
    }
