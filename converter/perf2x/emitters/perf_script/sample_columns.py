"""Columns of text that stand in front of a sample's frames, one for each field, in perf's order.

Texts that many samples share are made once; a time is put together from three tables.
Source of truth: tools/perf/builtin-script.c perf_sample__fprintf_start and process_event.
"""

from collections.abc import Callable, Iterator
from functools import cache

import numpy as np

from perf2x.base.abi.uapi import CpuMode
from perf2x.base.columnar.arrays import I32, U64, AnyArray
from perf2x.base.columnar.unique import unique_inverse
from perf2x.emitters.encoding.text_chunks import chunk_array
from perf2x.emitters.perf_script.branch_text import branch_column
from perf2x.model.printable_text import printable
from perf2x.model.profile.profile import Profile
from perf2x.model.recording.events import Samples

_THOUSAND = 1000
_UNITS = "BKMGTPE"
_MODES = {CpuMode.KERNEL: "K", CpuMode.USER: "U", CpuMode.HYPERVISOR: "H", CpuMode.GUEST_KERNEL: "G",
          CpuMode.GUEST_USER: "g"}  # fmt: skip


class StartColumns:
    """Makes the columns in front of a sample's place: comm, ids, CPU, mode, time."""

    def __init__(self, profile: Profile, *, nanoseconds: bool) -> None:
        self._threads, self._nanoseconds = profile.threads, nanoseconds
        self._comms = [printable(profile.strings[row]) or ":-1" for row in profile.threads.comm.tolist()]

    def columns(self, samples: Samples, thread: I32, fields: frozenset[str], *, padded: bool) -> Iterator[AnyArray]:
        """Yield (n,) columns; ``padded``: names of threads stand right-aligned, as they do without a call chain."""
        if fields & {"comm", "tid", "pid"}:
            yield self._who(thread, fields, padded=padded)
        if "cpu" in fields and samples.cpu is not None:
            yield _shared(samples.cpu.view(np.int32), "[{:03d}] ".format)
        if "misc" in fields:
            yield _shared(samples.cpumode, lambda mode: f"{_MODES.get(CpuMode(mode), ''):5} ")
        if "time" in fields and samples.time is not None:
            yield from self._time(samples.time)

    def _who(self, thread: I32, fields: frozenset[str], *, padded: bool) -> AnyArray:
        threads = self._threads

        def text(row: int) -> str:
            comm, pid, tid = self._comms[row], int(threads.pid[row]), int(threads.tid[row])
            name = f"{comm:>16} " if padded else f"{comm} "
            both = f"{pid:7d}/{tid:<7d} "
            ids = both if {"pid", "tid"} <= fields else f"{pid:7d} " if "pid" in fields else f"{tid:7d} "
            return (name if "comm" in fields else "") + (ids if fields & {"pid", "tid"} else "")

        return _shared(thread, text)

    def _time(self, time: U64) -> Iterator[AnyArray]:
        micro = time // np.uint64(_THOUSAND)
        second = micro // np.uint64(10**6)
        below = (micro - second * np.uint64(10**6)).astype(np.int64)
        digits, ends = _three_digits()
        yield _shared(second, "{:5d}.".format)
        yield digits[below // _THOUSAND]
        if self._nanoseconds:
            yield digits[below % _THOUSAND]
            yield ends[(time % np.uint64(_THOUSAND)).astype(np.int64)]
        else:
            yield ends[below % _THOUSAND]


@cache
def _three_digits() -> tuple[AnyArray, AnyArray]:
    """Texts of 000 … 999, and the same as the end of a time."""
    texts = [b"%03d" % number for number in range(_THOUSAND)]
    return chunk_array(texts), chunk_array([text + b": " for text in texts])


def _shared(values: AnyArray, text: Callable[[int], str]) -> AnyArray:
    """(n,) text of each value; each distinct one is made once."""
    found, place = unique_inverse(values)
    return chunk_array([text(value).encode() for value in found.tolist()])[place]


def value_columns(samples: Samples, fields: frozenset[str], event: str) -> Iterator[AnyArray]:
    """Yield (n,) columns between the time and the place: period, event, what the event measured."""
    extra = samples.extra
    if "period" in fields:
        yield _shared(samples.period, "{:10d} ".format)
    if "event" in fields:
        yield np.full(len(samples), f"{event}: ".encode(), np.object_)
    columns = (
        ("addr", samples.addr, "{:16x} "), ("weight", samples.weight, "{:16d}"),
        ("ins_lat", extra.get("ins_lat"), "{:16d}"), ("retire_lat", extra.get("weight3"), "{:16d}"),
    )  # fmt: skip
    for name, values, form in columns:
        if name in fields and values is not None:
            yield _shared(values, form.format)


def last_columns(samples: Samples, fields: frozenset[str]) -> Iterator[AnyArray]:
    """Yield (n,) columns behind the place: branches, physical address, page sizes."""
    if "brstack" in fields and samples.branches is not None:
        yield branch_column(samples.branches)
    for name, form in (("phys_addr", "{:16x}".format), ("data_page_size", _page_size), ("code_page_size", _page_size)):
        if name in fields and name in samples.extra:
            yield _shared(samples.extra[name], form)


def _page_size(size: int) -> str:
    """`` 4K`` (tools/perf/util/event.c get_page_size_name, unit_number__scnprintf)."""
    power = min(max(size.bit_length() - 1, 0) // 10, len(_UNITS) - 1)
    return f" {size >> 10 * power}{_UNITS[power]}" if size else " N/A"
