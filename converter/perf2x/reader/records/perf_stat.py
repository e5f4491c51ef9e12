"""Converts the counts of ``perf stat record`` to samples without a stack.

perf stat reads its counters in rounds: a STAT record for each reading, then a STAT_ROUND with the round's time. In each
round, each event, thread and CPU gets a sample, whose period is the growth of the counter since the round before.
Samples of value 0 come first, so that timelines start at the beginning. With AGGR_GLOBAL, all CPUs share a sample.
Totals are those of ``perf stat report``: the growth of counters that shared the hardware is extrapolated
(perf_counts_values__scale in tools/lib/perf/evsel.c), and readings after the last round are left out.
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
from perf2x.model.recording import PERF_STAT_ONLY_COUNTS, Comms, Readings, Samples, Session, Sideband
from perf2x.model.value_limits import MOST_PERIOD

_ALL_THREADS = "all threads"
_AGGR_GLOBAL = 1
"""AGGR_GLOBAL of enum aggr_mode (tools/perf/util/stat.h): counts of all CPUs are added up.

Other modes are not distinguished, because their numbers differ between versions of perf.
"""
# samples at time 0 count as samples without a time
_BEGIN_TIME = np.uint64(1)


def with_thread_names(sideband: Sideband, session: Session) -> Sideband:
    """Add the names of monitored threads, which perf stat records only in THREAD_MAP."""
    names = [(tid, comm or _ALL_THREADS) for tid, comm in session.thread_map if comm or tid < 0]
    tid = as_int32([tid for tid, _ in names])
    zeros = np.zeros(len(names), np.int64)
    monitored = Comms(as_uint64(zeros), zeros, tid, tid, DictionaryColumn.of(comm for _, comm in names), zeros > 0)
    return replace(sideband, comms=join_tables([sideband.comms, monitored]))


def note_counts(sideband: Sideband, session: Session, diagnostics: Diagnostics) -> None:
    """Count readings and extrapolated ones, and name events that were not counted."""
    readings = sideband.readings
    diagnostics.add("counter_readings", PERF_STAT_ONLY_COUNTS, len(readings))
    for event in session.events:
        is_idle = not readings.running[readings.event == event.index].any()
        advice = "perf stat did not count it: the machine does not support it, or the monitored program did not run"
        diagnostics.add("events_not_counted", advice, int(is_idle), event.name)
    is_shared = (readings.running > 0) & (readings.running < readings.enabled)
    advice = "counters took turns in the hardware; their counts are extrapolated, as perf does"
    diagnostics.add("readings_extrapolated", advice, int(np.count_nonzero(is_shared)))


def samples_from_readings(sideband: Sideband, session: Session) -> Samples:
    """Make samples of all rounds; the samples of value 0 before the first round come first."""
    readings, rounds = sideband.readings, sideband.rounds
    # a STAT_ROUND ends the round of the readings before it
    round_number = searchsorted(rounds.position, readings.position)
    is_known = (readings.event >= 0) & (readings.event < len(session.events))
    known_rows = flatnonzero((round_number < len(rounds)) & is_known)
    known_rows = known_rows[
        lexsort((readings.position[known_rows], *(column[known_rows] for column in _counter_key(readings))))
    ]
    readings, round_number = take_rows_of(readings, known_rows), round_number[known_rows]
    cpu = np.full(len(known_rows), -1, np.int32) if session.aggregation == _AGGR_GLOBAL else readings.cpu
    tids = as_int32([*(tid for tid, _ in session.thread_map), -1])  # index −1 (unknown) leads to tid −1 (all threads)
    thread_index = np.where((readings.thread >= 0) & (readings.thread < len(tids)), readings.thread, -1)
    keys = (readings.event, tids[thread_index], cpu)
    # All readings of one event, thread, CPU and round make one sample: first_reading (samples,) is the row of its first
    # reading, sample (readings,) the sample of each reading.
    first_reading, sample = group_rows([*keys, round_number])
    period = np.zeros(len(first_reading), np.uint64)
    np.add.at(period, sample, _growth(readings))
    begin = first_reading[begins_run(*(key[first_reading] for key in keys))]
    rows, zeros = np.concatenate([begin, first_reading]), np.zeros(len(begin), np.uint64)
    tid, count = keys[1][rows], len(rows)
    return Samples(
        event=readings.event[rows],
        position=readings.position[rows],
        time=np.maximum(np.concatenate([zeros, rounds.time[round_number[first_reading]]]), _BEGIN_TIME),
        pid=tid,
        tid=tid,
        cpu=cpu[rows],
        ip=np.zeros(count, np.uint64),
        period=np.concatenate([zeros, period]),
        cpumode=np.zeros(count, np.uint8),
        chain=ListArray.of_empty_rows(count, np.uint64),
    )


def _counter_key(readings: Readings) -> tuple[AnyArray, ...]:
    return readings.thread, readings.cpu, readings.id


def _growth(readings: Readings) -> U64:
    """Growth (n,) of each reading's counter since its previous reading, extrapolated.

    The readings must be sorted by counter, then by position.
    """
    is_first = begins_run(*_counter_key(readings))

    def growth_of(column: U64) -> U64:
        previous = np.where(is_first, np.uint64(0), of_previous(column, 0))
        return column - np.minimum(previous, column)

    value, enabled, running = growth_of(readings.value), growth_of(readings.enabled), growth_of(readings.running)
    is_shared = flatnonzero((running > 0) & (running < enabled))
    factor = enabled[is_shared] / running[is_shared]
    value[is_shared] = as_uint64(np.minimum(value[is_shared] * factor, MOST_PERIOD))
    return np.minimum(value, np.uint64(MOST_PERIOD))
