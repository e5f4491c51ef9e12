"""Converts a text to a profile: frames without addresses get numbers as placeholders in objects without addresses.

They are removed once places have names: ``model/transforms/drop_text_addresses.py``.
"""

import re

import numpy as np
from msgspec.structs import replace

from perf2x.base.abi import CpuMode
from perf2x.base.columnar import (
    AnyArray,
    StringInterner,
    arange,
    argsort,
    argsort_rows,
    as_int32,
    as_int64,
    falses,
    group_rows,
    prefix_tree,
    zeros,
)
from perf2x.model.profile import (
    Functions,
    Locations,
    Mappings,
    Meta,
    Profile,
    ProfileEvent,
    ProfileSamples,
    Stacks,
    Threads,
)
from perf2x.model.value_limits import LAST_TIME
from perf2x.sources.text.text_tables import UNNAMED, Text

_CLOCK = re.compile(r"(cpu|task)-clock\b.*")


def text_profile(text: Text, meta: Meta) -> Profile:
    """Make the profile, a row for each sample, in order of time if samples have times."""
    strings = StringInterner()
    threads, thread = _threads(text, strings)
    mappings, locations = _places(text, strings)
    parent, location, leaf = prefix_tree(text.stacks, innermost_first=True)
    rows, stack = text.samples, as_int32(np.append(leaf, -1)[text.samples.stack])
    is_timed, has_cpu = bool((rows.time < LAST_TIME).any()), bool((rows.cpu >= 0).any())
    columns: list[AnyArray] = [rows.time, thread, rows.event, stack, rows.value]
    order = argsort_rows(columns) if is_timed else arange(len(rows))
    samples = ProfileSamples(
        event=rows.event[order], thread=thread[order], stack=stack[order], value=rows.value[order],
        count=rows.count[order], time=rows.time[order] if is_timed else None, cpu=rows.cpu[order] if has_cpu else None,
    )  # fmt: skip
    known = rows.time[rows.time < LAST_TIME]
    first, last = (int(known.min()), int(known.max())) if len(known) else (0, 0)
    none = np.zeros(0, np.int32)
    return Profile(
        strings=strings.table(), events=tuple(_event(text, number) for number in range(len(text.events))),
        threads=threads, mappings=mappings, functions=Functions(none, none, none, none), locations=locations,
        stacks=Stacks(parent, location), samples=samples,
        meta=replace(meta, start_ns=first, duration_ns=last - first),
        default_event=int(rows.event.min(initial=len(text.events) - 1)),
    )  # fmt: skip


def _event(text: Text, number: int) -> ProfileEvent:
    name = text.events[number] or UNNAMED
    is_time = number in text.with_period and _CLOCK.fullmatch(name)
    return ProfileEvent(name, "nanoseconds" if is_time else "count", period=0, frequency=0)


def _threads(text: Text, strings: StringInterner) -> tuple[Threads, AnyArray]:
    """Return threads sorted by content, and (samples,) the thread of each; a process is named after its main thread."""
    rank = argsort(as_int64(sorted(range(len(text.comms)), key=text.comms.__getitem__)))
    rows = text.samples
    first, thread = group_rows([rows.pid, rows.tid, rank[rows.comm]])
    pid, tid, comm = rows.pid[first], rows.tid[first], [text.comms[row] for row in rows.comm[first].tolist()]
    leaders = {
        one: name for one, other, name in zip(pid.tolist(), tid.tolist(), comm, strict=True) if one == other >= 0
    }
    process = [leaders.get(one, name) for one, name in zip(pid.tolist(), comm, strict=True)]
    return Threads(pid, tid, strings.add_all(comm), strings.add_all(process)), as_int32(thread)


def _places(text: Text, strings: StringInterner) -> tuple[Mappings, Locations]:
    """Return a mapping per object, and a location per frame; frames with neither name nor object have no mapping."""
    frames = text.frames
    objects = sorted({name for name, _, lines in frames if name or lines})
    kernels = {name for name, mode, _ in frames if mode == CpuMode.KERNEL} - {""}
    number = {name: row for row, name in enumerate(objects)}
    mapping = [number[name] if name or lines else -1 for name, _, lines in frames]
    count, places = len(objects), np.arange(len(frames), dtype=np.uint64)
    nowhere, no, none = np.zeros(count, np.uint64), falses(count), np.zeros(0, np.int32)
    mappings = Mappings(
        start=nowhere, limit=nowhere, offset=nowhere, filename=strings.add_all(objects),
        build_id=np.zeros(count, np.int32), pid=np.full(count, -1, np.int32),
        is_kernel=np.array([name in kernels for name in objects], np.bool_),
        has_functions=no, has_filenames=no, has_line_numbers=no, has_inline_frames=no,
    )  # fmt: skip
    return mappings, Locations(
        address=places, lookup=places, mapping=as_int32(mapping),
        mode=np.array([mode for _, mode, _ in frames], np.uint8), synthetic=falses(len(frames)),
        line_offsets=zeros(len(frames) + 1), line_function=none, line_number=none,
    )  # fmt: skip
