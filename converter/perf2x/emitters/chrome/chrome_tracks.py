"""Everything in a Chrome trace except slices: track names, thread states, counters, samples without a duration.

Only Perfetto (since version 54) uses thread states (``T``), for its scheduler tracks. Samples without a duration are
asynchronous instants (``n``), because Perfetto draws instants of threads as calls without a duration.
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
from perf2x.emitters.chrome.chrome_times import TICK_NS, event_ends, ticks_of, time_chunks
from perf2x.emitters.encoding.decimal_text import chunk_array, interleaved, number_chunks
from perf2x.emitters.encoding.json_encoder import JsonObject, json_bytes
from perf2x.emitters.timeline.counters import RUNNING_TITLE, counters_of, running_steps
from perf2x.emitters.timeline.running_spans import RunningSpans
from perf2x.emitters.timeline.running_time import since
from perf2x.emitters.timeline.shown_samples import durations_of, thread_runs
from perf2x.emitters.timeline.tracks import FIRST_CPU_ID, Tracks, track_names, tracks_of
from perf2x.model.printable_text import base_name, one_line, printable
from perf2x.model.profile import Profile, Wait, are_samples


def track_metadata(profile: Profile, tracks: Tracks, span_counts: I64, first_sort_index: int) -> Iterator[bytes]:
    """Yield names and sort indices of processes (busiest first), CPUs (by number) and threads (main thread first).

    Every CPU is a process of its own. ``span_counts`` (tracks,): see Drawing.
    """
    names = track_names(profile, tracks)
    first, process = group_rows([tracks.pid])
    pids = tracks.pid[first]
    process_spans = sum_at(process, span_counts, len(pids))
    process_spans[pids >= FIRST_CPU_ID] = 0  # sorts CPUs by number
    for sort_index, row in enumerate(lexsort((pids, -process_spans)).tolist(), first_sort_index):
        track = int(first[row])
        ids = (int(pids[row]), int(tracks.tid[track]))
        yield _metadata_event("process_name", ids, {"name": printable(names[track][1])})
        yield _metadata_event("process_sort_index", ids, {"sort_index": sort_index})
    for track in range(len(tracks)):
        ids = (int(tracks.pid[track]), int(tracks.tid[track]))
        yield _metadata_event("thread_name", ids, {"name": printable(names[track][0])})
        if ids[0] == ids[1]:
            yield _metadata_event("thread_sort_index", ids, {"sort_index": -1})


def _metadata_event(name: str, ids: tuple[int, int], args: JsonObject) -> bytes:
    return json_bytes({"ph": "M", "name": name, "ts": 0, "pid": ids[0], "tid": ids[1], "args": args}) + b",\n"


def trace_metadata(profile: Profile, origin: int) -> JsonObject:
    """Return the trace's ``metadata`` member; ``origin`` is time 0 of the trace on the recording's clock (ns)."""
    meta = profile.meta
    members = {
        "source": printable(base_name(meta.source)),
        "start-ns": origin,
        "wall-start-ns": meta.wall_start_ns,
        "hostname": printable(meta.hostname),
        "os-release": printable(meta.os_release),
        "command": printable(" ".join(meta.command_line)),
        "perf-version": printable(meta.perf_version),
    }
    return {"tool": "perf2x"} | {key: value for key, value in members.items() if value}


_ROWS_PER_WRITE = 1 << 12
_OFF_CPU_STATES = (b"S", b"R+")
"""Names from the kernel's traces: of a thread that sleeps, and of one that was preempted."""


def state_events(profile: Profile, tracks: Tracks) -> Iterator[bytes]:
    """Yield a state (``T``) for each run of a thread, and one for the time until its next run."""
    runs = thread_runs(profile)
    track, start, end, state = _numbered_states(runs)
    # ``names`` below has the names of states in the order in which `_numbered_states` numbers them
    cpus = arange(int(runs.cpu.max(initial=-1)) + 1).tolist()
    running = [b'"Running"', *(b'"Running","args":{"cpu":%d}' % cpu for cpu in cpus)]
    names = [*(b'"%b"' % name for name in _OFF_CPU_STATES), *running]
    heads = chunk_array(b'{"ph":"T","name":%b,"ts":' % name for name in names)
    tails = event_ends(tracks.pid, tracks.tid)
    for rows in row_slices(len(track), _ROWS_PER_WRITE):
        times = time_chunks(start[rows], b',"dur":'), time_chunks(end[rows] - start[rows])
        yield interleaved(heads[state[rows]], *times, tails[track[rows]])


def _numbered_states(runs: RunningSpans) -> tuple[AnyArray, I64, I64, I64]:
    """Return track, start, end (ticks) and state of all runs and of the times between them, by track, then start.

    States: 0 sleeping, 1 preempted, 2 running on an unknown CPU, 3 + n running on CPU n.
    """
    start, end = ticks_of(runs.start), ticks_of(runs.end)
    followed_runs = flatnonzero(runs.track[1:] == runs.track[:-1])  # another run of the thread follows
    # each run, then the time off CPU after it
    order = argsort(np.concatenate([arange(len(runs)) * 2, followed_runs * 2 + 1]))
    columns = (
        (runs.track, runs.track[followed_runs]),
        (start, end[followed_runs]),
        (end, start[followed_runs + 1]),
        (len(_OFF_CPU_STATES) + 1 + runs.cpu, as_int64(runs.is_preempted[followed_runs])),
    )
    track, begin, finish, state = (np.concatenate(pair)[order] for pair in columns)
    not_empty = finish > begin  # at least a tick
    return track[not_empty], begin[not_empty], finish[not_empty], state[not_empty]


_STEPS = 1000
_MIN_STEP_US = 1000


def running_events(profile: Profile, tracks: Tracks, origin: int) -> Iterator[bytes]:
    """Yield counts (``C``) of how many threads ran at once; they belong to the first process."""
    steps = running_steps(profile, origin, TICK_NS)
    pid = int(tracks.pid[0]) if len(tracks) else 0
    head, middle = b'{"ph":"C","name":"%b","ts":' % RUNNING_TITLE.encode(), b',"pid":%d,"tid":%d,"args":{"threads":'
    for rows in row_slices(len(steps), _ROWS_PER_WRITE):
        times = time_chunks(steps.time[rows], middle % (pid, pid or 1))
        yield interleaved(head, times, number_chunks(steps.threads[rows], b"}},\n"))


def counter_events(profile: Profile, tracks: Tracks, origin: int, *, with_samples: bool) -> Iterator[bytes]:
    """Yield counts (``C``) of perf stat and, ``with_samples``, of the sampled events except the default one.

    Sampled periods are summed per step: a thousandth of the recording, but at least a millisecond.
    """
    samples, is_sample = profile.samples, are_samples(profile)
    counter_samples = flatnonzero(~is_sample | (with_samples & (samples.event != profile.default_event)))
    if samples.time is None or not len(counter_samples):
        return
    time_us = since(samples.time, origin) // 1000
    step_us = max(_MIN_STEP_US, int(time_us[-1]) // _STEPS)
    names = [one_line(event.name) for event in profile.events]
    for counter, rows in counters_of(
        profile, counter_samples, tracks.pid[tracks_of(profile)[1][counter_samples]], names
    ):
        pid = counter.pid
        if is_sample[rows[0]]:
            step, value = _sums(time_us[rows] // step_us, samples.value[rows])
            start_us = step * step_us
        else:
            start_us, value = time_us[rows], np.append(samples.value[rows][1:], 0)
        for start, count in zip(start_us.tolist(), value.tolist(), strict=True):
            members = {"ph": "C", "name": counter.name, "ts": start, "pid": pid, "tid": pid or 1}
            yield json_bytes(members | {"args": {"value": count}}) + b",\n"


def _sums(step: I64, value: I64) -> tuple[I64, I64]:
    """Return the steps at which the sum of values per step changes, and these sums; the last sum is 0.

    step 1 1 2 5    value 3 1 4 7    sums 0 4 4 0 0 7 0    → steps 0 1 3 5 6, sums 0 4 0 7 0
    """
    sums = sum_at(step, value, int(step[-1]) + 2)
    changes = flatnonzero(np.diff(sums, prepend=-1))
    return changes, sums[changes]


def marker_events(profile: Profile, tracks: Tracks, origin: int, drawn_samples: I64) -> Iterator[bytes]:
    """Yield an instant (``n``), named after its event, for each sample without a duration that is not a wait.

    ``drawn_samples`` are the rows of Profile.samples to draw.
    """
    samples = profile.samples
    if samples.time is None or not len(drawn_samples):
        return
    is_instant = durations_of(profile, drawn_samples).length == 0
    rows = drawn_samples[is_instant & (samples.waits[drawn_samples] == Wait.RAN)]
    if not len(rows):
        return
    sample_tracks = tracks_of(profile)[1]
    ticks = ticks_of(since(samples.time[rows], origin))
    names = [json_bytes(one_line(event.name)) for event in profile.events]
    heads = chunk_array(b'{"ph":"n","cat":%b,"name":%b,"ts":' % (name, name) for name in names)
    ids = [(pid, tid, tid, tid) for pid, tid in zip(tracks.pid.tolist(), tracks.tid.tolist(), strict=True)]
    tails = chunk_array(b',"pid":%d,"tid":%d,"id2":{"local":"%d"},"args":{"tid":%d}},\n' % row for row in ids)
    for part in row_slices(len(rows), _ROWS_PER_WRITE):
        batch = rows[part]
        yield interleaved(heads[samples.event[batch]], time_chunks(ticks[part]), tails[sample_tracks[batch]])
