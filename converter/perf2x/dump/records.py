"""The record stream as text, worded as ``perf script -D`` words it: record by record in file order, in constant memory.

What perf adds by looking addresses up (thread names, objects) is left out; everything here stands in the record itself.
"""

from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np
from msgspec import Struct, field

from perf2x.abi.uapi import RecordType, SampleType
from perf2x.columnar.arrays import I64, Bools
from perf2x.columnar.unique import rows_by, unique
from perf2x.dump.events import event_line
from perf2x.dump.fields import header_line, record_fields, sample_fields
from perf2x.dump.kernel_records import record_text
from perf2x.dump.samples import sample_lines
from perf2x.dump.user_records import user_record_text
from perf2x.reader.block import Block
from perf2x.reader.containers.open import open_path
from perf2x.reader.header.session_builder import Draft
from perf2x.reader.index import NAMES, SESSION_RECORDS
from perf2x.reader.record_stream import Stream
from perf2x.reader.records.decoders import DECODERS, decode_records
from perf2x.reader.records.samples import decode_samples, layout_of
from perf2x.tables.diagnostics import Diagnostics
from perf2x.tables.errors import OptionError
from perf2x.tables.events import Event, Want

NUMBERS = {name: kind for kind, name in NAMES.items()}
_RAW_WIDTH = 16


class DumpOptions(Struct, frozen=True):
    """Which records, and how much of them."""

    types: frozenset[str] = frozenset()
    """Kernel names without PERF_RECORD_ (``MMAP2``); empty for all."""
    start_ns: int | None = None
    """Leave out records before this time, and those that have none."""
    stop_ns: int | None = None
    """Leave out records from this time on, and those that have none."""
    raw: bool = False
    """Show each record's bytes too."""
    events: bool = True
    """Begin with a line for every event."""
    limit: int | None = None
    """Stop after so many records, whatever they take in lines; None for all."""
    verbose: bool = False
    """Show each record's fields, its chain and all else that it holds in lines of their own."""


class Walked(Struct):
    """What a dump came across, whatever it showed."""

    samples: int = 0
    """Sample records, whole or not."""
    to_the_end: bool = False
    """False when it stopped at its limit."""


class _Row(Struct):
    """One record's text: what stands behind its name, and the lines below."""

    text: str
    time: int = 0
    cpu: int = 0
    more: list[str] = field(default_factory=list)
    """Shown when the dump is verbose."""
    brief: str = ""
    """Shown behind the text when it is not."""


def dump_lines(
    path: str, options: DumpOptions, diagnostics: Diagnostics | None = None, walked: Walked | None = None
) -> Iterator[str]:
    """Lines without their ends; ``path`` as for ``open_recording``. OptionError for a type that there is not."""
    unknown = sorted(options.types - NUMBERS.keys())
    if unknown:
        raise OptionError(f"no record type {unknown[0]!r}; there are {', '.join(sorted(NUMBERS))}")
    diagnostics = Diagnostics() if diagnostics is None else diagnostics
    opened = open_path(path, diagnostics)
    if options.events:
        yield from map(event_line, opened.draft.events.events)
    origin = 0 if opened.draft.is_pipe else opened.stream.stretches[0].start
    blocks = _walked(opened.stream, Walked() if walked is None else walked)
    records = (lines for block in blocks for lines in _records_of(block, opened.draft, options, origin))
    for lines in islice(records, options.limit):
        yield from lines


def _walked(stream: Stream, walked: Walked) -> Iterator[Block]:
    for block, _ in stream.index():
        walked.samples += int(np.count_nonzero(block.types == RecordType.SAMPLE))
        yield block
    walked.to_the_end = True


def _records_of(block: Block, draft: Draft, options: DumpOptions, origin: int) -> Iterator[Iterable[str]]:
    """The lines of each record that is shown."""
    shown = _shown(block, options)
    rows = _decoded(block, draft, shown)
    stamped, types = _stamped(draft.events.events), block.types
    for row in np.flatnonzero(shown).tolist():
        found = rows.get(row, _Row(": cut short or damaged"))
        if not _in_time(found, options):
            continue
        kind, size = int(types[row]), int(block.sizes[row])
        name = NAMES.get(kind, f"UNKNOWN_{kind}").removeprefix("HEADER_")
        place = f"{origin + int(block.positions[row]):#x} [{size:#x}]"
        first = f"{_stamp(found, stamped)}{place}: PERF_RECORD_{name}{found.text}"
        bytes_of_it = _raw_lines(block, row) if options.raw else ()
        if options.verbose:
            yield (*bytes_of_it, first, header_line(kind, int(block.misc[row]), size), *found.more)
        else:
            yield (*bytes_of_it, first + found.brief)


def _shown(block: Block, options: DumpOptions) -> Bools:
    if not options.types:
        return np.ones(len(block.types), np.bool_)
    shown: Bools = np.isin(block.types, [NUMBERS[name] for name in options.types])
    return shown


def _in_time(row: _Row, options: DumpOptions) -> bool:
    if options.start_ns is None and options.stop_ns is None:
        return True
    after = options.start_ns is None or row.time >= options.start_ns
    return row.time > 0 and after and (options.stop_ns is None or row.time < options.stop_ns)


def _stamped(events: list[Event]) -> int:
    """What the samples of any event have (evlist__combined_sample_type in tools/perf/util/evlist.c)."""
    combined = 0
    for event in events:
        combined |= event.sample_type
    return combined


def _stamp(row: _Row, stamped: int) -> str:
    """CPU and time, where any event's samples have them (evlist__print_tstamp in tools/perf/util/session.c)."""
    cpu = f"{row.cpu} " if stamped & SampleType.CPU else ""
    return cpu + (f"{row.time} " if stamped & SampleType.TIME else "")


def _decoded(block: Block, draft: Draft, shown: Bools) -> dict[int, _Row]:
    """Text of the wanted records by row; what a pipe says of its session is taken in on the way."""
    rows: dict[int, _Row] = {}
    types, misc = block.types, block.misc
    for row in np.flatnonzero(np.isin(types, list(SESSION_RECORDS))).tolist():
        draft.add_record(int(types[row]), int(misc[row]), _payload(block, row))
    for kind in unique(types[shown]).tolist():
        mine = np.flatnonzero((types == kind) & shown)
        if kind == RecordType.SAMPLE:
            rows |= _samples(block, draft, mine)
        elif kind in DECODERS:
            rows |= _records(block, draft, mine, kind)
        else:
            rows |= {row: _Row(user_record_text(kind, _payload(block, row), draft)) for row in mine.tolist()}
    return rows


def _payload(block: Block, row: int) -> bytes:
    start = int(block.starts[row]) * 8
    return block.data[start + 8 : start + int(block.sizes[row])].tobytes()


def _records(block: Block, draft: Draft, mine: I64, kind: int) -> dict[int, _Row]:
    rows: dict[int, _Row] = {}
    owners, misc = draft.events.of_others(block.only(mine)), block.misc
    for owner, of_owner in rows_by(owners):
        chosen = mine[of_owner]
        columns, bad = decode_records(block.only(chosen), kind, draft.events.event(owner))
        for at, row in enumerate(chosen.tolist()):
            if not bad[at]:
                text, more = record_text(kind, columns, at, int(misc[row]))
                more = [*record_fields(columns, at), *more]
                brief = f" chain: {columns['chain'].lengths[at]}" if "chain" in columns else ""
                rows[row] = _Row(text, int(columns["time"][at]), int(columns["cpu"][at]), more, brief)
    return rows


def _samples(block: Block, draft: Draft, mine: I64) -> dict[int, _Row]:
    rows: dict[int, _Row] = {}
    events = draft.events.events
    owners, misc = draft.events.of_samples(block.only(mine)), block.misc
    periods = np.array([each.sample_period for each in events], np.uint64)
    for owner, chosen in rows_by(owners):
        if not 0 <= owner < len(events):
            continue
        event = events[owner]
        batch, whole, _ = decode_samples(block.only(mine[chosen]), owners[chosen], layout_of(event), periods, ~Want(0))
        for at in np.flatnonzero(whole).tolist():
            row = int(mine[chosen[at]])
            text, *more = sample_lines(batch, at, event, draft, int(misc[row]))
            time = 0 if batch.time is None else int(batch.time[at])
            brief = f" chain: {batch.chain.lengths[at]} event: {event.name}"
            more = [*sample_fields(batch, at, event), *more]
            rows[row] = _Row(text, time, -1 if batch.cpu is None else int(batch.cpu[at]), more, brief)
    return rows


def _raw_lines(block: Block, row: int) -> Iterator[str]:
    """The bytes in hex and as text, as perf's trace_event prints them."""
    start = int(block.starts[row]) * 8
    data = block.data[start : start + int(block.sizes[row])].tobytes()
    yield ""
    yield f". ... raw event: size {len(data)} bytes"
    for at in range(0, len(data), _RAW_WIDTH):
        part = data[at : at + _RAW_WIDTH]
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in part)
        yield f".  {at:04x}:  {part.hex(' '):<{3 * _RAW_WIDTH - 1}}  {text}"
    yield ""
