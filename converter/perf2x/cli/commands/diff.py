"""``perf2x diff``: the functions that got slower, as a table, as a picture, and as an exit code for CI."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from perf2x.base.errors import OptionError
from perf2x.cli.diff.diff_gate import DiffGate, parse_confidence, parse_limits
from perf2x.cli.help import HelpAll
from perf2x.cli.make_load_options import load_options
from perf2x.cli.messages import print_message
from perf2x.cli.options import diff_options as differences
from perf2x.cli.options import filter_options, grouping_options, make_group, name_options, stack_options
from perf2x.cli.options.input_options import MaxUnpacked, Quiet, Verbose
from perf2x.cli.options.table_options import By, Format, Json, Limit, TableFlags, Value, Wide
from perf2x.cli.progress import progress_bar
from perf2x.cli.quality_gates import exit_for_failed_gates
from perf2x.cli.render.report_formats import print_report

if TYPE_CHECKING:
    from perf2x.cli.diff.diff_gate import GateVerdict
    from perf2x.cli.diff.diff_pair import RecordingPair


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
    event: filter_options.Event = None,
    pid: filter_options.Pid = None,
    tid: filter_options.Tid = None,
    comm: filter_options.Comm = None,
    cpu: filter_options.Cpu = None,
    dso: filter_options.Dso = None,
    symbol: filter_options.Symbol = None,
    time: filter_options.Time = None,
    time_wall: filter_options.TimeWall = None,
    parallelism: filter_options.Parallelism = None,
    max_stack: filter_options.MaxStack = None,
    no_kernel: filter_options.NoKernel = False,
    no_user: filter_options.NoUser = False,
    no_idle: filter_options.NoIdle = False,
    where: filter_options.Where = None,
    allow_empty: filter_options.AllowEmpty = False,
    root: grouping_options.Root = None,
    merge_threads: grouping_options.MergeThreads = False,
    fold_recursion: grouping_options.FoldRecursion = False,
    off_cpu: grouping_options.OffCpu = None,
    pairs: grouping_options.PairOf = None,
    locks: grouping_options.Locks = False,
    block: grouping_options.Block = False,
    irq: grouping_options.Irq = False,
    anonymize: grouping_options.Anonymize = None,
    deferred_missing: stack_options.DeferredMissing = "mark",
    stitch_lbr: stack_options.StitchLbr = False,
    merge_callchains: stack_options.MergeCallchains = True,
    jobs: stack_options.Jobs = 0,
    symfs: name_options.Symfs = None,
    kallsyms: name_options.Kallsyms = None,
    vmlinux: name_options.Vmlinux = None,
    debug_dir: name_options.DebugDir = None,
    buildid_dir: name_options.BuildidDir = None,
    perf_map_dir: name_options.PerfMapDir = None,
    debuginfod: name_options.Debuginfod = None,
    archive: name_options.Archive = None,
    allow_build_id_mismatch: name_options.AllowBuildIdMismatch = False,
    names: name_options.Names = "short",
    inline: name_options.Inline = True,
    no_symbols: name_options.NoSymbols = False,
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
    from perf2x.base.files.output_file import STDOUT
    from perf2x.cli.diff.diff_files import format_to_write, write_difference
    from perf2x.cli.diff.diff_pair import load_pair
    from perf2x.cli.render.diff_table import ChangeTable, diff_report, has_moved, sort_changes, unmoved_note

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
