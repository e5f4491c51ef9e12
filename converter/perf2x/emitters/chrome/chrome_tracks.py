"""Everything in a Chrome trace but slices: track names, thread states, counters, samples without a duration.

Thread states show when each thread was on a CPU. Perfetto (since version 54) makes its scheduler tracks from them,
including ``CPU 3`` if the CPU is known; other viewers ignore them. Their names are those of Perfetto's importer.

Counters show the number of threads that ran at the same time, and the rates of all other events per process. Samples
without a duration, such as page faults next to a clock event, are asynchronous events (``n``) on tracks of their own,
one for each event and process, because Perfetto draws instants of threads among the slices, as calls without a
duration.
"""

from collections.abc import Iterator

import numpy as np

from perf2x.base.columnar import (
    I64,
    AnyArray,
    arange,
    argsort,
    as_int64,
    flatnonzero,
    group_rows,
    lexsort,
    row_slices,
    sum_at,
)
from perf2x.emitters.chrome.chrome_times import TICK_NS, ids_of, ticks_of, time_chunks
from perf2x.emitters.encoding.decimal_text import chunk_array, interleaved, number_chunks
from perf2x.emitters.encoding.json_encoder import JsonObject, json_bytes
from perf2x.emitters.timeline.counters import TITLE, counters_of, running_steps
from perf2x.emitters.timeline.running_spans import RunningSpans
from perf2x.emitters.timeline.running_time import since
from perf2x.emitters.timeline.shown_samples import durations_of, thread_runs
from perf2x.emitters.timeline.tracks import CPUS_ID, Tracks, track_names, tracks_of
from perf2x.model.printable_text import base_name, one_line, printable
from perf2x.model.profile import Profile, Wait, sampled


def track_metadata(profile: Profile, tracks: Tracks, weight: I64, place: int) -> Iterator[bytes]:
    """Yield names and sort indices of processes (busiest first), CPUs (by number) and threads (main thread first).

    The first process has the sort index ``place``.
    """
    names = track_names(profile, tracks)
    first, process = group_rows([tracks.pid])
    pids = tracks.pid[first]
    busy = sum_at(process, weight, len(pids))
    busy[pids >= CPUS_ID] = 0
    for at, row in enumerate(lexsort((pids, -busy)).tolist(), place):
        lane = int(first[row])
        ids = (int(pids[row]), int(tracks.tid[lane]))
        yield _metadata("process_name", ids, {"name": printable(names[lane][1])})
        yield _metadata("process_sort_index", ids, {"sort_index": at})
    for lane in range(len(tracks)):
        ids = (int(tracks.pid[lane]), int(tracks.tid[lane]))
        yield _metadata("thread_name", ids, {"name": printable(names[lane][0])})
        if ids[0] == ids[1]:
            yield _metadata("thread_sort_index", ids, {"sort_index": -1})


def _metadata(name: str, ids: tuple[int, int], args: JsonObject) -> bytes:
    return json_bytes({"ph": "M", "name": name, "ts": 0, "pid": ids[0], "tid": ids[1], "args": args}) + b",\n"


def recording_facts(profile: Profile, origin: int) -> JsonObject:
    """Return the ``metadata`` member; ``ts`` 0 is ``origin`` on the recording's clock."""
    meta = profile.meta
    facts = {
        "source": printable(base_name(meta.source)),
        "start-ns": origin,
        "wall-start-ns": meta.wall_start_ns,
        "hostname": printable(meta.hostname),
        "os-release": printable(meta.os_release),
        "command": printable(" ".join(meta.command_line)),
        "perf-version": printable(meta.perf_version),
    }
    return {"tool": "perf2x"} | {key: value for key, value in facts.items() if value}


_ROWS_PER_WRITE = 1 << 12
_NAMES = (b"S", b"R+")
"""Names of states in the kernel's own traces: sleeping (0), and preempted (1)."""


def state_events(profile: Profile, tracks: Tracks) -> Iterator[bytes]:
    """Yield a state for each run of a thread, and one for the time until its next run."""
    runs = thread_runs(profile)
    track, start, end, state = _states(runs)
    numbers = arange(int(runs.cpu.max(initial=-1)) + 1).tolist()
    running = [b'"Running"', *(b'"Running","args":{"cpu":%d}' % cpu for cpu in numbers)]
    names = [*(b'"%b"' % name for name in _NAMES), *running]
    heads = chunk_array(b'{"ph":"T","name":%b,"ts":' % name for name in names)
    tails = ids_of(tracks.pid, tracks.tid)
    for rows in row_slices(len(track), _ROWS_PER_WRITE):
        times = time_chunks(start[rows], b',"dur":'), time_chunks(end[rows] - start[rows])
        yield interleaved(heads[state[rows]], *times, tails[track[rows]])


def _states(runs: RunningSpans) -> tuple[AnyArray, I64, I64, I64]:
    """Return track, start, end (ticks) and name index of all states, by track, then start."""
    start, end = ticks_of(runs.start), ticks_of(runs.end)
    off = flatnonzero(runs.track[1:] == runs.track[:-1])
    order = argsort(np.concatenate([arange(len(runs)) * 2, off * 2 + 1]))
    columns = (
        (runs.track, runs.track[off]),
        (start, end[off]),
        (end, start[off + 1]),
        (len(_NAMES) + 1 + runs.cpu, as_int64(runs.is_preempted[off])),
    )
    track, begin, finish, state = (np.concatenate(pair)[order] for pair in columns)
    some = finish > begin
    return track[some], begin[some], finish[some], state[some]


_STEPS = 1000
_SHORTEST_STEP_US = 1000


def running_events(profile: Profile, tracks: Tracks, origin: int) -> Iterator[bytes]:
    """Yield ``C`` events of the first process: how many threads of the recording ran at the same time, if known."""
    steps = running_steps(profile, origin, TICK_NS)
    pid = int(tracks.pid[0]) if len(tracks) else 0
    head, tail = b'{"ph":"C","name":"%b","ts":' % TITLE.encode(), b',"pid":%d,"tid":%d,"args":{"threads":'
    for rows in row_slices(len(steps), _ROWS_PER_WRITE):
        times = time_chunks(steps.time[rows], tail % (pid, pid or 1))
        yield interleaved(head, times, number_chunks(steps.threads[rows], b"}},\n"))


def counter_events(profile: Profile, tracks: Tracks, origin: int, *, with_samples: bool) -> Iterator[bytes]:
    """Yield ``C`` events: sums of periods per step (a thousandth of the recording, at least a millisecond).

    A gap gets one 0, so that curves drop where nothing happened. The counts of perf stat between two readings are one
    step.
    """
    samples, is_sample = profile.samples, sampled(profile)
    rows = flatnonzero(~is_sample | (with_samples & (samples.event != profile.default_event)))
    if samples.time is None or not len(rows):
        return
    time = since(samples.time, origin) // 1000
    step = max(_SHORTEST_STEP_US, int(time[-1]) // _STEPS)
    names = [one_line(event.name) for event in profile.events]
    for counter, part in counters_of(profile, rows, tracks.pid[tracks_of(profile)[1][rows]], names):
        pid = counter.pid
        if is_sample[part[0]]:
            begin, value = _sums(time[part] // step, samples.value[part])
            begin = begin * step
        else:
            begin, value = time[part], np.append(samples.value[part][1:], 0)
        for at, size in zip(begin.tolist(), value.tolist(), strict=True):
            event = {"ph": "C", "name": counter.name, "ts": at, "pid": pid, "tid": pid or 1}
            yield json_bytes(event | {"args": {"value": size}}) + b",\n"


def _sums(step: I64, value: I64) -> tuple[I64, I64]:
    """Return sums by step where they change, including the step after the last sample."""
    sums = sum_at(step, value, int(step[-1]) + 2)
    changes = flatnonzero(np.diff(sums, prepend=-1))
    return changes, sums[changes]


def marker_events(profile: Profile, tracks: Tracks, origin: int, wanted: I64) -> Iterator[bytes]:
    """Yield an instant, named after its event, for each of the ``wanted`` samples (rows) that nothing else shows."""
    samples = profile.samples
    if samples.time is None or not len(wanted):
        return
    is_moment = durations_of(profile, wanted).time == 0
    rows = wanted[is_moment & (samples.waits[wanted] == Wait.RAN)]
    if not len(rows):
        return
    track = tracks_of(profile)[1]
    ticks = ticks_of(since(samples.time[rows], origin))
    names = [json_bytes(one_line(event.name)) for event in profile.events]
    heads = chunk_array(b'{"ph":"n","cat":%b,"name":%b,"ts":' % (name, name) for name in names)
    ids = [(pid, tid, tid, tid) for pid, tid in zip(tracks.pid.tolist(), tracks.tid.tolist(), strict=True)]
    tails = chunk_array(b',"pid":%d,"tid":%d,"id2":{"local":"%d"},"args":{"tid":%d}},\n' % one for one in ids)
    for part in row_slices(len(rows), _ROWS_PER_WRITE):
        chosen = rows[part]
        yield interleaved(heads[samples.event[chosen]], time_chunks(ticks[part]), tails[track[chosen]])
