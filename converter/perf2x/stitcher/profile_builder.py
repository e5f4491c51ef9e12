"""Builds a Profile from stitched samples; row order depends on the records, not on their positions in the file.

Every table is sorted by content (strings, mappings, locations, threads, samples), so that two files with the same
records in different order, or one file read in two parts, give the same profile.
"""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from msgspec.structs import replace

from perf2x.base.abi import EventType, ReadFormat, SampleType, SoftwareConfig
from perf2x.base.columnar import (
    I32,
    I64,
    U64,
    AnyArray,
    ListArray,
    StringInterner,
    argsort_rows,
    as_int32,
    as_int64,
    as_uint64,
    begins_run,
    bincount,
    cumsum,
    group_rows,
    offsets_of,
    prefix_tree,
    sum_of,
    unique_inverse,
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
    root_functions,
    sum_sample_rows,
)
from perf2x.model.recording import Cgroups, Event, Session
from perf2x.model.value_limits import LAST_TIME, MOST_PERIOD, MOST_VALUE, too_much
from perf2x.stitcher.history.process_history import ProcessHistory
from perf2x.stitcher.stacks.frame_keys import decode_keys, distinct_keys
from perf2x.stitcher.stacks.sample_sums import SampleRows, TimedRows
from perf2x.stitcher.stacks.stack_interner import ThreadRows
from perf2x.stitcher.stitch import SampleTotals, StitchResult
from perf2x.stitcher.timeline_tables import losses, parents, thread_names, thread_switches

_NO_CGROUP = 2**64 - 1
"""The id of samples without a cgroup."""
_CgroupNames = Callable[[I64], I64]
"""Returns the name of each row's cgroup, as a string index."""


def build_profile(session: Session, history: ProcessHistory, result: StitchResult) -> Profile:
    """Build the profile of all stitched samples. Frames have no functions yet, except for root frames.

    Raises FormatError if the periods add up to more than 64 bits.
    """
    if result.totals.period >= MOST_VALUE:
        raise too_much(session.source)
    strings = StringInterner()
    threads, thread_rank = _sorted_threads(history, result.threads, strings)
    mappings, locations, functions, stacks, leaf = _resolve_stacks(history, result, strings)
    name_cgroups = partial(_cgroup_names, history.sideband.cgroups, strings)
    if result.timeline is None:
        rows = replace(result.samples, thread=thread_rank[result.samples.thread], stack=leaf[result.samples.stack])
        samples = _sum_rows(rows if rows.cgroup is None else replace(rows, cgroup=name_cgroups(rows.cgroup)))
    else:
        samples = _timeline_samples(result.timeline, thread_rank, leaf, name_cgroups)
    return Profile(
        strings=strings.table(),
        events=profile_events(session.events, is_count=session.counts),
        threads=threads,
        mappings=mappings,
        functions=functions,
        locations=locations,
        stacks=stacks,
        samples=samples,
        meta=_profile_meta(session, result.totals),
        switches=None if result.timeline is None else thread_switches(history, threads, strings),
        losses=None if result.timeline is None else losses(session.events, history.sideband.losts),
        recorded=None if result.recorded is None else result.recorded.renumber(thread_rank, leaf),
        parents=None if result.timeline is None else parents(history.sideband.forks, threads),
        default_event=int(samples.event.min()) if len(samples) else 0,
    )


def _sorted_threads(history: ProcessHistory, found: ThreadRows, strings: StringInterner) -> tuple[Threads, I32]:
    """Sort threads by pid, tid and name; return the table, and (found,) the table's row of each thread in ``found``.

    Threads with equal pid, tid and name share a row.

    A process is named after its main thread at the time of the first sample.
    """
    texts, pid, tid, seen = history.names.texts, found.pid, found.tid, found.first_sequence
    comm = thread_names(texts, found.comm, tid)
    leader = thread_names(texts, history.names.at(pid, seen), pid)
    order = argsort_rows([pid, tid, comm.ranks(), seen])
    pid, tid, comm, leader = pid[order], tid[order], comm[order], leader[order]
    begins = begins_run(pid, tid, comm.number)
    rank = np.empty(len(order), np.int32)
    rank[order] = cumsum(begins) - 1
    once, _ = group_rows([pid, tid, found.start[order]])
    threads = Threads(
        pid=as_int32(pid[begins]),
        tid=as_int32(tid[begins]),
        comm=strings.add_all(comm[begins]),
        process=strings.add_all(leader[begins]),
        starts=as_int32(bincount(rank[order][once], sum_of(begins))),
    )
    return threads, rank


def _resolve_stacks(
    history: ProcessHistory, result: StitchResult, strings: StringInterner
) -> tuple[Mappings, Locations, Functions, Stacks, I32]:
    """Return mappings and locations sorted by content, the prefix tree over them, and the tree node of every stack."""
    keys, index = distinct_keys(result.stacks.values)
    mappings, locations, functions, rank = _locations(history, result, keys, strings)
    del keys  # one per distinct address, which may be most of a file
    parent, item, leaf = prefix_tree(ListArray(result.stacks.offsets, rank[index]), innermost_first=True)
    return mappings, locations, functions, Stacks(parent, item), leaf


def _locations(
    history: ProcessHistory, result: StitchResult, keys: U64, strings: StringInterner
) -> tuple[Mappings, Locations, Functions, I32]:
    """Return mappings and locations sorted by content, and (keys,) the location of each distinct key."""
    frames = decode_keys(keys, history.layout, result.side_table)
    mappings, row_of_group = history.mappings.table(result.is_hit, strings)
    mapping = row_of_group[frames.mapping]
    # no call precedes a mapping's first byte; such frames may now equal others
    called = frames.is_return & (frames.address != np.append(mappings.start, np.uint64(0))[mapping])
    lookup = frames.address - as_uint64(called)
    order, rank = group_rows([mapping, frames.address, lookup, as_int64(frames.mode), frames.root])
    root = frames.root[order]
    functions, line_function = root_functions(root, strings)
    locations = Locations(
        address=frames.address[order],
        lookup=lookup[order],
        mapping=as_int32(mapping[order]),
        mode=frames.mode[order],
        synthetic=root > 0,
        line_offsets=offsets_of(root > 0),
        line_function=line_function,
        line_number=np.zeros(len(line_function), np.int32),
    )
    return mappings, locations, functions, as_int32(rank)


def _sum_rows(rows: SampleRows) -> ProfileSamples:
    """Return one row per event, thread and stack (and cpu, cgroup and data source if requested), sorted."""
    return sum_sample_rows(
        ProfileSamples(
            event=rows.event,
            thread=rows.thread,
            stack=rows.stack,
            value=rows.value,
            count=rows.count,
            cpu=None if rows.cpu is None else as_int32(rows.cpu),
            cgroup=None if rows.cgroup is None else as_int32(rows.cgroup),
            data_src=rows.data_src,
        )
    )


def _timeline_samples(rows: TimedRows, thread_rank: I32, leaf: I32, cgroups: _CgroupNames) -> ProfileSamples:
    """Return one row per sample; samples with equal times are sorted by content.

    Columns change in place, one by one, because a second copy of millions of samples takes too much memory.
    """
    rows.thread[:], rows.stack[:] = np.append(thread_rank, -1)[rows.thread], np.append(leaf, -1)[rows.stack]
    order = argsort_rows([rows.time, rows.thread, rows.event, rows.stack, rows.value])
    columns: tuple[AnyArray, ...] = (rows.event, rows.thread, rows.stack, rows.cpu, rows.value, rows.time)
    for column in columns:
        column[:] = column[order]
    return ProfileSamples(
        event=rows.event,
        thread=rows.thread,
        stack=rows.stack,
        value=rows.value,
        count=np.broadcast_to(np.int64(1), len(rows)),  # without a copy
        time=rows.time,
        cpu=rows.cpu,
        cgroup=None if rows.cgroup is None else as_int32(cgroups(rows.cgroup[order])),
        data_src=None if rows.data_src is None else rows.data_src[order],
        position=None if rows.position is None else rows.position[order],
    )


def _cgroup_names(cgroups: Cgroups, strings: StringInterner, cgroup: I64) -> I64:
    """Return the string index of each row's cgroup path. Shapes: ``cgroup`` (n,) ids; returns (n,).

    A cgroup without a known path is named ``cgroup:ID``; samples without a cgroup have "".
    """
    paths = dict(zip(cgroups.id.tolist(), cgroups.path, strict=True))
    ids, index = unique_inverse(cgroup.view(np.uint64))
    texts = ["" if number == _NO_CGROUP else paths.get(number, f"cgroup:{number}") for number in ids.tolist()]
    strings.add_all(sorted(texts))  # sorted by path, because ids differ from boot to boot
    return as_int64(strings.add_all(texts))[index]


def _profile_meta(session: Session, totals: SampleTotals) -> Meta:
    start = totals.first_ns or 0
    offset = session.wall_clock_offset_ns
    return Meta(
        source=session.source,
        start_ns=start,
        duration_ns=(totals.last_ns or 0) - start,
        wall_start_ns=min(max(start + offset, 0), LAST_TIME) if offset is not None else 0,
        clock_id=session.clock_id,
        hostname=session.hostname,
        os_release=session.os_release,
        arch=session.arch,
        perf_version=session.perf_version,
        cpus=session.cpus_online,
        command_line=session.command_line,
    )


def profile_events(events: Sequence[Event], *, is_count: bool = False) -> tuple[ProfileEvent, ...]:
    """Convert events to the profile's terms, each with its group leader."""
    reads = [_is_read_by_leader(event) and not _is_read_by_leader(events[event.group_leader]) for event in events]
    leaders = [event.group_leader if read else -1 for event, read in zip(events, reads, strict=True)]
    found = (profile_event(event, leader) for event, leader in zip(events, leaders, strict=True))
    return tuple(replace(event, is_count=is_count) for event in found)


def profile_event(event: Event, leader: int) -> ProfileEvent:
    """Convert an event to the profile's terms; clock events count nanoseconds (evsel__unit in tools/perf)."""
    clocks = (SoftwareConfig.CPU_CLOCK, SoftwareConfig.TASK_CLOCK)
    is_clock = event.type == EventType.SOFTWARE and event.config in clocks
    is_wait = event.name.split(":")[0] == "offcpu-time"  # perf record --off-cpu
    is_freq = "freq" in event.flags
    return ProfileEvent(
        name=event.name,
        unit="nanoseconds" if is_clock or is_wait else "count",
        period=0 if is_freq else min(event.sample_period, MOST_PERIOD),
        frequency=event.sample_period if is_freq else 0,
        is_wait=is_wait,
        leader=leader,
    )


def _is_read_by_leader(event: Event) -> bool:
    """Return whether an event is in a group of which only the leader is sampled (``{a,b}:S``).

    Such events have no sampling period.
    """
    reads = event.sample_type & SampleType.READ and event.read_format & ReadFormat.GROUP
    return bool(reads) and event.sample_period == 0 and event.group_leader not in (-1, event.index)
