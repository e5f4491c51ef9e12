"""Columns of text that stand in front of a sample's frames, one for each field, in perf's order.

Texts that many samples share are made once; a time is put together from three tables.
Source of truth: tools/perf/builtin-script.c perf_sample__fprintf_start and process_event.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache

import numpy as np

from perf2x.base.columnar.arrays import I32, U64, AnyArray
from perf2x.emitters.encoding.decimal_text import chunk_array, shared_texts
from perf2x.emitters.perf_script.frame_lines import PlaceText
from perf2x.emitters.perf_script.memory_text import MemoryText
from perf2x.model.printable_text import without_controls
from perf2x.model.profile.profile import Profile
from perf2x.model.recording.events import Samples

Fields = frozenset[str]
_THOUSAND = 1000
_UNITS = "BKMG"
_MODES = "KUHGg"
"""Letters of PERF_RECORD_MISC_KERNEL and so on, which are numbers; perf asks for their bits."""


class StartColumns:
    """Makes the columns in front of a sample's place: comm, ids, CPU, mode, time."""

    def __init__(self, profile: Profile, *, nanoseconds: bool) -> None:
        threads, self._nanoseconds = profile.threads, nanoseconds
        comms = (profile.strings[row] or ":-1" for row in threads.comm.tolist())
        self._threads = list(zip(comms, threads.pid.tolist(), threads.tid.tolist(), strict=True))

    def of_samples(self, samples: Samples, thread: I32, fields: Fields, *, padded: bool) -> Iterator[AnyArray]:
        """Yield (n,) columns; ``padded``: names of threads stand right-aligned, as they do without a call chain."""
        yield shared_texts(thread, lambda row: _who(*self._threads[row], fields, padded=padded))
        if "cpu" in fields and samples.cpu is not None:
            yield shared_texts(samples.cpu.view(np.int32), "[{:03d}] ".format)
        if "misc" in fields:
            yield shared_texts(samples.cpumode, _mode_text)
        if "time" in fields and samples.time is not None:
            yield from self._time(samples.time)

    def _time(self, time: U64) -> Iterator[AnyArray]:
        micro = time // np.uint64(_THOUSAND)
        milli = micro // np.uint64(_THOUSAND)
        digits, ends = _three_digits()
        last = (micro - milli * np.uint64(_THOUSAND)).astype(np.int64)
        yield shared_texts(milli, lambda one: f"{one // _THOUSAND:5d}.{one % _THOUSAND:03d}")
        if self._nanoseconds:
            yield digits[last]
            last = (time % np.uint64(_THOUSAND)).astype(np.int64)
        yield ends[last]


def _who(comm: str, pid: int, tid: int, fields: Fields, *, padded: bool) -> str:
    comm = without_controls(comm)
    blanks = 16 - len(comm.encode()) if padded else 0
    name = f"{' ' * blanks}{comm} " if "comm" in fields else ""
    if {"pid", "tid"} <= fields:
        return f"{name}{pid:7d}/{tid:<7d} "
    return f"{name}{pid:7d} " if "pid" in fields else f"{name}{tid:7d} " if "tid" in fields else name


def _mode_text(mode: int) -> str:
    """``U     ``: letters of a CPU mode, at least a blank behind."""
    return f"{''.join(letter for number, letter in enumerate(_MODES, 1) if mode & number == number):5} "


@cache
def _three_digits() -> tuple[AnyArray, AnyArray]:
    """Texts of 000 … 999, and the same as the end of a time."""
    texts = [b"%03d" % number for number in range(_THOUSAND)]
    return chunk_array(texts), chunk_array([text + b": " for text in texts])


def value_columns(
    samples: Samples,
    fields: Fields,
    event: str,
    memory: MemoryText,
    cgroups: Mapping[int, str],
    data: PlaceText | None,
) -> Iterator[AnyArray]:
    """Yield (n,) columns between the time and the place: period, event, what the event measured."""
    extra = samples.extra
    name = f"{event}: " if "event" in fields else ""
    yield shared_texts(
        samples.period, (lambda period: f"{period:10d} {name}") if "period" in fields else lambda _: name
    )
    if "flags" in fields:
        yield np.full(len(samples), b" " * 24, np.object_)
    if "addr" in fields and samples.addr is not None:
        yield shared_texts(samples.addr, "{:16x}".format)
        if data is not None:
            yield data.texts(data.locate(samples), fields & {"sym", "symoff", "dso", "dsoff"})
    if "data_src" in fields and samples.data_src is not None:
        yield memory.column(samples.data_src)
    columns: tuple[tuple[str, AnyArray | None, Callable[[int], str]], ...] = (
        ("weight", samples.weight, "{:16d}".format),
        ("ins_lat", extra.get("ins_lat"), "{:16d}".format), ("retire_lat", extra.get("weight3"), "{:16d}".format),
        ("cgroup", samples.cgroup, lambda one: f" {without_controls(cgroups.get(one, 'unknown'))}"),
    )  # fmt: skip
    for name, values, text in columns:
        if name in fields and values is not None:
            yield shared_texts(values, text)


def last_columns(samples: Samples, fields: Fields) -> Iterator[AnyArray]:
    """Yield (n,) columns behind the branches: physical address, page sizes."""
    for name, form in (("phys_addr", "{:16x}".format), ("data_page_size", _page_size), ("code_page_size", _page_size)):
        if name in fields and name in samples.extra:
            yield shared_texts(samples.extra[name], form)


def _page_size(size: int) -> str:
    """`` 4K``, `` 1024K``, `` 2M`` (tools/perf/util/event.c get_page_size_name, unit_number__scnprintf)."""
    unit = 0
    while size >> 10 > 1 and unit < len(_UNITS) - 1:
        size, unit = size >> 10, unit + 1
    return f" {size}{_UNITS[unit]}" if size else " N/A"
