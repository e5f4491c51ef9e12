"""``perf2x diff``: the functions that got slower, as a table, as a picture, and as an exit code for CI."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from msgspec.structs import replace

from perf2x.cli.diff.fail_above import DiffGate, GateVerdict
from perf2x.cli.fail_if import unchecked_growth
from perf2x.cli.gate_outcome import Verdict
from perf2x.cli.messages import print_message, print_messages
from perf2x.cli.options.diff_options import After, Before, ChangeFlags, ComparisonFlags, DifferenceFlags
from perf2x.cli.options.input_options import Quiet, Verbose
from perf2x.cli.options.table_options import PrintFlags
from perf2x.cli.parameters import Hidden
from perf2x.cli.progress import progress_bar
from perf2x.errors import OptionError
from perf2x.kernel.load_options import LoadOptions
from perf2x.tools.diff.pair_options import PairOptions

if TYPE_CHECKING:
    from perf2x.tools.diff.changed_rows import DiffTable
    from perf2x.tools.diff.recording_pair import RecordingPair


def diff(
    before: Before,
    after: After,
    *,
    file: DifferenceFlags,
    rows: Annotated[ChangeFlags, Hidden("columns")],
    compared: ComparisonFlags,
    how: PairOptions,
    form: Annotated[PrintFlags, Hidden("wide")],
    request: Annotated[LoadOptions, Hidden("hide", "pids", "root", "off_cpu", "names", "no_symbols", "inline")],
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Compare two recordings: the functions that changed most.

    perf2x diff before.data after.data -o diff.html draws it; red grew, blue shrank. ~ marks changes within sampling
    noise.

    ::

        perf2x diff before.data after.data
        perf2x diff before.data after.data -o diff.html
        perf2x diff main.data branch.data --fail-above total=5%
    """
    from perf2x.base.files.atomic import STDOUT
    from perf2x.cli.diff.diff_files import format_to_write, write_difference
    from perf2x.cli.render.diff_table import diff_report
    from perf2x.tools.diff.changed_rows import Shown
    from perf2x.tools.diff.recording_pair import load_pair

    file_format = format_to_write(file.to, file.output)
    if file.output == STDOUT and form.shape != "table":
        raise OptionError(f"-o - and --format {form.shape} would both write to standard output; choose one")
    options = request.but(**rows.part())
    if options.symbols is not None and file_format == "html":
        options = replace(options, symbols=replace(options.symbols, keep_full_names=True))
    with progress_bar(quiet) as progress:
        pair = load_pair((before, after), options, rows.value, how, progress)
    for line in pair.notes:
        print_message(f"perf2x: {line}")
    verdict = DiffGate(compared, rows.sort).verdict(rows.by, pair.compared, pair.callers)
    unchecked = unchecked_growth(pair, compared.fail_above)
    shown = Shown(rows.by, rows.sort, rows.limit, rows.show_all)
    table = verdict.table(pair, shown, compared.confidence, rows.columns)
    written = write_difference(file_format, file.output, pair) if file_format else ""
    outcome = Verdict.combine(compared, unchecked, verdict, table.comparison) if compared.fail_above else None
    if file.output != STDOUT:
        form.show(diff_report(table, compared.confidence, outcome))
        if table.rows and table.unmoved and not quiet:
            print_message(f"{table.unmoved_note} (--all shows them)")
    print_messages(_remarks(pair, table, written, verdict, verbose=verbose), quiet)
    if outcome:
        outcome.end()


def _remarks(
    pair: "RecordingPair", table: "DiffTable", written: str, verdict: GateVerdict, *, verbose: bool
) -> Iterator[str]:
    """Yield lines for standard error: other events, the quality of both recordings, the file, changes within noise."""
    from perf2x.cli.render.summary import verbose_lines, warning_lines

    for source, loaded in zip(pair.sources, (pair.before, pair.after), strict=True):
        for line in verbose_lines(loaded) if verbose else warning_lines(loaded):
            yield f"{source}: {line}"
    yield from pair.left_out(table.beside)
    if written:
        yield written
    yield from (f"perf2x: {line}" for line in verdict.notes)
