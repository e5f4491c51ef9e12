"""Finds the thread of each record of hardware trace: from the record itself, else the one that had been switched in."""

import numpy as np

from perf2x.base.columnar import I32, I64, U64, KeyedValues, as_int64, flatnonzero, searchsorted, unique
from perf2x.model.recording import Sideband


class TraceThreads:
    """Threads of CPUs, and processes of threads, over time."""

    def __init__(self, sideband: Sideband) -> None:
        switches, tables = sideband.switches, (sideband.comms, sideband.forks, sideband.mmaps)
        entered = flatnonzero(~switches.is_out)
        told = np.concatenate([table.time for table in tables])
        self._times = unique(np.concatenate([switches.time[entered], told]))
        cpu, tid = as_int64(switches.cpu[entered]), as_int64(switches.tid[entered])
        self._entered = KeyedValues(cpu, self._ranks(switches.time[entered]), tid)
        tid = as_int64(np.concatenate([table.tid for table in tables]))
        pid = as_int64(np.concatenate([table.pid for table in tables]))
        self._process = KeyedValues(tid, self._ranks(told), pid)

    def of(self, context: I64, time: U64 | None, tid: int, cpu: int) -> tuple[I32, I32]:
        """(n,) process and thread of records; −1: unknown.

        ``context`` (n,) is the thread that the record tells, −1 for none; ``tid`` and ``cpu`` are the buffer's.
        """
        last = np.full(len(context), len(self._times), np.int64)
        rank = last if time is None else self._ranks(time)
        entered = self._entered.at(np.full(len(context), cpu, np.int64), rank)
        thread = np.where(context >= 0, context, np.where(entered >= 0, entered, tid))
        process = self._process.at(thread, rank)
        later = flatnonzero(process < 0)
        process[later] = np.where(thread[later] == 0, 0, self._process.at(thread[later], last[later]))
        return process.astype(np.int32), thread.astype(np.int32)

    def _ranks(self, time: U64) -> I64:
        return searchsorted(self._times, time, "right")
