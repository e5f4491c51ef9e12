"""Builds a Profile from stitched samples.

Every table is sorted by content: the order of records, and whether a file is read in parts, changes nothing.
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
    StringTableBuilder,
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
from perf2x.model.value_limits import LAST_TIME, MOST_PERIOD, MOST_VALUE, periods_error
from perf2x.stitcher.history.process_history import ProcessHistory
from perf2x.stitcher.stacks.frame_keys import decode_keys, distinct_keys
from perf2x.stitcher.stacks.sample_sums import SampleRows, TimedRows
from perf2x.stitcher.stacks.stack_interner import ThreadRows
from perf2x.stitcher.stitch import SampleTotals, StitchResult
from perf2x.stitcher.timeline_tables import losses, parents, thread_names, thread_switches

_NO_CGROUP = 2**64 - 1
# ids (n,) → names (n,), as string indices
_CgroupNames = Callable[[I64], I64]


def build_profile(session: Session, history: ProcessHistory, result: StitchResult) -> Profile:
    """Build the profile of all stitched samples; only root frames have functions yet.

    Raises FormatError if the periods add up to MOST_VALUE or more.
    """
    if result.totals.period >= MOST_VALUE:
        raise periods_error(session.source)
    strings = StringTableBuilder()
    threads, row_of_thread = _sorted_threads(history, result.threads, strings)
    mappings, locations, functions, stacks, node_of_stack = _resolve_stacks(history, result, strings)
    name_cgroups = partial(_cgroup_names, history.sideband.cgroups, strings)
    if result.timeline is None:
        rows = replace(
            result.samples, thread=row_of_thread[result.samples.thread], stack=node_of_stack[result.samples.stack]
        )
        samples = _sum_rows(rows if rows.cgroup is None else replace(rows, cgroup=name_cgroups(rows.cgroup)))
    else:
        samples = _timeline_samples(result.timeline, row_of_thread, node_of_stack, name_cgroups)
    return Profile(
        strings=strings.table(),
        events=profile_events(session.events, is_count=session.is_perf_stat),
        threads=threads,
        mappings=mappings,
        functions=functions,
        locations=locations,
        stacks=stacks,
        samples=samples,
        meta=_profile_meta(session, result.totals),
        switches=None if result.timeline is None else thread_switches(history, threads, strings),
        losses=None if result.timeline is None else losses(session.events, history.sideband.losts),
        recorded=None if result.recorded_rows is None else result.recorded_rows.renumber(row_of_thread, node_of_stack),
        parents=None if result.timeline is None else parents(history.sideband.forks, threads),
        default_event=int(samples.event.min()) if len(samples) else 0,
    )


def _sorted_threads(history: ProcessHistory, stitched: ThreadRows, strings: StringTableBuilder) -> tuple[Threads, I32]:
    """Sort threads by pid, tid and name; also return (stitched threads,) the row of each.

    Threads that differ only in their forks share a row. A process is named after its main thread at the time of the
    row's first sample.
    """
    distinct_names, first_sequence = history.names.distinct_names, stitched.first_sequence
    pid, tid = stitched.pid, stitched.tid
    comm = thread_names(distinct_names, stitched.comm, tid)
    process = thread_names(distinct_names, history.names.at(pid, first_sequence), pid)
    order = argsort_rows([pid, tid, comm.ranks(), first_sequence])
    pid, tid, comm, process = pid[order], tid[order], comm[order], process[order]
    begins_row = begins_run(pid, tid, comm.indices)
    row = np.empty(len(order), np.int32)
    row[order] = cumsum(begins_row) - 1
    # first row of each fork's thread: a renamed thread has several rows, but was started once
    fork_rows, _ = group_rows([pid, tid, stitched.fork_sequence[order]])
    threads = Threads(
        pid=as_int32(pid[begins_row]),
        tid=as_int32(tid[begins_row]),
        comm=strings.add_all(comm[begins_row]),
        process=strings.add_all(process[begins_row]),
        starts=as_int32(bincount(row[order][fork_rows], sum_of(begins_row))),
    )
    return threads, row


def _resolve_stacks(
    history: ProcessHistory, result: StitchResult, strings: StringTableBuilder
) -> tuple[Mappings, Locations, Functions, Stacks, I32]:
    keys, index = distinct_keys(result.stacks.values)
    mappings, locations, functions, location_of_key = _locations(history, result, keys, strings)
    del keys  # saves memory: they are one per distinct address, and addresses may be most of a file
    parent, location, node_of_stack = prefix_tree(
        ListArray(result.stacks.offsets, location_of_key[index]), innermost_first=True
    )
    return mappings, locations, functions, Stacks(parent, location), node_of_stack


def _locations(
    history: ProcessHistory, result: StitchResult, keys: U64, strings: StringTableBuilder
) -> tuple[Mappings, Locations, Functions, I32]:
    frames = decode_keys(keys, history.layout, result.side_table)
    mappings, row_of_group = history.merged_mappings.table(result.is_hit, strings)
    mapping = row_of_group[frames.group]
    # No call precedes a mapping's first byte, so there the lookup address is the address itself, as for a sampled
    # instruction.
    follows_call = frames.is_return & (frames.address != np.append(mappings.start, np.uint64(0))[mapping])
    lookup = frames.address - as_uint64(follows_call)
    first, location_of_key = group_rows([mapping, frames.address, lookup, as_int64(frames.mode), frames.root])
    root = frames.root[first]
    functions, line_function = root_functions(root, strings)
    locations = Locations(
        address=frames.address[first],
        lookup=lookup[first],
        mapping=as_int32(mapping[first]),
        mode=frames.mode[first],
        synthetic=root > 0,
        line_offsets=offsets_of(root > 0),
        line_function=line_function,
        line_number=np.zeros(len(line_function), np.int32),
    )
    return mappings, locations, functions, as_int32(location_of_key)


def _sum_rows(rows: SampleRows) -> ProfileSamples:
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


def _timeline_samples(
    rows: TimedRows, row_of_thread: I32, node_of_stack: I32, name_cgroups: _CgroupNames
) -> ProfileSamples:
    """Sort samples by time, then by content. ``rows`` change in place, because a second copy takes too much memory."""
    rows.thread[:], rows.stack[:] = row_of_thread[rows.thread], node_of_stack[rows.stack]
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
        cgroup=None if rows.cgroup is None else as_int32(name_cgroups(rows.cgroup[order])),
        data_src=None if rows.data_src is None else rows.data_src[order],
        position=None if rows.position is None else rows.position[order],
    )


def _cgroup_names(cgroups: Cgroups, strings: StringTableBuilder, cgroup: I64) -> I64:
    paths = dict(zip(cgroups.id.tolist(), cgroups.path, strict=True))
    ids, index = unique_inverse(cgroup.view(np.uint64))
    names = ["" if number == _NO_CGROUP else paths.get(number, f"cgroup:{number}") for number in ids.tolist()]
    strings.add_all(sorted(names))  # sorted by name, because ids differ from boot to boot
    return as_int64(strings.add_all(names))[index]


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
    """Convert events to the profile's terms.

    An event that is read with its group's leader gets the leader's index, if the leader is sampled itself. ``is_count``
    is for events of perf stat.
    """
    is_led = [_is_read_by_leader(event) and not _is_read_by_leader(events[event.group_leader]) for event in events]
    leaders = [event.group_leader if has_leader else -1 for event, has_leader in zip(events, is_led, strict=True)]
    converted = (profile_event(event, leader) for event, leader in zip(events, leaders, strict=True))
    return tuple(replace(event, is_count=is_count) for event in converted)


def profile_event(event: Event, leader: int) -> ProfileEvent:
    """Convert an event to the profile's terms; ``leader`` is the index of the event that it is read with, −1 for none.

    Clock events count nanoseconds (evsel__unit in tools/perf).
    """
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
    """Return whether an event is read when its leader is sampled (``{a,b}:S``); it has no sampling period."""
    is_read_as_group = event.sample_type & SampleType.READ and event.read_format & ReadFormat.GROUP
    return bool(is_read_as_group) and event.sample_period == 0 and event.group_leader not in (-1, event.index)
