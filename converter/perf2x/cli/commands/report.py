"""``perf2x report``: what a recording says, of a bounded size, for a job summary or a program that reads."""

import sys
from typing import TYPE_CHECKING

from perf2x.base.errors import OptionError
from perf2x.cli.help import HelpAll
from perf2x.cli.make_load_options import load_options
from perf2x.cli.messages import print_message
from perf2x.cli.options import diff_options as differences
from perf2x.cli.options import filter_options, grouping_options, name_options, stack_options
from perf2x.cli.options import report_options as reports
from perf2x.cli.options.input_options import Inputs, MaxUnpacked, Quiet, Verbose, recordings
from perf2x.cli.progress import progress_bar

if TYPE_CHECKING:
    from perf2x.cli.diff.diff_pair import RecordingPair
    from perf2x.pipeline.load_context import Progress
    from perf2x.pipeline.load_options import LoadOptions
    from perf2x.pipeline.load_result import Loaded


def report(
    inputs: Inputs = None,
    *,
    before: reports.Before = None,
    format: reports.Format = "markdown",  # noqa: A002 - the option's name
    limit: reports.Limit = 10,
    max_bytes: reports.MaxBytes = 60_000,
    value: reports.Value = "period",
    normalize: differences.Normalize = False,
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
    """Say what was recorded, where the cost went, and what to look at next, in a bounded size.

    For a job summary, a pull request, or a program that reads. With --before, it says what changed, too.
    """
    parameters = locals()
    from perf2x.analysis.report.report_tables import report_tables
    from perf2x.cli.render.summary import verbose_lines
    from perf2x.cli.report.fit_bytes import check_size, fitted_report
    from perf2x.cli.report.report_difference import difference_facts
    from perf2x.cli.report.report_facts import Limits, report_facts

    check_size(max_bytes)
    sources = recordings(inputs)
    options = load_options(parameters)
    with progress_bar(quiet) as progress:
        loaded, pair = _loaded(sources, before, options, (value, normalize), progress)
    tables = report_tables(loaded.profile, value, limit)

    def facts(size: Limits) -> dict[str, object]:
        difference = difference_facts(pair, size) if pair is not None else None
        return report_facts(loaded, tables, sources, difference, size)

    text = fitted_report(facts, format, limit, max_bytes)
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text if text.isascii() else text.encode(encoding, "backslashreplace").decode(encoding))
    sys.stdout.flush()
    for line in verbose_lines(loaded) if verbose and not quiet else ():
        print_message(line)


def _loaded(
    sources: tuple[str, ...],
    before: str | None,
    options: "LoadOptions",
    compared: tuple[str, bool],
    progress: "Progress | None",
) -> "tuple[Loaded, RecordingPair | None]":
    """The recording, and the pair with the one before; ``compared`` is the kind of value, and whether shares are."""
    if before is None:
        from perf2x.pipeline.load import load

        return load(sources, options, progress), None
    if len(sources) > 1:
        raise OptionError("--before compares one recording with one other; name one INPUT")
    from perf2x.cli.diff.diff_pair import load_pair

    pair = load_pair((recordings([before])[0], sources[0]), options, *compared, progress)
    return pair.after, pair
