"""Counts of perf stat as samples without a stack: one for each counter and round, whose period is its growth.

Totals are those of ``perf stat report``: growth is extrapolated where a counter had to share the hardware
(perf_counts_values__scale in tools/lib/perf/evsel.c), and readings after the last round are left out.

::

    STAT  cycles: 500, STAT cycles: 900 (CPU 1)  ROUND 100 ms  STAT cycles: 700 …  ROUND 200 ms
    delivered   cycles: 0 at 0                   1400 at 100 ms             …      … at 200 ms
"""

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import (
    U64,
    AnyArray,
    DictionaryColumn,
    ListArray,
    as_int32,
    as_uint64,
    begins_run,
    flatnonzero,
    group_rows,
    join_tables,
    lexsort,
    of_previous,
    searchsorted,
    take_rows_of,
)
from perf2x.base.diagnostics import Diagnostics
from perf2x.model.recording import COUNTED, Comms, Readings, Samples, Session, Sideband
from perf2x.model.value_limits import MOST_PERIOD

_ALL = "all threads"
_AGGR_GLOBAL = 1
"""enum aggr_mode in tools/perf/util/stat.h: counts of all CPUs are added up. The numbers of other modes differ between
versions of perf.
"""
_BEGIN = np.uint64(1)
"""Counters begin with 0 at a time of 1 ns, because samples at time 0 count as samples without a time."""


def with_thread_names(sideband: Sideband, session: Session) -> Sideband:
    """Return the side-band with the names of the monitored threads."""
    named = [(tid, comm or _ALL) for tid, comm in session.thread_map if comm or tid < 0]
    tid = as_int32([tid for tid, _ in named])
    zeros = np.zeros(len(named), np.int64)
    found = Comms(as_uint64(zeros), zeros, tid, tid, DictionaryColumn.of(comm for _, comm in named), zeros > 0)
    return replace(sideband, comms=join_tables([sideband.comms, found]))


def note_counts(sideband: Sideband, session: Session, diagnostics: Diagnostics) -> None:
    """Report counters that were read, not counted, or extrapolated."""
    readings = sideband.readings
    diagnostics.add("counter_readings", COUNTED, len(readings))
    for event in session.events:
        is_idle = not readings.running[readings.event == event.index].any()
        advice = "perf stat did not count it: the machine does not support it, or the monitored program did not run"
        diagnostics.add("events_not_counted", advice, int(is_idle), event.name)
    shared = (readings.running > 0) & (readings.running < readings.enabled)
    advice = "counters took turns in the hardware; their counts are extrapolated, as perf's are"
    diagnostics.add("readings_extrapolated", advice, int(np.count_nonzero(shared)))


def delivered_readings(sideband: Sideband, session: Session) -> Samples:
    """Return the samples: one per event, thread, CPU and round, and a sample of value 0 where each counter begins."""
    readings, rounds = sideband.readings, sideband.rounds
    ended = searchsorted(rounds.position, readings.position)
    is_known = (readings.event >= 0) & (readings.event < len(session.events))
    kept = flatnonzero((ended < len(rounds)) & is_known)
    kept = kept[lexsort((readings.position[kept], *(column[kept] for column in _counter(readings))))]
    readings, ended = take_rows_of(readings, kept), ended[kept]
    cpu = np.full(len(kept), -1, np.int32) if session.aggregation == _AGGR_GLOBAL else readings.cpu
    known = as_int32([*(tid for tid, _ in session.thread_map), -1])  # -1 for all threads, and at the end of the map
    place = np.where((readings.thread >= 0) & (readings.thread < len(known)), readings.thread, -1)
    keys = (readings.event, known[place], cpu)
    first, row = group_rows([*keys, ended])
    period = np.zeros(len(first), np.uint64)
    np.add.at(period, row, _growth(readings))
    begin = first[begins_run(*(key[first] for key in keys))]
    rows, none = np.concatenate([begin, first]), np.zeros(len(begin), np.uint64)
    thread, count = keys[1][rows], len(rows)
    return Samples(
        event=readings.event[rows],
        position=readings.position[rows],
        time=np.maximum(np.concatenate([none, rounds.time[ended[first]]]), _BEGIN),
        pid=thread,
        tid=thread,
        cpu=cpu[rows],
        ip=np.zeros(count, np.uint64),
        period=np.concatenate([none, period]),
        cpumode=np.zeros(count, np.uint8),
        chain=ListArray.of_empty_rows(count, np.uint64),
    )


def _counter(readings: Readings) -> tuple[AnyArray, ...]:
    return readings.thread, readings.cpu, readings.id


def _growth(readings: Readings) -> U64:
    """Return (n,) the growth of each counter since its previous reading.

    Rows are sorted by counter, and in recorded order for each.
    """
    begins = begins_run(*_counter(readings))

    def grown(column: U64) -> U64:
        before = np.where(begins, np.uint64(0), of_previous(column, 0))
        return column - np.minimum(before, column)

    value, enabled, running = grown(readings.value), grown(readings.enabled), grown(readings.running)
    shared = flatnonzero((running > 0) & (running < enabled))
    part = enabled[shared] / running[shared]
    value[shared] = as_uint64(np.minimum(value[shared] * part, MOST_PERIOD))
    return np.minimum(value, np.uint64(MOST_PERIOD))
