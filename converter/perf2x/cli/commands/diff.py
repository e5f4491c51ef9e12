"""``perf2x diff``: the functions whose cost changed, as a table, a page or a profile, and as an exit code for CI."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from msgspec.structs import replace

from perf2x.cli.diff.fail_above import GrowthGate, GrowthVerdict
from perf2x.cli.fail_if import unchecked_growth
from perf2x.cli.gate_outcome import Verdict
from perf2x.cli.messages import print_message, print_messages
from perf2x.cli.options.diff_options import After, Before, DiffFileFlags, DiffRowFlags, GrowthFlags
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
    file_flags: DiffFileFlags,
    row_flags: Annotated[DiffRowFlags, Hidden("columns")],
    growth_flags: GrowthFlags,
    pair_options: PairOptions,
    print_flags: Annotated[PrintFlags, Hidden("wide")],
    load_options: Annotated[LoadOptions, Hidden("hide", "pids", "root", "off_cpu", "names", "no_symbols", "inline")],
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Compare two recordings: the functions that changed most.

    -o diff.html also writes a flame graph of the difference, in which red code grew and blue code shrank. ~ marks
    changes within sampling noise.

    ::

        perf2x diff before.data after.data
        perf2x diff before.data after.data -o diff.html
        perf2x diff main.data branch.data --fail-above total=5%
    """
    from perf2x.base.files.atomic import STDOUT
    from perf2x.cli.diff.diff_files import format_to_write, write_difference
    from perf2x.cli.render.diff_table import diff_report
    from perf2x.tools.diff.changed_rows import RowSelection
    from perf2x.tools.diff.recording_pair import load_pair

    file_format = format_to_write(file_flags.to, file_flags.output)
    if file_flags.output == STDOUT and print_flags.output_format != "table":
        raise OptionError(
            f"-o - and --format {print_flags.output_format} would both write to standard output; choose one"
        )
    options = load_options.with_values(**row_flags.load_option_fields())
    if options.symbols is not None and file_format == "html":
        options = replace(options, symbols=replace(options.symbols, keep_full_names=True))
    with progress_bar(quiet) as progress:
        pair = load_pair((before, after), options, row_flags.value, pair_options, progress)
    for line in pair.notes:
        print_message(f"perf2x: {line}")
    growth = GrowthGate(growth_flags, row_flags.sort).verdict(row_flags.by, pair.comparison_by, pair.callers)
    quality_failures = unchecked_growth(pair, growth_flags.fail_above)
    selection = RowSelection(row_flags.by, row_flags.sort, row_flags.limit, row_flags.show_all)
    table = growth.table(pair, selection, growth_flags.confidence, row_flags.columns)
    written_note = write_difference(file_format, file_flags.output, pair) if file_format else ""
    verdict = None
    if growth_flags.fail_above:
        verdict = Verdict.combine(growth_flags, quality_failures, growth, table.comparison)
    if file_flags.output != STDOUT:
        print_flags.show(diff_report(table, growth_flags.confidence, verdict))
        if table.rows and table.unchanged_count and not quiet:
            print_message(f"{table.unchanged_note} (--all shows them)")
    print_messages(_remarks(pair, table, written_note, growth, verbose=verbose), quiet)
    if verdict:
        verdict.exit_or_warn()


def _remarks(
    pair: "RecordingPair", table: "DiffTable", written_note: str, growth: GrowthVerdict, *, verbose: bool
) -> Iterator[str]:
    """Yield lines for standard error: on the quality of both recordings, left-out events, the written file, the gate's
    notes.
    """
    from perf2x.cli.render.summary import verbose_lines, warning_lines

    for source, loaded in zip(pair.sources, (pair.before, pair.after), strict=True):
        for line in verbose_lines(loaded) if verbose else warning_lines(loaded):
            yield f"{source}: {line}"
    yield from pair.left_out(table.other_columns)
    if written_note:
        yield written_note
    yield from (f"perf2x: {line}" for line in growth.notes)
