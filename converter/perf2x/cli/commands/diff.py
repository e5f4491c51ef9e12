"""``perf2x diff``: what got slower, for people as a table and as pictures, and for CI as an exit code."""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from msgspec.structs import replace

from perf2x.cli import progress as console
from perf2x.cli.diff_gate import Gate, bars_of, confidence_of
from perf2x.cli.gates import leave_closed
from perf2x.cli.help import HelpAll
from perf2x.cli.load_options import load_options
from perf2x.cli.options import filters, gather, grouping, stacks, symbols
from perf2x.cli.options.filters import FilterFlags
from perf2x.cli.options.grouping import GroupFlags
from perf2x.cli.options.inputs import MaxUnpacked, Quiet, Verbose
from perf2x.cli.options.stacks import StitchFlags
from perf2x.cli.options.symbols import SymbolFlags
from perf2x.cli.options.table import By, Format, Json, Limit, Value, Wide
from perf2x.cli.render.show import show
from perf2x.tables.errors import OptionError

if TYPE_CHECKING:
    from perf2x.analysis.diff import Change
    from perf2x.cli.diff_gate import Verdict
    from perf2x.pipeline.result import Loaded

_OUTPUT = "Output"

Before = Annotated[str, typer.Argument(metavar="BEFORE", help="The recording to compare with.")]
After = Annotated[str, typer.Argument(metavar="AFTER", help="The recording that is new.")]
To = Annotated[
    Literal["html", "pprof", "collapsed"] | None,
    typer.Option(
        "--to",
        "-t",
        help="Write the difference, too: red and blue, with its base, or in two columns.",
        rich_help_panel=_OUTPUT,
    ),
]
Output = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        show_default="diff.html, …",
        help="Where to write; the suffix names the format; - is standard output.",
        rich_help_panel=_OUTPUT,
    ),
]
Sort = Annotated[
    Literal["self", "total"],
    typer.Option("--sort", help="Which change to sort by, and to hold gates against.", rich_help_panel="Table"),
]
Normalize = Annotated[
    bool,
    typer.Option("--normalize", help="Compare shares: scale AFTER to the whole of BEFORE.", rich_help_panel="Table"),
]
FailAbove = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-above",
        metavar="[WHAT=]PCT",
        help="Exit with 3 when a line, or the whole, grew by more than PCT % of BEFORE's whole and sampling noise "
        "does not explain it. WHAT: total, function, object, or some of them by name, function:parse*. Repeatable.",
        rich_help_panel="For CI",
    ),
]
Confidence = Annotated[
    str,
    typer.Option(
        "--confidence",
        metavar="0.95",
        help="Two recordings of the same program pass at least so often, however many lines are looked at.",
        rich_help_panel="For CI",
    ),
]
AnyChange = Annotated[
    bool,
    typer.Option(
        "--any-change", help="--fail-above counts changes that sampling noise explains, too.", rich_help_panel="For CI"
    ),
]
All = Annotated[bool, typer.Option("--all", help="Show rows that did not move, too.", rich_help_panel="Table")]


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
    show_all: All = False,
    format: Format = "table",  # noqa: A002 - the option's name
    as_json: Json = False,
    wide: Wide = False,
    event: filters.Event = None,
    pid: filters.Pid = None,
    tid: filters.Tid = None,
    comm: filters.Comm = None,
    cpu: filters.Cpu = None,
    dso: filters.Dso = None,
    symbol: filters.Symbol = None,
    time: filters.Time = None,
    time_wall: filters.TimeWall = None,
    max_stack: filters.MaxStack = None,
    no_kernel: filters.NoKernel = False,
    no_user: filters.NoUser = False,
    no_idle: filters.NoIdle = False,
    allow_empty: filters.AllowEmpty = False,
    root: grouping.Root = None,
    merge_threads: grouping.MergeThreads = False,
    fold_recursion: grouping.FoldRecursion = False,
    off_cpu: grouping.OffCpu = None,
    anonymize: grouping.Anonymize = None,
    deferred_missing: stacks.DeferredMissing = "mark",
    stitch_lbr: stacks.StitchLbr = False,
    merge_callchains: stacks.MergeCallchains = True,
    jobs: stacks.Jobs = 0,
    symfs: symbols.Symfs = None,
    kallsyms: symbols.Kallsyms = None,
    vmlinux: symbols.Vmlinux = None,
    debug_dir: symbols.DebugDir = None,
    buildid_dir: symbols.BuildidDir = None,
    perf_map_dir: symbols.PerfMapDir = None,
    debuginfod: symbols.Debuginfod = None,
    archive: symbols.Archive = None,
    allow_build_id_mismatch: symbols.AllowBuildIdMismatch = False,
    demangle: symbols.DemangleStyle = "simple",
    inline: symbols.Inline = True,
    no_symbols: symbols.NoSymbols = False,
    max_unpacked: MaxUnpacked = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
    help_all: HelpAll = False,
) -> None:
    """Compare two recordings: the functions that moved most.

    perf2x diff before.data after.data -o diff.html draws it; red grew, blue shrank. ~ marks changes that sampling
    noise explains.
    """
    chosen, groups = gather(FilterFlags, locals()), gather(GroupFlags, locals())
    stitching, names = gather(StitchFlags, locals()), gather(SymbolFlags, locals())
    from perf2x.analysis.diff import Comparison
    from perf2x.analysis.event_pairs import renamed
    from perf2x.analysis.totals import totals
    from perf2x.cli.diff_files import format_to_write, write_difference
    from perf2x.cli.render.diff_table import Shown, diff_report, has_moved, left_out
    from perf2x.files.output import STDOUT
    from perf2x.pipeline.load import load

    gate = Gate(bars_of(fail_above or ()), sort, confidence_of(confidence), any_change)
    drawn = format_to_write(to, output)
    shape = "json" if as_json else format
    if output == STDOUT and shape != "table":
        raise OptionError(f"-o - and --format {shape} would both write to standard output; choose one")
    options = load_options(chosen, groups, stitching, names)
    with console.progress(quiet) as progress:
        old, new = (load(source, options, progress) for source in (before, after))
    renamed_profile, choices = renamed(old.profile, new.profile)
    new = replace(new, profile=renamed_profile)
    for line in choices:
        console.note(f"perf2x: {line}")

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
    written = write_difference(drawn, output, old, new, value, normalize, (before, after)) if drawn else ""
    kept = moved if show_all else [row for row in moved if has_moved(row, was.whole)]
    unmoved = len(moved) - len(kept)
    if output != STDOUT:
        rows, sources = kept[: limit or None], (before, after)
        shown = Shown(was, now, rows, by, sort, normalize, gate.confidence, unmoved, sources)
        show(diff_report(shown), shape, wide=wide)
        if kept and unmoved and not quiet:
            console.note(f"{left_out(shown)} (--all shows them)")
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
    from perf2x.cli.render.summary import described, warnings

    for source, loaded in sides:
        for line in described(loaded) if verbose else warnings(loaded):
            yield f"{source}: {line}"


def _sorted(moved: Iterable["Change"], sort: str) -> list["Change"]:
    """Largest move first, whichever way; then by name."""
    return sorted(moved, key=lambda row: (-abs(row.moved(sort)), row.name, row.object))
