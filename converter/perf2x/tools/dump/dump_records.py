"""Prints a recording as text, record by record in file order, in constant memory.

Samples and deferred callchains look as in ``perf script -D``; other records are names and values of fields.
"""

import struct
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np
from msgspec import Struct, field

from perf2x.base.abi import MISC_CPUMODE_MASK, RecordType, SampleType, UserRecordType
from perf2x.base.columnar import I64, Bools, as_uint64, flatnonzero, rows_by, trues, unique
from perf2x.base.diagnostics import Diagnostics
from perf2x.base.did_you_mean import did_you_mean
from perf2x.errors import OptionError
from perf2x.model.recording import Event, Want
from perf2x.reader.event_table import trailer_length
from perf2x.reader.first_walk import FirstWalk
from perf2x.reader.header.section_reader import SectionError, SectionReader
from perf2x.reader.open_input import open_input
from perf2x.reader.record_block import Block
from perf2x.reader.records.field_cursor import FieldCursor
from perf2x.reader.records.record_decoders import DECODERS, read_trailer
from perf2x.reader.records.record_names import RECORD_NAMES
from perf2x.reader.records.sample_decoder import decode_samples, sample_layout
from perf2x.reader.session_builder import SessionBuilder
from perf2x.tools.dump.dump_options import DumpOptions
from perf2x.tools.dump.dump_samples import chain_lines, sample_lines
from perf2x.tools.dump.record_fields import decoded_fields, event_line, fields_text, struct_fields, with_value_names

# as perf script -D prints them
_RECORD_TYPES = {name.removeprefix("HEADER_"): record_type for record_type, name in RECORD_NAMES.items()}
_RAW_WIDTH = 16  # bytes in a line


class DumpTotals(Struct):
    """Totals of a dump, complete after its last line."""

    samples: int = 0
    """Number of sample records, including those that are damaged or not shown."""
    reached_end: bool = False
    """False if the dump stopped earlier, at the options' limit."""


class _RecordText(Struct):
    text: str
    """The first line, from after the record's type ("PERF_RECORD_MMAP2")."""
    time: int = 0
    cpu: int = 0
    more_lines: list[str] = field(default_factory=list)
    """Lines below the first one, shown only if the dump is verbose."""
    summary: str = ""
    """The end of the first line, shown only if the dump is not verbose."""


def dump_lines(path: str, options: DumpOptions, diagnostics: Diagnostics, totals: DumpTotals) -> Iterator[str]:
    """Yield the lines of the dump, without line ends. Raises OptionError for an unknown record type.

    ``path`` is a file or directory, or ``-`` for standard input. ``totals`` grows while lines are read.
    """
    unknown = sorted({*options.types} - _RECORD_TYPES.keys())
    if unknown:
        suggestion = did_you_mean(unknown[0], _RECORD_TYPES) or ";"
        raise OptionError(f"no record type {unknown[0]!r}{suggestion} there are {', '.join(sorted(_RECORD_TYPES))}")
    opened = open_input(path, "", diagnostics)
    session = opened.builder
    if options.events:
        yield from map(event_line, session.events.events)
    origin = 0 if session.is_pipe else opened.sections[0].start
    walk = FirstWalk(opened.sections, session.byte_order, diagnostics.add)
    blocks = _walk_blocks(walk, totals)
    records = (lines for block in blocks for lines in _block_lines(block, session, options, origin))
    for lines in islice(records, options.limit):
        yield from lines


def _walk_blocks(walk: FirstWalk, totals: DumpTotals) -> Iterator[Block]:
    for block, _ in walk.blocks():
        totals.samples += int(np.count_nonzero(block.types == RecordType.SAMPLE))
        yield block
    totals.reached_end = True


def _block_lines(block: Block, session: SessionBuilder, options: DumpOptions, origin: int) -> Iterator[Iterable[str]]:
    """Yield the lines of each selected record; positions in blocks count from the file offset ``origin``."""
    is_chosen = _has_chosen_type(block, options)
    texts = _texts_of_records(block, session, is_chosen, options.branch_filter)
    combined_type, types = _combined_sample_type(session.events.events), block.types
    for row in flatnonzero(is_chosen).tolist():
        record = texts.get(row, _RecordText(": cut short or damaged"))
        if not _is_in_time(record, options):
            continue
        record_type, size = int(types[row]), int(block.sizes[row])
        name = RECORD_NAMES.get(record_type, f"UNKNOWN_{record_type}").removeprefix("HEADER_")
        offset = f"{origin + int(block.positions[row]):#x} [{size:#x}]"
        first_line = f"{_cpu_and_time(record, combined_type)}{offset}: PERF_RECORD_{name}{record.text}"
        raw = _raw_lines(block, row) if options.raw else ()
        if options.verbose:
            header = f"... header: type: {record_type}, misc: {int(block.misc[row]):#x}, size: {size}"
            yield (*raw, first_line, header, *record.more_lines)
        else:
            yield (*raw, first_line + record.summary)


def _has_chosen_type(block: Block, options: DumpOptions) -> Bools:
    if not options.types:
        return trues(len(block.types))
    is_chosen: Bools = np.isin(block.types, [_RECORD_TYPES[name] for name in options.types])
    return is_chosen


def _is_in_time(record: _RecordText, options: DumpOptions) -> bool:
    """Records without a time are in no time range."""
    is_inside = any(first <= record.time <= last for first, last in options.times)
    return not options.times or (record.time > 0 and is_inside)


def _combined_sample_type(events: list[Event]) -> int:
    """Return the union of the events' sample types, as evlist__combined_sample_type in tools/perf/util/evlist.c."""
    combined_type = 0
    for event in events:
        combined_type |= event.sample_type
    return combined_type


def _cpu_and_time(record: _RecordText, combined_type: int) -> str:
    """Return CPU and time if samples of any event have them, as evlist__print_tstamp in tools/perf/util/session.c."""
    cpu = f"{record.cpu} " if combined_type & SampleType.CPU else ""
    return cpu + (f"{record.time} " if combined_type & SampleType.TIME else "")


def _texts_of_records(
    block: Block, session: SessionBuilder, is_chosen: Bools, branch_filter: tuple[str, ...]
) -> dict[int, _RecordText]:
    """Return the text of each selected record by row, without damaged ones.

    All records that describe the session are added to ``session`` first.
    """
    texts: dict[int, _RecordText] = {}
    types = block.types
    session.add_records(block)
    for record_type in unique(types[is_chosen]).tolist():
        rows = flatnonzero((types == record_type) & is_chosen)
        if record_type == RecordType.SAMPLE:
            texts |= _texts_of_samples(block, session, rows, branch_filter)
        else:
            for event_row, of_event in rows_by(session.events.owners_of_nonsamples(block.only(rows))):
                # records that perf itself writes (from HEADER_ATTR on) have no trailer
                event = session.events.event(event_row) if record_type < UserRecordType.HEADER_ATTR else None
                texts |= _texts_of_other_records(block, session, rows[of_event], record_type, event)
    return texts


def _texts_of_other_records(
    block: Block, session: SessionBuilder, rows: I64, record_type: int, event: Event | None
) -> dict[int, _RecordText]:
    """Return the texts by row, without damaged records. If ``event`` is None, records have no sample_id trailer."""
    part, length = block.only(rows), trailer_length(event) if event else 0
    trailer_fields = event.sample_type if event and length else 0
    cursor = FieldCursor(part, length)
    trailer = read_trailer(cursor, event)
    columns = {name: trailer[name] for name in ("pid", "tid") if trailer_fields & SampleType.TID}
    columns |= DECODERS[record_type].decode(cursor) if record_type in DECODERS else {}
    texts: dict[int, _RecordText] = {}
    for index in flatnonzero(~cursor.is_malformed).tolist():
        row, time, cpu = int(rows[index]), int(trailer["time"][index]), int(trailer["cpu"][index]) if event else 0
        fields = decoded_fields(columns, index)
        if record_type not in DECODERS:
            try:
                fields |= struct_fields(record_type, SectionReader(block.payload(row), session.byte_order))
            except (SectionError, struct.error):
                continue
        record_text = _RecordText(f" {fields_text(with_value_names(record_type, fields))}".rstrip(" "), time, cpu)
        if record_type == RecordType.CALLCHAIN_DEFERRED:
            fields |= {"time": time} if trailer_fields & SampleType.TIME else {}
            fields |= {"cpu": cpu} if trailer_fields & SampleType.CPU else {}
            _format_deferred_chain(record_text, fields, int(part.misc[index]), columns["chain"].row(index).tolist())
        texts[row] = record_text
    return texts


def _format_deferred_chain(record_text: _RecordText, fields: dict[str, Any], misc: int, chain: list[int]) -> None:
    thread = f"{fields.get('pid', -1)}/{fields.get('tid', -1)}"
    record_text.text = f"(IP, {misc & MISC_CPUMODE_MASK:#x}): {thread}: {int(fields['cookie']):#x}"
    record_text.summary = f" chain: {len(chain)}"
    record_text.more_lines = [f"... fields: {fields_text(fields)}", *chain_lines(chain)]


def _texts_of_samples(
    block: Block, session: SessionBuilder, rows: I64, branch_filter: tuple[str, ...]
) -> dict[int, _RecordText]:
    """Return the texts by row, without damaged samples and those of unknown events."""
    texts: dict[int, _RecordText] = {}
    events = session.events.events
    event_rows, misc = session.events.owners_of_samples(block.only(rows)), block.misc
    periods = as_uint64([event.sample_period for event in events])
    for event_row, of_event in rows_by(event_rows):
        if not 0 <= event_row < len(events):
            continue
        event, rows_of_event = events[event_row], rows[of_event]
        layout = sample_layout(event)
        batch, is_complete, _ = decode_samples(
            block.only(rows_of_event), event_rows[of_event], layout, periods, ~Want(0)
        )
        for index in flatnonzero(is_complete).tolist():
            row = int(rows_of_event[index])
            text, *more_lines = sample_lines(batch, index, event, session, int(misc[row]), branch_filter)
            time = 0 if batch.time is None else int(batch.time[index])
            cpu = -1 if batch.cpu is None else int(batch.cpu[index])
            summary = f" chain: {batch.chain.lengths[index]} event: {event.name}"
            texts[row] = _RecordText(text, time, cpu, more_lines, summary)
    return texts


def _raw_lines(block: Block, row: int) -> Iterator[str]:
    start = int(block.starts[row]) * 8  # starts count words of 8 bytes
    data = block.data[start : start + int(block.sizes[row])].tobytes()
    yield ""
    yield f". ... raw event: size {len(data)} bytes"
    for offset in range(0, len(data), _RAW_WIDTH):
        part = data[offset : offset + _RAW_WIDTH]
        characters = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in part)
        yield f".  {offset:04x}:  {part.hex(' '):<{3 * _RAW_WIDTH - 1}}  {characters}"
    yield ""
