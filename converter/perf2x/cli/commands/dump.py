"""``perf2x dump``: the records of a recording as text, one by one."""

import sys
from itertools import islice
from typing import Annotated

from perf2x.base.diagnostics import Diagnostics
from perf2x.base.files.unpack_limit import limit_unpacking
from perf2x.cli.messages import print_message
from perf2x.cli.options.input_options import DEFAULT, Input, recordings
from perf2x.cli.parameters import Only
from perf2x.errors import FormatError, OptionError
from perf2x.kernel.load_options import LoadOptions
from perf2x.model.filters.time_ranges import parse_seconds
from perf2x.model.printable_text import plain
from perf2x.model.setting import Setting

Types = Annotated[
    tuple[str, ...],
    Setting("Only records of this type (SAMPLE, MMAP2, …); may be repeated.", ("--type",), "NAME"),
]
Time = Annotated[str | None, Setting("Only records from START to before STOP (seconds).", metavar="START,STOP")]
Limit = Annotated[int | None, Setting("Stop after this many records.", ("--limit", "-n"), "N", least=0)]
Raw = Annotated[bool, Setting("Show the bytes of each record too.", ("--raw", "-x"))]
Verbose = Annotated[
    bool, Setting("Show headers, and fields, callchains and other contents of samples.", ("--verbose", "-v"))
]
Branches = Annotated[
    str | None,
    Setting("With -v, only branches of such a type, speculation or privilege: call.", metavar="WORD,…"),
]
Events = Annotated[bool, Setting("Start with a line for every event.", ("--events/--no-events",))]

_CHUNK = 1000


def dump(
    source: Input = DEFAULT,
    types: Types = (),
    time: Time = None,
    limit: Limit = None,
    raw: Raw = False,
    events: Events = True,
    verbose: Verbose = False,
    branch_filter: Branches = None,
    *,
    bounds: Annotated[LoadOptions, Only("max_unpacked")],
) -> None:
    """Show the records of a recording in file order, one per line, without symbols.

    Samples and deferred chains are worded as perf script -D words them, other records by the names of their fields.
    What is damaged or missing is counted on standard error at the end.

    ::

        perf2x dump perf.data -n 20
        perf2x dump perf.data --type MMAP2 --type COMM
        perf2x dump perf.data --time 12.5,13 -v
    """
    from perf2x.kernel.no_samples import damage
    from perf2x.model.recording.branch_types import parse_branch_filter
    from perf2x.tools.dump.dump_records import DumpOptions, DumpTotals, dump_lines

    start, stop = _parse_time_range(time)
    recordings([source])
    names = frozenset(name.upper().removeprefix("PERF_RECORD_") for name in types)
    diagnostics, totals = Diagnostics(), DumpTotals()
    words = parse_branch_filter(branch_filter or "")
    if words and not verbose:
        raise OptionError("--branch-filter needs -v, which shows branches")
    options = DumpOptions(names, start, stop, raw, events, limit, verbose, words)
    lines = dump_lines(source, options, diagnostics, totals)
    with limit_unpacking(bounds.max_unpacked):
        while chunk := list(islice(lines, _CHUNK)):
            sys.stdout.write("".join(f"{plain(line)}\n" for line in chunk))
    why = damage(diagnostics.counts) if totals.to_the_end and not totals.samples else ""
    if why:
        raise FormatError(f"{source}: no samples: {why}")
    if diagnostics.losses:
        from perf2x.cli.render.summary import loss_line

        print_message(loss_line(diagnostics))


def _parse_time_range(time: str | None) -> tuple[int | None, int | None]:
    """Parse ``1.5,2`` to nanoseconds; either side may be empty."""
    if time is None:
        return None, None
    start, comma, stop = time.partition(",")
    if not comma:
        raise OptionError(f"--time {time}: expected START,STOP, either of which may be empty")
    return _parse_seconds(start), _parse_seconds(stop)


def _parse_seconds(seconds: str) -> int | None:
    if not seconds.strip():
        return None
    parsed = parse_seconds(seconds.strip())
    if parsed is None:
        raise OptionError(f"--time: {seconds!r} is not a number of seconds")
    return parsed
