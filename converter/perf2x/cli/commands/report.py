"""``perf2x report``: a summary of a recording, limited in size, for a job summary or a program that reads it."""

from typing import Annotated

from perf2x.cli.diff.fail_above import GrowthGate
from perf2x.cli.fail_if import failed_gates, refuse_uncheckable_gates, unchecked_growth
from perf2x.cli.gate_outcome import Verdict
from perf2x.cli.messages import print_messages
from perf2x.cli.options.diff_options import GrowthFlags
from perf2x.cli.options.gate_options import GateFlags
from perf2x.cli.options.input_options import Inputs, Quiet, Verbose, existing_inputs
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
    report_flags: Annotated[ReportFlags, Hidden("columns")],
    pair_options: Annotated[PairOptions, Hidden("normalize", "per")],
    growth_flags: GrowthFlags,
    gate_flags: Annotated[GateFlags, Without("stats")],
    load_options: Annotated[LoadOptions, Hidden("inline")],
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Summarize a recording on one page: costs, where they arise, and what to look at next.

    The page has a limited size, for a job summary, a pull request or a language model. With --before, it also shows
    what changed. With --fail-if or --fail-above, it begins with the verdict.

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

    sources, output_format = existing_inputs(inputs), report_flags.output_format()
    options = load_options.with_values(counts=True, keep_other_events=bool(report_flags.columns))
    refuse_uncheckable_gates(gate_flags, options.symbols is not None)
    pair = growth = changes = None
    with progress_bar(quiet) as progress:
        if report_flags.before is None:
            for setting in (*dict(changed_settings(pair_options)), *dict(changed_settings(growth_flags))):
                if setting not in ("fail_above", "confidence"):
                    raise SettingError("", setting, " needs an earlier recording to compare with: add --before")
            loaded = load(sources, options, progress)
        elif len(sources) != 1:
            raise OptionError("--before compares exactly two recordings; pass a single INPUT")
        else:
            pair_sources = existing_inputs([report_flags.before])[0], sources[0]
            pair = load_pair(pair_sources, options, report_flags.value, pair_options, progress)
            loaded = pair.after
    quality_failures = [*failed_gates(gate_flags, loaded)]
    if pair:
        growth = GrowthGate(growth_flags, "self").verdict("function", pair.comparison_by, pair.callers)
        changes = changes_of(pair, growth, growth_flags.confidence, report_flags.limit)
        quality_failures += unchecked_growth(pair, growth_flags.fail_above)
    verdict = None
    if growth_flags.fail_above or gate_flags != GateFlags():
        if pair:
            comparison = pair.comparison_by("function")
        else:
            sums = totals(loaded.profile, value=report_flags.value)
            comparison = Comparison(sums, sums)  # only the number of samples matters
        verdict = Verdict.combine(growth_flags, quality_failures, growth, comparison)
    print_report(recording_report(loaded, sources, report_flags, changes, verdict), output_format)
    print_messages(verbose_lines(loaded), quiet or not verbose)
    if verdict:
        verdict.exit_or_warn()
