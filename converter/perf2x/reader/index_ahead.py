"""The index pass in several processes: each reads a part of a section from the first record that it finds there.

::

    section   |rec|rec|rec|rec|rec|rec|rec|rec|rec|rec|rec|rec|rec|rec|
    regions   |first  |worker 1  |worker 2   |first  |worker 1  |worker 2  …
                       ▲ where a record seems to begin: true if the walk before it ends there

The first process takes parts over one after the other. Where one does not begin where the records before it end, it
walks on itself, so that the records are those of a walk from the first to the last, however many processes walked.
If records describe events behind samples, which no recorder does, all are read again by one process.
"""

import time
from collections.abc import Callable, Iterator

from msgspec import Struct

from perf2x.base.abi.layouts import ByteOrder
from perf2x.base.abi.uapi import RecordType
from perf2x.base.columnar.arrays import U8, sum_of
from perf2x.base.worker_processes import streams_of
from perf2x.model.diagnostics import Diagnostics
from perf2x.reader.block import DataSection, PackedSizes, WalkedPart
from perf2x.reader.file_clock import has_trailer
from perf2x.reader.first_walk import walk_part
from perf2x.reader.index_pass import Collector, ReadPart, is_group_read
from perf2x.reader.record_framing import find_record, frame_records
from perf2x.reader.records.record_types import SESSION_RECORDS
from perf2x.reader.session_builder import SessionBuilder

RECORDS_EACH = 400_000
"""Number of records from which another process pays: it costs a few hundredths of a second."""
_AS_LONG = 700
"""Bytes that take as long as another record: each page is mapped once."""
_TURNS = 4
"""Regions of each worker: the first process takes some over while others are read."""
_TAKING_OVER = 1 / 16
"""Time to take over what workers read, as a part of that of reading it."""
WINDOW = 1 << 20
"""Bytes in which a record is looked for, sixteen of the largest."""


class IndexWorkers(Struct):
    """The processes that read an index: their number, and how long all but the first were busy."""

    processes: Callable[[int], int]
    """For a number of samples."""
    seconds: float = 0.0
    _changes: int = 0

    def have_misread(self, builder: SessionBuilder) -> bool:
        """Tell whether records may belong to other events than when the first worker began."""
        return 0 < self._changes < builder.events.changes

    def ahead(self, builder: SessionBuilder, section: DataSection, at: int, position: int) -> Iterator[WalkedPart]:
        """Yield parts of ``section`` behind byte ``at``, which has this position in the stream.

        Those without records end what the first process has to read.
        """
        data, order = section.data, builder.order
        if not _is_uniform(builder):
            return
        records, samples = _estimate(data[at:], order)
        count = min(self.processes(samples), (records + (len(data) - at) // _AS_LONG) // RECORDS_EACH)
        if count < 2:
            return
        workers = count - 1
        regions = _regions(at, len(data), workers)
        self._changes = self._changes or builder.events.changes

        def there(number: int) -> Iterator[tuple[list[ReadPart], float]]:
            for begin, stop in regions[number - 1 :: workers]:
                began = time.process_time()
                parts = list(_read(builder, section, begin, stop, position - at))
                yield parts, time.process_time() - began

        with streams_of(count, there) as next_of:
            for number, (begin, _) in enumerate(regions):
                yield WalkedPart(start=begin, stop=begin, position=-1, sizes=[])
                parts, seconds = next_of(number % workers + 1) or ([], 0.0)
                self.seconds += seconds
                yield from parts


def _regions(at: int, end: int, workers: int) -> list[tuple[int, int]]:
    """Bytes that the workers read, one after the other by turns; the first process reads what is between the turns.

    That is the less the more workers there are whose results it takes over.
    """
    own = max(0.0, 1 / workers - _TAKING_OVER)
    turn = (end - at) / _TURNS
    starts = [at + turn * (number + own / (1 + own)) for number in range(_TURNS)]
    each = turn / (1 + own) / workers
    bounds = [(start + each * number, start + each * (number + 1)) for start in starts for number in range(workers)]
    return [(int(begin) // 8 * 8, min(int(stop) // 8 * 8, end)) for begin, stop in bounds]


def _read(builder: SessionBuilder, section: DataSection, begin: int, stop: int, shift: int) -> Iterator[ReadPart]:
    """Read the records of a section from the first one that is found behind byte ``begin`` to ``stop``, or to one that
    is not plain; ``shift`` is the distance from bytes to positions in the stream.

    Blocks with records of the session are left out.
    """
    found = find_record(section.data[begin : begin + WINDOW], builder.order)
    if found < 0:
        return
    collector = Collector(builder, Diagnostics())
    start = at = begin + found
    sizes: list[PackedSizes] = []
    for plan, block in walk_part(section, builder.order, start, stop, start + shift):
        at = plan.chunks[-1].stop
        if collector.add(block, SESSION_RECORDS):
            sizes.append(plan.packed)
            continue
        yield collector.take(start, plan.chunks[0].start, start + shift, sizes)
        start, sizes = at, []
    yield collector.take(start, at, start + shift, sizes)


def _is_uniform(builder: SessionBuilder) -> bool:
    """Tell whether records mean the same whatever came before them, as those of most files do."""
    events = builder.events.events
    tells = bool(events) and all(has_trailer(event) and not is_group_read(event) for event in events)
    return tells and not builder.trace and "compressed" not in builder.features


def _estimate(data: U8, order: ByteOrder) -> tuple[int, int]:
    """Numbers of records and of samples, as far as some in the middle tell; 0 where none is found."""
    middle = data[len(data) // 16 * 8 :][:WINDOW]
    framed = frame_records(middle[max(find_record(middle, order), 0) :], order)
    factor = len(data) / max(framed.length, 1)
    return int(len(framed.sizes) * factor), int(sum_of(framed.types(order) == RecordType.SAMPLE) * factor)
