"""``perf2x report``: a summary of a recording, limited in size, for a job summary or a program that reads it."""

from typing import Annotated

from perf2x.cli.diff.fail_above import DiffGate
from perf2x.cli.fail_if import (
    check_gates,
    failed_gates,
    unchecked_growth,
)
from perf2x.cli.gate_outcome import Verdict
from perf2x.cli.messages import print_messages
from perf2x.cli.options.diff_options import ComparisonFlags
from perf2x.cli.options.gate_options import GateFlags
from perf2x.cli.options.input_options import Inputs, Quiet, Verbose, recordings
from perf2x.cli.options.report_options import ReportFlags
from perf2x.cli.parameters import Hidden, Without
from perf2x.cli.progress import progress_bar
from perf2x.errors import OptionError, SettingError
from perf2x.kernel.load_options import LoadOptions
from perf2x.model.setting import changed_settings
from perf2x.tools.diff.pair_options import PairOptions


def report(
    inputs: Inputs = (),
    *,
    shown: Annotated[ReportFlags, Hidden("columns")],
    how: Annotated[PairOptions, Hidden("normalize", "per")],
    compared: ComparisonFlags,
    gates: Annotated[GateFlags, Without("stats")],
    request: Annotated[LoadOptions, Hidden("inline")],
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Summarize a recording on one page: costs, where they arise, and what to look at next.

    For a job summary, a pull request or a language model; limited in size. With --before, it also shows what changed.
    With limits, it begins with the verdict.

    ::

        perf2x report perf.data >> "$GITHUB_STEP_SUMMARY"
        perf2x report after.data --before before.data
        perf2x report perf.data -n 5 --max-bytes 20000
    """
    from perf2x.cli.render.report_formats import print_report
    from perf2x.cli.render.summary import verbose_lines
    from perf2x.cli.report.report_facts import changes_of
    from perf2x.cli.report.report_page import recording_report
    from perf2x.kernel.load import load
    from perf2x.model.totals.totals import totals
    from perf2x.tools.diff.changes import Comparison
    from perf2x.tools.diff.recording_pair import load_pair

    sources, shape = recordings(inputs), shown.shape()
    options = request.but(counts=True, keep_other_events=bool(shown.columns))
    check_gates(gates, options.symbols is not None)
    pair = growth = changes = None
    with progress_bar(quiet) as progress:
        if shown.before is None:
            for setting in (*dict(changed_settings(how)), *dict(changed_settings(compared))):
                if setting not in ("fail_above", "confidence"):
                    raise SettingError("", setting, " needs an earlier recording to compare with: add --before")
            loaded = load(sources, options, progress)
        elif len(sources) != 1:
            raise OptionError("--before compares exactly two recordings; pass a single INPUT")
        else:
            both = recordings([shown.before])[0], sources[0]
            pair = load_pair(both, options, shown.value, how, progress)
            loaded = pair.after
    quality = [*failed_gates(gates, loaded)]
    if pair:
        growth = DiffGate(compared, "self").verdict("function", pair.compared, pair.callers)
        changes = changes_of(pair, growth, compared.confidence, shown.limit)
        quality += unchecked_growth(pair, compared.fail_above)
    verdict = None
    if compared.fail_above or gates != GateFlags():
        if pair:
            whole = pair.compared("function")
        else:
            alone = totals(loaded.profile, value=shown.value)
            whole = Comparison(alone, alone)
        verdict = Verdict.combine(compared, quality, growth, whole)
    print_report(recording_report(loaded, sources, shown, changes, verdict), shape)
    print_messages(verbose_lines(loaded), quiet or not verbose)
    if verdict:
        verdict.end()
