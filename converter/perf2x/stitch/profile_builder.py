"""Distinct rows to a Profile, in an order that depends on what was recorded, not on where it stood in the file.

Every table is sorted by its contents (strings, mappings, locations, threads, samples), so that two files with the same
records in another order, or one file read in two pieces, give the same profile.
"""

import numpy as np
from msgspec.structs import replace

from perf2x.abi.uapi import EventType, SoftwareConfig
from perf2x.columnar.arrays import I32, I64
from perf2x.columnar.interner import StringInterner, prefix_tree
from perf2x.columnar.ragged import Ragged
from perf2x.columnar.unique import argsort_rows, group_rows, unique, unique_inverse
from perf2x.stitch.frame_keys import distinct_words
from perf2x.stitch.sample_sums import SampleRows, in_turn
from perf2x.stitch.stack_interner import Gathered
from perf2x.stitch.stitcher import ROOT_NAMES, Root, Stitcher, Timed
from perf2x.tables.events import Event
from perf2x.tables.profile import (
    Functions,
    Locations,
    Mappings,
    Meta,
    Profile,
    ProfileEvent,
    ProfileSamples,
    Stacks,
    Threads,
    ThreadSwitches,
)
from perf2x.tables.stack_tree import summed_samples
from perf2x.tables.value_limits import LAST_TIME, MOST_PERIOD, MOST_VALUE, too_much

_NO_CGROUP = 2**64 - 1
"""The id of samples that do not say theirs."""


def finish(stitcher: Stitcher) -> Profile:
    """The profile of everything that was added, which the stitcher forgets; only made-up frames have lines yet.

    FormatError when the periods add up to more than sums can hold.
    """
    if stitcher.tally.value >= MOST_VALUE:
        raise too_much(stitcher.session.source)
    strings = StringInterner()
    gathered, timeline = stitcher.hand_over()
    threads, thread_rank = _threads(stitcher, gathered, strings)
    mappings, locations, functions, stacks, leaf = _resolved(stitcher, gathered, strings)
    rows = in_turn([part.rows for part in timeline]) if stitcher.options.timeline else gathered.sums.rows()
    rows = replace(rows, thread=thread_rank[rows.thread], stack=leaf[rows.stack])
    if rows.cgroup is not None:
        # rows that are told apart by CPU alone have the column too, and nothing in it
        rows = replace(rows, cgroup=_cgroups(stitcher, rows.cgroup, strings) if stitcher.options.by_cgroup else None)
    samples = _timeline(timeline, rows) if stitcher.options.timeline else _summed(stitcher, rows)
    return Profile(
        strings=strings.table(),
        events=tuple(profile_event(event) for event in stitcher.session.events),
        threads=threads,
        mappings=mappings,
        functions=functions,
        locations=locations,
        stacks=stacks,
        samples=samples,
        meta=_meta(stitcher),
        switches=_switches(stitcher, threads, strings) if stitcher.options.timeline else None,
        default_event=_first_event(samples),
    )


def profile_event(event: Event) -> ProfileEvent:
    """The event in the profile's words; clock events count nanoseconds (their period is one, evsel.c evsel__unit)."""
    clocks = (SoftwareConfig.CPU_CLOCK, SoftwareConfig.TASK_CLOCK)
    is_clock = event.type == EventType.SOFTWARE and event.config in clocks
    is_time = is_clock or event.name.split(":")[0] == "offcpu-time"  # perf record --off-cpu
    is_freq = "freq" in event.flags
    return ProfileEvent(
        name=event.name,
        unit="nanoseconds" if is_time else "count",
        period=0 if is_freq else min(event.sample_period, MOST_PERIOD),
        frequency=event.sample_period if is_freq else 0,
    )


def _threads(stitcher: Stitcher, gathered: Gathered, strings: StringInterner) -> tuple[Threads, I32]:
    """The threads sorted by pid, tid, name, and the place of each in that order."""
    texts = stitcher.names_strings.table()
    pid, tid, comm, process = gathered.threads()
    pids, tids = pid.tolist(), tid.tolist()
    comms = [_name(texts, name, tid) for name, tid in zip(comm.tolist(), tids, strict=True)]
    leaders = [_name(texts, name, pid) for name, pid in zip(process.tolist(), pids, strict=True)]
    order = sorted(range(len(pids)), key=lambda row: (pids[row], tids[row], comms[row]))
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    threads = Threads(
        pid=pid[order].astype(np.int32),
        tid=tid[order].astype(np.int32),
        comm=strings.add_all(comms[row] for row in order),
        process=strings.add_all(leaders[row] for row in order),
    )
    return threads, rank


def _name(texts: list[str], name: int, tid: int) -> str:
    """A thread's name as perf would print it where nobody named it (thread__comm_str in tools/perf)."""
    if name >= 0:
        return texts[name]
    return "swapper" if tid == 0 else f":{tid}"


def _resolved(
    stitcher: Stitcher, gathered: Gathered, strings: StringInterner
) -> tuple[Mappings, Locations, Functions, Stacks, I32]:
    """Mappings and locations sorted by content, the prefix tree over them, and the node of every stack."""
    rows = gathered.stacks()
    words, place = distinct_words(rows.values)
    located = gathered.places.located(words)
    mappings, row_of_group = stitcher.mappings.table(gathered.places.hit, strings)
    mapping = row_of_group[located.mapping]
    lookup = located.address - located.is_return.astype(np.uint64)
    columns = [mapping, located.address, lookup, located.mode.astype(np.int64), located.root]
    order = argsort_rows(columns)
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    root = located.root[order]
    functions, line_function = _made_up(root, strings)
    locations = Locations(
        address=located.address[order],
        lookup=lookup[order],
        mapping=mapping[order].astype(np.int32),
        mode=located.mode[order],
        synthetic=root > 0,
        line_offsets=np.concatenate([[0], np.cumsum(root > 0)]).astype(np.int64),
        line_function=line_function,
        line_number=np.zeros(len(line_function), np.int32),
    )
    parent, item, leaf = prefix_tree(Ragged(rows.offsets, rank[place]), innermost_first=True)
    return mappings, locations, functions, Stacks(parent, item), leaf


def _made_up(root: I64, strings: StringInterner) -> tuple[Functions, I32]:
    """One function per kind of made-up frame, and the function of each such location."""
    kinds = unique(root[root > 0])
    names = strings.add_all(ROOT_NAMES[Root(kind)] for kind in kinds.tolist())
    none = np.zeros(len(kinds), np.int32)
    return Functions(names, names, none, none), np.searchsorted(kinds, root[root > 0]).astype(np.int32)


def _summed(stitcher: Stitcher, rows: SampleRows) -> ProfileSamples:
    """One row per event, thread and stack (and cpu and cgroup where asked for), in this order."""
    options = stitcher.options
    return summed_samples(
        ProfileSamples(
            event=rows.event,
            thread=rows.thread,
            stack=rows.stack,
            value=rows.value,
            count=rows.count,
            cpu=rows.cpu.astype(np.int32) if options.by_cpu and rows.cpu is not None else None,
            cgroup=rows.cgroup.astype(np.int32) if options.by_cgroup and rows.cgroup is not None else None,
        )
    )


def _timeline(timeline: list[Timed], rows: SampleRows) -> ProfileSamples:
    """One row per sample; samples of one time are in the order of their contents."""
    time = np.concatenate([*(part.time for part in timeline), np.zeros(0, np.uint64)])
    cpu = np.concatenate([*(part.cpu for part in timeline), np.zeros(0, np.int32)])
    order = argsort_rows([time, rows.thread, rows.event, rows.stack, rows.value])
    return ProfileSamples(
        event=rows.event[order],
        thread=rows.thread[order],
        stack=rows.stack[order],
        value=rows.value[order],
        count=rows.count,
        time=time[order],
        cpu=cpu[order],
        cgroup=None if rows.cgroup is None else rows.cgroup[order].astype(np.int32),
    )


def _cgroups(stitcher: Stitcher, cgroup: I64, strings: StringInterner) -> I64:
    """String index of each row's cgroup path; unnamed ids are shown as numbers, samples that say none have no text."""
    cgroups = stitcher.sideband.cgroups
    paths = dict(zip(cgroups.id.tolist(), cgroups.path, strict=True))
    ids, place = unique_inverse(cgroup.view(np.uint64))
    texts = ["" if number == _NO_CGROUP else paths.get(number, f"cgroup:{number}") for number in ids.tolist()]
    return strings.add_all(texts).astype(np.int64)[place]


def _switches(stitcher: Stitcher, threads: Threads, strings: StringInterner) -> ThreadSwitches | None:
    """Context switches of the threads that have samples."""
    switches = stitcher.sideband.switches
    if not len(switches):
        return None
    moment = stitcher.moments.of(switches.time, switches.position)
    names = stitcher.names.at(switches.tid.astype(np.int64), moment)
    texts, table = stitcher.names_strings.table(), strings.table()
    index = {
        (int(pid), int(tid), table[comm]): row
        for row, (pid, tid, comm) in enumerate(zip(threads.pid, threads.tid, threads.comm.tolist(), strict=True))
    }
    columns = [switches.pid.astype(np.int64), switches.tid.astype(np.int64), names]
    first, place = group_rows(columns)
    distinct = [column[first] for column in columns]
    numbers = np.array([
        index.get((pid, tid, _name(texts, name, tid)), -1)
        for pid, tid, name in zip(*(column.tolist() for column in distinct), strict=True)
    ], np.int64)  # fmt: skip
    thread = numbers[place]
    keep = np.flatnonzero(thread >= 0)
    keep = keep[np.lexsort([switches.is_out[keep], thread[keep], switches.time[keep]])]
    return ThreadSwitches(switches.time[keep], thread[keep].astype(np.int32), switches.is_out[keep])


def _first_event(samples: ProfileSamples) -> int:
    return int(samples.event.min()) if len(samples) else 0


def _meta(stitcher: Stitcher) -> Meta:
    session, tally = stitcher.session, stitcher.tally
    start = tally.first_ns or 0
    offset = session.wall_clock_offset_ns
    return Meta(
        source=session.source,
        start_ns=start,
        duration_ns=(tally.last_ns or 0) - start,
        wall_start_ns=min(max(start + offset, 0), LAST_TIME) if offset is not None else 0,
        hostname=session.hostname,
        os_release=session.os_release,
        arch=session.arch,
        perf_version=session.perf_version,
        command_line=session.command_line,
    )
