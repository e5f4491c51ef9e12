"""Distinct rows to a Profile, in an order that depends on what was recorded, not on where it stood in the file.

Every table is sorted by its contents (strings, mappings, locations, threads, samples), so that two files with the same
records in another order, or one file read in two pieces, give the same profile.
"""

import numpy as np

from perf2x.abi.uapi import CpuMode, EventType, SoftwareConfig
from perf2x.model.arrays import I32, I64, U64
from perf2x.model.events import Event, Mmaps
from perf2x.model.intern import Strings, distinct_columns, prefix_tree
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
    ThreadSwitches,
)
from perf2x.model.ragged import Ragged
from perf2x.stitch.frames import Lookup, stacked
from perf2x.stitch.rows import Keys
from perf2x.stitch.stitcher import ROOT_NAMES, Root, Stitcher

_PRIVATE_NAMES = ("//anon", "[heap]", "[stack", "/memfd:", "/dev/zero", "anon_inode:", "/SYSV", "[anon")
"""Mappings whose name means nothing outside their process."""


def finish(stitcher: Stitcher) -> Profile:
    """The profile of everything that was added; locations have no lines yet but for made-up frames."""
    strings = Strings()
    keys = stitcher.rows.keys()
    stack_first, stack_of_row = distinct_columns(_stack_columns(keys, stitcher.rows.chain))
    threads, thread_of_row = _threads(stitcher, keys, strings)
    stack_keys = Keys(*(column[stack_first] for column in keys.columns()))
    chain, chains = stitcher.rows.chain[stack_first], stitcher.rows.chains.table()
    result = stacked(stack_keys, chain, chains, stitcher.sideband.deferred.chain.table, stitcher.spaces)
    mappings, locations, functions, stacks, leaf = _resolve(stitcher, result.locations, result.rows, strings)
    stack_of_row = leaf[stack_of_row].astype(np.int64)
    samples = _samples(stitcher, keys, thread_of_row, stack_of_row, strings)
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
        period=0 if is_freq else event.sample_period,
        frequency=event.sample_period if is_freq else 0,
    )


def _stack_columns(keys: Keys, chain: I64) -> list[I64]:
    return [
        chain, keys.mode, keys.user_epoch, keys.kernel_epoch, keys.deferred_chain, keys.deferred_epoch, keys.root,
        keys.leaf,
    ]  # fmt: skip


def _threads(stitcher: Stitcher, keys: Keys, strings: Strings) -> tuple[Threads, I64]:
    """Distinct (pid, tid, name) sorted by pid, tid, name, and each row's thread."""
    texts = stitcher.names_strings.table()
    first, inverse = distinct_columns([keys.pid, keys.tid, keys.comm])
    process = stitcher.names.at(keys.pid[first], stitcher.rows.moment[first])
    pids, tids = keys.pid[first].tolist(), keys.tid[first].tolist()
    comms = [_name(texts, name, tid) for name, tid in zip(keys.comm[first].tolist(), tids, strict=True)]
    leaders = [_name(texts, name, pid) for name, pid in zip(process.tolist(), pids, strict=True)]
    order = sorted(range(len(pids)), key=lambda row: (pids[row], tids[row], comms[row]))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    ordered = np.array(order, np.int64)
    threads = Threads(
        pid=keys.pid[first][ordered].astype(np.int32),
        tid=keys.tid[first][ordered].astype(np.int32),
        comm=strings.add_all(comms[row] for row in order),
        process=strings.add_all(leaders[row] for row in order),
    )
    return threads, rank[inverse]


def _name(texts: list[str], name: int, tid: int) -> str:
    """A thread's name as perf would print it where nobody named it (thread__comm_str in tools/perf)."""
    if name >= 0:
        return texts[name]
    return "swapper" if tid == 0 else f":{tid}"


def _resolve(
    stitcher: Stitcher, lookup: Lookup, rows: Ragged, strings: Strings
) -> tuple[Mappings, Locations, Functions, Stacks, I32]:
    """Mappings and locations sorted by content, and the prefix tree over them."""
    mappings, mapping_of = _mappings(stitcher, lookup, strings)
    address = lookup.address
    back = (lookup.is_return & (address > np.uint64(0))).astype(np.uint64)
    columns: list[U64 | I64] = [mapping_of, address, address - back, lookup.mode.astype(np.int64), lookup.root]
    first, inverse = distinct_columns(columns)
    order = np.lexsort([column[first] for column in reversed(columns)])
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    chosen = first[order]
    root = lookup.root[chosen]
    functions, line_function = _made_up(root, strings)
    locations = Locations(
        address=address[chosen],
        lookup=(address - back)[chosen],
        mapping=mapping_of[chosen].astype(np.int32),
        mode=lookup.mode[chosen],
        synthetic=root > 0,
        line_offsets=np.concatenate([[0], np.cumsum(root > 0)]).astype(np.int64),
        line_function=line_function,
        line_number=np.zeros(len(line_function), np.int32),
    )
    parent, item, leaf = prefix_tree(Ragged(rows.offsets, rank[inverse][rows.values]))
    return mappings, locations, functions, Stacks(parent, item), leaf


def _made_up(root: I64, strings: Strings) -> tuple[Functions, I32]:
    """One function per kind of made-up frame, and the function of each such location."""
    kinds = np.unique(root[root > 0])
    names = strings.add_all(ROOT_NAMES[Root(kind)] for kind in kinds.tolist())
    none = np.zeros(len(kinds), np.int32)
    return Functions(names, names, none, none), np.searchsorted(kinds, root[root > 0]).astype(np.int32)


def _mappings(stitcher: Stitcher, lookup: Lookup, strings: Strings) -> tuple[Mappings, I64]:
    """Distinct mappings that hold a location: user ones by name and address, then the kernel's; and each one's row."""
    mmaps = stitcher.mmaps
    used = np.unique(lookup.mmap[lookup.mmap >= 0])
    found: dict[tuple[bool, str, int, int, int, str, int], list[int]] = {}
    for row in used.tolist():
        found.setdefault(_identity(stitcher, mmaps, row), []).append(row)
    number = np.full(len(mmaps) + 1, -1, np.int64)
    ordered = sorted(found)
    for index, identity in enumerate(ordered):
        number[found[identity]] = index
    pids = [min(int(mmaps.pid[row]) for row in found[identity]) for identity in ordered]
    return _mapping_table(ordered, pids, strings), number[lookup.mmap]


def _identity(stitcher: Stitcher, mmaps: Mmaps, row: int) -> tuple[bool, str, int, int, int, str, int]:
    """(kernel, file, start, limit, offset, build id, pid if private): what makes two mappings the same."""
    name, pid = mmaps.filename[row], int(mmaps.pid[row])
    start, length = int(mmaps.start[row]), int(mmaps.length[row])
    build_id = mmaps.build_id[row] or _recorded_build_id(stitcher, name)
    private = pid if name.startswith(_PRIVATE_NAMES) else -1
    limit = min(start + length, 2**64 - 1)
    kernel = pid == -1 or mmaps.cpumode[row] == CpuMode.KERNEL
    return kernel, name, start, limit, int(mmaps.pgoff[row]), build_id.hex(), private


def _recorded_build_id(stitcher: Stitcher, name: str) -> bytes:
    """From the file's build-id table, where the kernel goes without the reference symbol that its mapping carries."""
    build_ids = stitcher.session.build_ids
    return build_ids.get(name) or build_ids.get(name.partition("]")[0] + "]", b"")


def _mapping_table(
    ordered: list[tuple[bool, str, int, int, int, str, int]], pids: list[int], strings: Strings
) -> Mappings:
    def unsigned(column: int) -> U64:
        return np.array([identity[column] for identity in ordered], np.uint64)

    no = np.zeros(len(ordered), np.bool_)
    kernel = np.array([identity[0] for identity in ordered], np.bool_)
    return Mappings(
        start=unsigned(2), limit=unsigned(3), offset=unsigned(4),
        filename=strings.add_all(identity[1] for identity in ordered),
        build_id=strings.add_all(identity[5] for identity in ordered),
        pid=np.where(kernel, -1, np.array(pids, np.int32)).astype(np.int32),
        is_kernel=kernel,
        has_functions=no, has_filenames=no.copy(), has_line_numbers=no.copy(), has_inline_frames=no.copy(),
    )  # fmt: skip


def _samples(stitcher: Stitcher, keys: Keys, thread: I64, stack: I64, strings: Strings) -> ProfileSamples:
    cgroup = _cgroups(stitcher, keys, strings)
    cpu = keys.cpu
    if stitcher.options.timeline:
        return _timeline(stitcher, keys, thread, stack, cgroup)
    columns = [keys.event, thread, stack, cpu, cgroup]
    first, inverse = distinct_columns(columns)
    value = np.zeros(len(first), np.int64)
    count = np.zeros(len(first), np.int64)
    np.add.at(value, inverse, stitcher.rows.values)
    np.add.at(count, inverse, stitcher.rows.counts)
    order = np.lexsort([column[first] for column in reversed(columns)])
    chosen = first[order]
    options = stitcher.options
    return ProfileSamples(
        event=keys.event[chosen].astype(np.int32),
        thread=thread[chosen].astype(np.int32),
        stack=stack[chosen].astype(np.int32),
        value=value[order],
        count=count[order],
        cpu=cpu[chosen].astype(np.int32) if options.by_cpu else None,
        cgroup=cgroup[chosen].astype(np.int32) if options.by_cgroup else None,
    )


def _timeline(stitcher: Stitcher, keys: Keys, thread: I64, stack: I64, cgroup: I64) -> ProfileSamples:
    """One row per sample; samples of one time are in the order of their contents."""
    none = np.zeros(0, np.int64)
    row = np.concatenate([*(part.row for part in stitcher.timeline), none])
    time = np.concatenate([*(part.time for part in stitcher.timeline), none.astype(np.uint64)])
    value = np.concatenate([*(part.value for part in stitcher.timeline), none])
    cpu = np.concatenate([*(part.cpu for part in stitcher.timeline), none])
    order = np.lexsort([value, stack[row], keys.event[row], thread[row], time])
    row = row[order]
    return ProfileSamples(
        event=keys.event[row].astype(np.int32),
        thread=thread[row].astype(np.int32),
        stack=stack[row].astype(np.int32),
        value=value[order],
        count=np.ones(len(row), np.int64),
        time=time[order],
        cpu=cpu[order].astype(np.int32),
        cgroup=cgroup[row].astype(np.int32) if stitcher.options.by_cgroup else None,
    )


def _cgroups(stitcher: Stitcher, keys: Keys, strings: Strings) -> I64:
    """String index of each row's cgroup path; unnamed ids are shown as numbers."""
    if not stitcher.options.by_cgroup:
        return keys.cgroup
    cgroups = stitcher.sideband.cgroups
    paths = dict(zip(cgroups.id.tolist(), cgroups.path, strict=True))
    ids, inverse = np.unique(keys.cgroup.view(np.uint64), return_inverse=True)
    texts = [paths.get(number, f"cgroup:{number}") for number in ids.tolist()]
    return strings.add_all(texts).astype(np.int64)[inverse.reshape(-1)]


def _switches(stitcher: Stitcher, threads: Threads, strings: Strings) -> ThreadSwitches | None:
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
    first, place = distinct_columns(columns)
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
        wall_start_ns=start + offset if offset is not None else 0,
        hostname=session.hostname,
        os_release=session.os_release,
        arch=session.arch,
        perf_version=session.perf_version,
        command_line=session.command_line,
    )
