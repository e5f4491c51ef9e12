"""Texts of a sample's fields before and after its frames: a column of byte strings for each field, in perf's order.

- A memory access (``data_src``) is described in words:
  ``68100142 |OP LOAD|LVL L1 hit|SNP None|TLB L1 or L2 hit|LCK No|BLK  N/A``.
- A branch (``brstack``) is source, target, flags, cycles, type and speculation: ``0x4004f0/0x4004e0/P/-/-/12/COND/-``.
  With names it is ``main+0x10 (/bin/prog)/work+0x0 (/bin/prog)/P/-/-/12/COND/-``.

Source of truth: tools/perf/builtin-script.c perf_sample__fprintf_start, process_event, data_src__fprintf,
print_bstack_flags, perf_sample__fprintf_brstack and perf_sample__fprintf_brstacksym; util/mem-events.c
perf_script__meminfo_scnprintf; util/branch.c.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache

import numpy as np

from perf2x.base.abi.data_source import level, operation, snoop, translation
from perf2x.base.columnar import I32, U64, AnyArray, ListArray, as_int64, group_rows, unique_inverse
from perf2x.emitters.encoding.decimal_text import chunk_array, shared_chunks
from perf2x.emitters.perf_script.frame_lines import PlaceText
from perf2x.model.printable_text import without_controls
from perf2x.model.profile import Profile
from perf2x.model.recording import Samples
from perf2x.model.recording.branch_types import SPECULATIONS, TYPES, speculations, type_numbers

Fields = frozenset[str]
_THOUSAND = 1000
_SIZE_UNITS = "BKMG"
_MODE_LETTERS = "KUHGg"
"""Letters of the CPU modes 1 to 5 (PERF_RECORD_MISC_KERNEL etc.)."""


class StartColumns:
    """Makes the first columns of a line: comm, ids, CPU, mode, time."""

    def __init__(self, profile: Profile, *, nanoseconds: bool) -> None:
        threads, self._nanoseconds = profile.threads, nanoseconds
        comms = (profile.strings[row] or ":-1" for row in threads.comm.tolist())
        self._threads = list(zip(comms, threads.pid.tolist(), threads.tid.tolist(), strict=True))

    def of_samples(self, samples: Samples, thread: I32, fields: Fields, *, align_comm: bool) -> Iterator[AnyArray]:
        """Yield (samples,) columns; ``thread`` are rows of Profile.threads.

        perf right-aligns thread names (``align_comm``) if it prints no call chain.
        """
        yield shared_chunks(thread, lambda row: _thread_text(*self._threads[row], fields, align_comm=align_comm))
        if "cpu" in fields and samples.cpu is not None:
            yield shared_chunks(samples.cpu.view(np.int32), "[{:03d}] ".format)
        if "misc" in fields:
            yield shared_chunks(samples.cpumode, _mode_text)
        if "time" in fields and samples.time is not None:
            yield from self._time_columns(samples.time)

    def _time_columns(self, time: U64) -> Iterator[AnyArray]:
        microseconds = time // np.uint64(_THOUSAND)
        milliseconds = microseconds // np.uint64(_THOUSAND)
        digits, last_digits = _three_digits()
        # only the first part is formatted; the others, of three digits, come from a table
        decimals = as_int64(microseconds - milliseconds * np.uint64(_THOUSAND))
        yield shared_chunks(milliseconds, lambda ms: f"{ms // _THOUSAND:5d}.{ms % _THOUSAND:03d}")
        if self._nanoseconds:
            yield digits[decimals]
            decimals = as_int64(time % np.uint64(_THOUSAND))
        yield last_digits[decimals]


def _thread_text(comm: str, pid: int, tid: int, fields: Fields, *, align_comm: bool) -> str:
    comm = without_controls(comm)
    blanks = 16 - len(comm.encode()) if align_comm else 0
    name = f"{' ' * blanks}{comm} " if "comm" in fields else ""
    if {"pid", "tid"} <= fields:
        return f"{name}{pid:7d}/{tid:<7d} "
    return f"{name}{pid:7d} " if "pid" in fields else f"{name}{tid:7d} " if "tid" in fields else name


def _mode_text(mode: int) -> str:
    """perf tests modes as if they were bits: it prints KUH for mode 3 (hypervisor), which is 1 | 2."""
    return f"{''.join(letter for number, letter in enumerate(_MODE_LETTERS, 1) if mode & number == number):5} "


@cache
def _three_digits() -> tuple[AnyArray, AnyArray]:
    texts = [b"%03d" % number for number in range(_THOUSAND)]
    return chunk_array(texts), chunk_array([text + b": " for text in texts])


_MAX_MEMORY_TEXT = 99
"""Bytes of a memory access's text: perf formats it in a buffer of 100 bytes."""


class MemoryText:
    """Texts of memory accesses, padded to the longest one so far, as in perf."""

    def __init__(self) -> None:
        self._longest = 0

    def column(self, data_src: U64) -> AnyArray:
        """Return (samples,) texts of ``data_src`` (union perf_mem_data_src), which must not be empty."""
        words, word_index = unique_inverse(data_src)
        texts = [_memory_text(word) for word in words.tolist()]
        lengths = as_int64([self._longest, *map(len, texts)])
        widths = np.maximum.accumulate(np.append(self._longest, lengths[1:][word_index]))[1:]
        self._longest = int(widths[-1])
        rows = zip(word_index.tolist(), widths.tolist(), strict=True)
        return chunk_array([f"{texts[index]:<{width}}".encode() for index, width in rows])


def _memory_text(word: int) -> str:
    lock = "N/A" if word >> 24 & 1 else "Yes" if word >> 24 & 2 else "No"
    bits = word >> 40 & 7  # mem_blk: 1 not available, 2 by data, 4 by address
    block = " N/A" if not bits or bits & 1 else " Data" * (bits >> 1 & 1) + " Addr" * (bits >> 2)
    memory_level = level(word)
    memory_level += " " * (memory_level != "N/A" and not word >> 5 & 6)  # a blank where perf prints hit or miss
    parts = "|".join(("OP " + operation(word), "LVL " + memory_level, "SNP " + snoop(word), "TLB " + translation(word),
                      "LCK " + lock, "BLK " + block))  # fmt: skip
    return f"{word:16x} |{parts}"[:_MAX_MEMORY_TEXT]


def value_columns(
    samples: Samples,
    fields: Fields,
    event: str,
    memory: MemoryText,
    cgroups: Mapping[int, str],
    data_places: PlaceText | None,
) -> Iterator[AnyArray]:
    """Yield (samples,) columns between the time and the frames.

    ``cgroups`` are paths by id. Data addresses have no names if ``data_places`` is None.
    """
    extra = samples.extra
    event_text = f"{event}: " if "event" in fields else ""
    yield shared_chunks(
        samples.period, (lambda period: f"{period:10d} {event_text}") if "period" in fields else lambda _: event_text
    )
    if "flags" in fields:
        yield np.full(len(samples), b" " * 24, np.object_)  # only samples of processor traces have flags
    if "addr" in fields and samples.addr is not None:
        yield shared_chunks(samples.addr, "{:16x}".format)
        if data_places is not None:
            yield data_places.texts(data_places.locate(samples), fields & (_SYMBOL | _OBJECT))
    if "data_src" in fields and samples.data_src is not None:
        yield memory.column(samples.data_src)
    columns: tuple[tuple[str, AnyArray | None, Callable[[int], str]], ...] = (
        ("weight", samples.weight, "{:16d}".format),
        ("ins_lat", extra.get("ins_lat"), "{:16d}".format), ("retire_lat", extra.get("weight3"), "{:16d}".format),
        ("cgroup", samples.cgroup, lambda cgroup: f" {without_controls(cgroups.get(cgroup, 'unknown'))}"),
    )  # fmt: skip
    for name, values, text in columns:
        if name in fields and values is not None:
            yield shared_chunks(values, text)


def last_columns(samples: Samples, fields: Fields) -> Iterator[AnyArray]:
    """Yield (samples,) columns after the branches."""
    for name, text in (("phys_addr", "{:16x}".format), ("data_page_size", _page_size), ("code_page_size", _page_size)):
        if name in fields and name in samples.extra:
            yield shared_chunks(samples.extra[name], text)


def _page_size(size: int) -> str:
    """Source: tools/perf/util/event.c get_page_size_name, unit_number__scnprintf.

    Like perf, it divides while the quotient is more than 1; so 1 MiB stays 1024K.
    """
    unit = 0
    while size >> 10 > 1 and unit < len(_SIZE_UNITS) - 1:
        size, unit = size >> 10, unit + 1
    return f" {size}{_SIZE_UNITS[unit]}" if size else " N/A"


_SYMBOL = frozenset({"sym", "symoff"})
_OBJECT = frozenset({"dso", "dsoff"})


def branch_column(samples: Samples, fields: Fields, places: PlaceText | None) -> AnyArray:
    """Return (samples,) the branches of each sample, newest first; ``places`` names their addresses."""
    branches = samples.branches
    assert branches is not None
    places = places if fields & {"brstacksym", *_OBJECT} else None
    columns: list[AnyArray] = [branches.flags, branches.from_ip, branches.to_ip]
    if places is not None:
        columns += np.split(as_int64(places.locate(samples)), 2)
    first, branch_text = group_rows(columns)  # equal branches share a text
    flags, *columns = (column[first] for column in columns)
    flag_rows = zip(flags.tolist(), type_numbers(flags).tolist(), speculations(flags).tolist(), strict=True)
    source, target = _source_and_target(columns, fields, places)
    texts: AnyArray = source + b"/" + target + chunk_array([_flag_text(*row).encode() for row in flag_rows])
    return chunk_array([b"".join(row.tolist()) for row in ListArray(branches.offsets, texts[branch_text]).rows()])


def _source_and_target(columns: list[AnyArray], fields: Fields, places: PlaceText | None) -> Iterator[AnyArray]:
    """``columns`` are source and target addresses and, with ``places``, the rows of ``places`` for both."""
    for address, *place_rows in zip(columns[:2], *([columns[2:]] if places is not None else []), strict=True):
        if "brstack" in fields or places is None:
            text = shared_chunks(address, (" {:#x}" if address is columns[0] else "{:#x}").format)
        else:
            text = chunk_array([name[1:] for name in places.texts(place_rows[0], _SYMBOL).tolist()])
        if places is not None:
            text = text + places.texts(place_rows[0], fields & _OBJECT)
        yield text


def _flag_text(flags: int, type_number: int, speculation: int) -> str:
    """Source: struct perf_branch_entry (uapi/linux/perf_event.h)."""
    not_taken = "N" if flags >> 33 & 1 else ""
    predicted = "P" if flags & 2 else "M" if flags & 1 or not_taken else "-"
    type_name = TYPES[type_number] or "N/A" * (type_number > 0)
    transaction, abort = "X" if flags & 4 else "-", "A" if flags & 8 else "-"
    cycles = flags >> 4 & 0xFFFF
    return f"/{predicted}{not_taken}/{transaction}/{abort}/{cycles}/{type_name}/{SPECULATIONS[speculation] or '-'} "
