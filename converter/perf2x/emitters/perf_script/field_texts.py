"""Columns of text around a sample's frames, one for each field, in perf's order.

Texts shared by many samples are made once; a time is made from three tables. Memory accesses are spelled out:
``68100142 |OP LOAD|LVL L1 hit|SNP None|TLB L1 or L2 hit|LCK No|BLK  N/A``; a branch is ``
0x4004f0/0x4004e0/P/-/-/12/COND/-`` and a blank, with names ``main+0x10 (/bin/prog)/work+0x0
(/bin/prog)/P/-/-/12/COND/-``.

Source of truth: tools/perf/builtin-script.c perf_sample__fprintf_start, process_event, data_src__fprintf,
print_bstack_flags, perf_sample__fprintf_brstack and perf_sample__fprintf_brstacksym; util/mem-events.c
perf_script__meminfo_scnprintf; util/branch.c.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache

import numpy as np

from perf2x.base.abi.data_source import level, operation, snoop, translation
from perf2x.base.columnar import I32, U64, AnyArray, ListArray, as_int64, group_rows, unique_inverse
from perf2x.emitters.encoding.decimal_text import chunk_array, shared_texts
from perf2x.emitters.perf_script.frame_lines import PlaceText
from perf2x.model.printable_text import without_controls
from perf2x.model.profile import Profile
from perf2x.model.recording import Samples
from perf2x.model.recording.branch_types import SPECULATIONS, TYPES, speculations, type_numbers

Fields = frozenset[str]
_THOUSAND = 1000
_UNITS = "BKMG"
_MODES = "KUHGg"
"""Letters by the bits of PERF_RECORD_MISC_KERNEL etc., which are numbers, although perf tests them as bits."""


class StartColumns:
    """Makes the columns before a sample's address: comm, ids, CPU, mode, time."""

    def __init__(self, profile: Profile, *, nanoseconds: bool) -> None:
        threads, self._nanoseconds = profile.threads, nanoseconds
        comms = (profile.strings[row] or ":-1" for row in threads.comm.tolist())
        self._threads = list(zip(comms, threads.pid.tolist(), threads.tid.tolist(), strict=True))

    def of_samples(self, samples: Samples, thread: I32, fields: Fields, *, padded: bool) -> Iterator[AnyArray]:
        """Yield (n,) columns; with ``padded``, thread names are right-aligned, as they are without a call chain."""
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
        last = as_int64(micro - milli * np.uint64(_THOUSAND))
        yield shared_texts(milli, lambda one: f"{one // _THOUSAND:5d}.{one % _THOUSAND:03d}")
        if self._nanoseconds:
            yield digits[last]
            last = as_int64(time % np.uint64(_THOUSAND))
        yield ends[last]


def _who(comm: str, pid: int, tid: int, fields: Fields, *, padded: bool) -> str:
    comm = without_controls(comm)
    blanks = 16 - len(comm.encode()) if padded else 0
    name = f"{' ' * blanks}{comm} " if "comm" in fields else ""
    if {"pid", "tid"} <= fields:
        return f"{name}{pid:7d}/{tid:<7d} "
    return f"{name}{pid:7d} " if "pid" in fields else f"{name}{tid:7d} " if "tid" in fields else name


def _mode_text(mode: int) -> str:
    """Return ``U     ``: the letters of a CPU mode and at least one blank."""
    return f"{''.join(letter for number, letter in enumerate(_MODES, 1) if mode & number == number):5} "


@cache
def _three_digits() -> tuple[AnyArray, AnyArray]:
    """Return the texts of 000 … 999, and the same as the end of a time."""
    texts = [b"%03d" % number for number in range(_THOUSAND)]
    return chunk_array(texts), chunk_array([text + b": " for text in texts])


_MOST = 99


class MemoryText:
    """Text of memory accesses; each one is padded to the longest so far."""

    def __init__(self) -> None:
        self._longest = 0

    def column(self, data_src: U64) -> AnyArray:
        """Return (n,) texts."""
        found, place = unique_inverse(data_src)
        texts = [_text(word) for word in found.tolist()]
        lengths = as_int64([self._longest, *map(len, texts)])
        widths = np.maximum.accumulate(np.append(self._longest, lengths[1:][place]))[1:]
        self._longest = int(widths[-1])
        rows = zip(place.tolist(), widths.tolist(), strict=True)
        return chunk_array([f"{texts[row]:<{width}}".encode() for row, width in rows])


def _text(word: int) -> str:
    lock = "N/A" if word >> 24 & 1 else "Yes" if word >> 24 & 2 else "No"
    block = word >> 40 & 7
    blocked = " N/A" if not block or block & 1 else " Data" * (block >> 1 & 1) + " Addr" * (block >> 2)
    where = level(word)
    where += " " * (where != "N/A" and not word >> 5 & 6)
    how = "|".join(("OP " + operation(word), "LVL " + where, "SNP " + snoop(word), "TLB " + translation(word),
                    "LCK " + lock, "BLK " + blocked))  # fmt: skip
    return f"{word:16x} |{how}"[:_MOST]


def value_columns(
    samples: Samples,
    fields: Fields,
    event: str,
    memory: MemoryText,
    cgroups: Mapping[int, str],
    data: PlaceText | None,
) -> Iterator[AnyArray]:
    """Yield (n,) columns between the time and the address: period, event, values of the event."""
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
    """Yield (n,) columns after the branches: physical address, page sizes."""
    for name, form in (("phys_addr", "{:16x}".format), ("data_page_size", _page_size), ("code_page_size", _page_size)):
        if name in fields and name in samples.extra:
            yield shared_texts(samples.extra[name], form)


def _page_size(size: int) -> str:
    """Return `` 4K``, `` 1024K``, `` 2M`` (tools/perf/util/event.c get_page_size_name, unit_number__scnprintf)."""
    unit = 0
    while size >> 10 > 1 and unit < len(_UNITS) - 1:
        size, unit = size >> 10, unit + 1
    return f" {size}{_UNITS[unit]}" if size else " N/A"


_NAME = frozenset({"sym", "symoff"})
_OBJECT = frozenset({"dso", "dsoff"})


def branch_column(samples: Samples, fields: frozenset[str], places: PlaceText | None) -> AnyArray:
    """Return (n,) the branches of each sample, newest first; ``places`` names their addresses."""
    branches = samples.branches
    assert branches is not None
    places = places if fields & {"brstacksym", *_OBJECT} else None
    columns: list[AnyArray] = [branches.flags, branches.from_ip, branches.to_ip]
    if places is not None:
        columns += np.split(as_int64(places.locate(samples)), 2)
    first, kind = group_rows(columns)
    flags, *columns = (column[first] for column in columns)
    numbers = zip(flags.tolist(), type_numbers(flags).tolist(), speculations(flags).tolist(), strict=True)
    start, end = _ends(columns, fields, places)
    texts: AnyArray = start + b"/" + end + chunk_array([_flag_text(*row).encode() for row in numbers])
    return chunk_array([b"".join(row.tolist()) for row in ListArray(branches.offsets, texts[kind]).rows()])


def _ends(columns: list[AnyArray], fields: frozenset[str], places: PlaceText | None) -> Iterator[AnyArray]:
    """Yield (n,) texts of the sources of branches, then of their targets."""
    for address, *location in zip(columns[:2], *([columns[2:]] if places is not None else []), strict=True):
        if "brstack" in fields or places is None:
            text = shared_texts(address, (" {:#x}" if address is columns[0] else "{:#x}").format)
        else:
            text = chunk_array([name[1:] for name in places.texts(location[0], _NAME).tolist()])
        if places is not None:
            text = text + places.texts(location[0], fields & _OBJECT)
        yield text


def _flag_text(flags: int, kind: int, speculation: int) -> str:
    """Return ``/P/-/-/12/COND/-`` for the bits of struct perf_branch_entry (include/uapi/linux/perf_event.h)."""
    not_taken = "N" if flags >> 33 & 1 else ""
    predicted = "P" if flags & 2 else "M" if flags & 1 or not_taken else "-"
    word = TYPES[kind] or "N/A" * (kind > 0)
    transaction, abort = "X" if flags & 4 else "-", "A" if flags & 8 else "-"
    guess = SPECULATIONS[speculation] or "-"
    return f"/{predicted}{not_taken}/{transaction}/{abort}/{flags >> 4 & 0xFFFF}/{word}/{guess} "
