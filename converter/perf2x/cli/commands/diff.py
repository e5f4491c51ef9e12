"""``perf2x diff``: the functions that got slower, as a table, as a picture, and as an exit code for CI."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from perf2x.cli.diff_gate import DiffGate, parse_confidence, parse_limits
from perf2x.cli.gates import exit_for_failed_gates
from perf2x.cli.help import HelpAll
from perf2x.cli.load_options import load_options
from perf2x.cli.messages import print_message
from perf2x.cli.options import diff as differences
from perf2x.cli.options import filters, grouping, make_group, stacks, symbols
from perf2x.cli.options.inputs import MaxUnpacked, Quiet, Verbose
from perf2x.cli.options.table import By, Format, Json, Limit, TableFlags, Value, Wide
from perf2x.cli.progress import progress_bar
from perf2x.cli.render.report import print_report
from perf2x.tables.errors import OptionError

if TYPE_CHECKING:
    from perf2x.cli.diff_gate import GateVerdict
    from perf2x.cli.diff_pair import RecordingPair


def diff(
    before: differences.Before,
    after: differences.After,
    *,
    to: differences.To = None,
    output: differences.Output = None,
    limit: Limit = 20,
    by: By = "function",
    sort: differences.Sort = "self",
    value: Value = "period",
    normalize: differences.Normalize = False,
    fail_above: differences.FailAbove = None,
    confidence: differences.Confidence = "0.95",
    any_change: differences.AnyChange = False,
    show_all: differences.All = False,
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
    parallelism: filters.Parallelism = None,
    max_stack: filters.MaxStack = None,
    no_kernel: filters.NoKernel = False,
    no_user: filters.NoUser = False,
    no_idle: filters.NoIdle = False,
    where: filters.Where = None,
    allow_empty: filters.AllowEmpty = False,
    root: grouping.Root = None,
    merge_threads: grouping.MergeThreads = False,
    fold_recursion: grouping.FoldRecursion = False,
    off_cpu: grouping.OffCpu = None,
    pairs: grouping.PairOf = None,
    locks: grouping.Locks = False,
    block: grouping.Block = False,
    irq: grouping.Irq = False,
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
    names: symbols.Names = "short",
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
    parameters = locals()
    table = make_group(TableFlags, parameters)
    from perf2x.cli.diff_files import format_to_write, write_difference
    from perf2x.cli.diff_pair import load_pair
    from perf2x.cli.render.diff_table import ChangeTable, diff_report, has_moved, sort_changes, unmoved_note
    from perf2x.files.output import STDOUT

    gate = DiffGate(parse_limits(fail_above or ()), sort, parse_confidence(confidence), any_change)
    file_format = format_to_write(to, output)
    if output == STDOUT and table.shape != "table":
        raise OptionError(f"-o - and --format {table.shape} would both write to standard output; choose one")
    latency = "beside" if value == "latency" else ""
    options = load_options(parameters, latency=latency, full_names=file_format == "html")
    with progress_bar(quiet) as progress:
        pair = load_pair((before, after), options, value, normalize, progress)
    for line in pair.renamed_events:
        print_message(f"perf2x: {line}")
    verdict = gate.verdict(by, pair.compared)
    for line in verdict.unmatched:
        print_message(f"perf2x: {line}")
    comparison = pair.compared(by)
    changes = sort_changes(verdict.with_intervals(comparison.changes(gate.confidence), by, sort), sort)
    rows = changes if show_all else [row for row in changes if has_moved(row, comparison.before.whole)]
    unmoved = len(changes) - len(rows)
    written = write_difference(file_format, output, pair) if file_format else ""
    if output != STDOUT:
        periods = pair.periods.compared(by) if pair.periods else None
        shown = ChangeTable(comparison, table.first(rows), by, sort, gate.confidence, unmoved, pair.sources, periods)
        print_report(diff_report(shown), table.shape, wide=wide)
        if rows and unmoved and not quiet:
            print_message(f"{unmoved_note(shown)} (--all shows them)")
    for line in () if quiet else _remarks(pair, written, verdict, verbose=verbose):
        print_message(line)
    exit_for_failed_gates(verdict.failures)


def _remarks(pair: "RecordingPair", written: str, verdict: "GateVerdict", *, verbose: bool) -> Iterator[str]:
    """Lines for standard error: the quality of both recordings, the file that was written, changes within noise."""
    from perf2x.cli.render.summary import verbose_lines, warning_lines

    for source, loaded in zip(pair.sources, (pair.before, pair.after), strict=True):
        for line in verbose_lines(loaded) if verbose else warning_lines(loaded):
            yield f"{source}: {line}"
    if written:
        yield written
    yield from (f"perf2x: {line}" for line in verdict.notes)
