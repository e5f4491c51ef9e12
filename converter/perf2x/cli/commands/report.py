"""``perf2x report``: what a recording says, of a bounded size, for a job summary or a program that reads."""

import sys
from typing import TYPE_CHECKING

from perf2x.cli.help import HelpAll
from perf2x.cli.load_options import load_options
from perf2x.cli.messages import print_message
from perf2x.cli.options import diff as differences
from perf2x.cli.options import filters, grouping, stacks, symbols
from perf2x.cli.options import report as reports
from perf2x.cli.options.inputs import Inputs, MaxUnpacked, Quiet, Verbose, recordings
from perf2x.cli.progress import progress_bar
from perf2x.tables.errors import OptionError

if TYPE_CHECKING:
    from perf2x.cli.diff_pair import RecordingPair
    from perf2x.pipeline.context import Progress
    from perf2x.pipeline.options import LoadOptions
    from perf2x.pipeline.result import Loaded


def report(
    inputs: Inputs = None,
    *,
    before: reports.Before = None,
    format: reports.Format = "markdown",  # noqa: A002 - the option's name
    limit: reports.Limit = 10,
    max_bytes: reports.MaxBytes = 60_000,
    value: reports.Value = "period",
    normalize: differences.Normalize = False,
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
    """Say what was recorded, where the cost went, and what to look at next, in a bounded size.

    For a job summary, a pull request, or a program that reads. With --before, it says what changed, too.
    """
    parameters = locals()
    from perf2x.cli.render.summary import verbose_lines
    from perf2x.cli.report.difference import difference_facts
    from perf2x.cli.report.facts import Limits, report_facts
    from perf2x.cli.report.fit import check_size, fitted_report
    from perf2x.report.tables import report_tables

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
    from perf2x.cli.diff_pair import load_pair

    pair = load_pair((recordings([before])[0], sources[0]), options, *compared, progress)
    return pair.after, pair
