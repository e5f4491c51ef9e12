"""``perf2x dump``: the records of a recording as text, one by one."""

import sys
from itertools import islice
from typing import Annotated

from perf2x.base.diagnostics import Diagnostics
from perf2x.base.files.unpack_limit import limit_unpacking
from perf2x.cli.messages import print_message
from perf2x.cli.options.input_options import DEFAULT_INPUT, Input, existing_inputs
from perf2x.cli.parameters import Only
from perf2x.errors import FormatError, OptionError
from perf2x.kernel.load_options import LoadOptions
from perf2x.model.printable_text import escaped
from perf2x.tools.dump.dump_options import DumpOptions

_LINES_AT_ONCE = 1000  # joined for one call of write; a call for each line takes longer


def dump(
    source: Input = DEFAULT_INPUT,
    *,
    dump_options: DumpOptions,
    load_options: Annotated[LoadOptions, Only("max_unpacked")],
) -> None:
    """Show the records of a recording in file order, one per line, without symbols.

    Samples and deferred chains look as in perf script -D; other records have names and values of their fields. Damage
    and losses are counted on standard error at the end.

    ::

        perf2x dump perf.data -n 20
        perf2x dump perf.data --type MMAP2 --type COMM
        perf2x dump perf.data --time 12.5,13 -v
    """
    from perf2x.kernel.no_samples import damage
    from perf2x.kernel.open_bundle import open_bundles
    from perf2x.tools.dump.dump_records import DumpTotals, dump_lines

    existing_inputs([source])  # raises the error for a missing recording
    diagnostics, totals = Diagnostics(), DumpTotals()
    if dump_options.branch_filter and not dump_options.verbose:
        raise OptionError("--branch-filter needs -v, which shows branches")
    with limit_unpacking(load_options.max_unpacked), open_bundles([source], None) as (files, _):
        lines = dump_lines(files[0], dump_options, diagnostics, totals)
        while lines_of_chunk := list(islice(lines, _LINES_AT_ONCE)):
            sys.stdout.write("".join(f"{escaped(line)}\n" for line in lines_of_chunk))
    # a dump that ended at its limit (-n) may not have got to the samples
    reason = damage(diagnostics.counts) if totals.reached_end and not totals.samples else ""
    if reason:
        raise FormatError(f"{source}: no samples: {reason}")
    if diagnostics.losses:
        from perf2x.cli.render.summary import loss_line

        print_message(loss_line(diagnostics))
