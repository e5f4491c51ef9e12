"""``perf2x report``: what a recording says, of a bounded size, for a job summary or a program that reads."""

from typing import TYPE_CHECKING, Annotated

from perf2x.base.errors import OptionError
from perf2x.cli.diff.diff_gate import DiffGate
from perf2x.cli.diff.gate_outcome import Verdict
from perf2x.cli.messages import print_message
from perf2x.cli.option_groups import Hidden, Without, load_options, with_groups
from perf2x.cli.options.diff_options import ComparisonFlags, MatchFlags
from perf2x.cli.options.filter_options import FilterFlags
from perf2x.cli.options.gate_options import GateFlags
from perf2x.cli.options.grouping_options import GroupingFlags
from perf2x.cli.options.input_options import Inputs, Quiet, UnpackFlags, Verbose, recordings
from perf2x.cli.options.name_options import SymbolFlags
from perf2x.cli.options.report_options import ReportFlags
from perf2x.cli.options.stack_options import StackFlags
from perf2x.cli.progress import progress_bar
from perf2x.cli.quality_gates import (
    check_gates,
    exit_for_failed_gates,
    failed_gates,
    untold_changes,
    warn_of_idle_limits,
)

if TYPE_CHECKING:
    from perf2x.pipeline.load_options import LoadOptions, Progress
    from perf2x.pipeline.load_result import Loaded
    from perf2x.pipeline.recording_pair import RecordingPair


@with_groups
def report(
    inputs: Inputs = None,
    *,
    shown: Annotated[ReportFlags, Hidden("columns")],
    compared: Annotated[ComparisonFlags, Hidden("normalize", "per")],
    matched: MatchFlags,
    gates: Annotated[GateFlags, Without("stats")],
    chosen: FilterFlags,
    grouping: GroupingFlags,
    stacks: StackFlags,
    symbols: SymbolFlags,
    unpacking: UnpackFlags,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Summarize a recording on one page: what it cost, where, and what to look at next.

    For a job summary, a pull request or a language model; limited in size. With --before, it also says what changed.
    With limits, it begins with the verdict.
    """
    from perf2x.cli.render.report_formats import print_report_text
    from perf2x.cli.render.screen import is_terminal, standard_output
    from perf2x.cli.render.summary import verbose_lines
    from perf2x.cli.report.report_facts import LEAST, changes_of
    from perf2x.cli.report.report_page import report_text

    if shown.max_bytes < LEAST:
        raise OptionError(f"--max-bytes {shown.max_bytes}: not every report fits fewer than {LEAST:,} bytes")
    sources, gate = recordings(inputs), DiffGate.of(compared)
    options = load_options(chosen, grouping, stacks, symbols, unpacking, counts=True, beside=bool(shown.columns))
    check_gates(gates, options.symbols is not None)
    with progress_bar(quiet) as progress:
        loaded, pair = _loaded(sources, shown, compared, matched, options, progress)
    growth = gate.verdict("function", pair.compared) if pair is not None else None
    whole = pair.compared("function") if pair is not None else None
    changes = changes_of(pair, growth, gate.confidence, shown.limit) if pair is not None and growth else None
    quality = [*failed_gates(gates, loaded), *(untold_changes(pair, compared.fail_above) if pair is not None else ())]
    limited = compared.fail_above or gates != GateFlags()
    verdict = Verdict.of(compared.fail_above or (), quality, growth, whole) if limited else None
    shape = shown.format or (standard_output() if is_terminal() else "markdown")
    size = (shown.limit, shown.max_bytes)
    print_report_text(report_text(loaded, sources, shown.value, shape, *size, changes, verdict, shown.columns or ()))
    for line in verbose_lines(loaded) if verbose and not quiet else ():
        print_message(line)
    warn_of_idle_limits(growth.unmatched if growth else ())
    exit_for_failed_gates([*quality, *(growth.failures if growth else ())])


def _loaded(
    sources: tuple[str, ...],
    shown: ReportFlags,
    compared: ComparisonFlags,
    matched: MatchFlags,
    options: "LoadOptions",
    progress: "Progress | None",
) -> "tuple[Loaded, RecordingPair | None]":
    """The recording, and the pair with the one before."""
    if shown.before is None:
        if matched.map:
            raise OptionError("--map names objects of --before; add --before")
        from perf2x.pipeline.load import load

        compared.refuse_without_before()
        return load(sources, options, progress), None
    if len(sources) > 1:
        raise OptionError("--before compares one recording with one other; name one INPUT")
    from perf2x.pipeline.recording_pair import load_pair

    both = (recordings([shown.before])[0], sources[0])
    pair = load_pair(both, options, shown.value, compared.pair_options(matched.names()), progress)
    return pair.after, pair
