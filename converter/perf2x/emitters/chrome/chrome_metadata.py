"""Metadata events of a Chrome trace: names and order of processes and threads, facts about the recording.

Each has ``ts`` although the format does not ask for it: older importers refuse a file with an event that lacks it.
"""

from collections.abc import Iterator

from perf2x.base.columnar.arrays import I64, lexsort, sum_at
from perf2x.base.columnar.unique import group_rows
from perf2x.emitters.encoding.json_encoder import json_bytes
from perf2x.emitters.timeline.tracks import CPUS_ID, Tracks
from perf2x.model.printable_text import base_name, printable
from perf2x.model.profile.profile import Profile


def track_names(profile: Profile, tracks: Tracks, weight: I64, place: int) -> Iterator[bytes]:
    """Yield name and place of processes and threads: the busiest process first, CPUs by number; leaders before others.

    The first process has this ``place``.
    """
    first, process = group_rows([tracks.pid])
    pids = tracks.pid[first]
    busy = sum_at(process, weight, len(pids))
    busy[pids >= CPUS_ID] = 0
    for at, row in enumerate(lexsort((pids, -busy)).tolist(), place):
        lane = int(first[row])
        ids = (int(pids[row]), int(tracks.tid[lane]))
        yield _metadata("process_name", ids, {"name": _process_name(profile, tracks, lane)})
        yield _metadata("process_sort_index", ids, {"sort_index": at})
    for lane in range(len(tracks)):
        ids = (int(tracks.pid[lane]), int(tracks.tid[lane]))
        yield _metadata("thread_name", ids, {"name": _track_name(profile, tracks, lane)})
        if ids[0] == ids[1]:
            yield _metadata("thread_sort_index", ids, {"sort_index": -1})


def _track_name(profile: Profile, tracks: Tracks, lane: int) -> str:
    """Return a lane's name: the thread's comm, ``swapper/3`` for an idle one, ``CPU 3`` for a processor's."""
    cpu = int(tracks.cpu[lane])
    if cpu >= 0:
        return f"CPU {cpu}" if tracks.pid[lane] >= CPUS_ID else f"swapper/{cpu}"
    return printable(profile.strings[profile.threads.comm[tracks.thread[lane]]])


def _process_name(profile: Profile, tracks: Tracks, lane: int) -> str:
    pid = int(tracks.pid[lane])
    if pid >= CPUS_ID:
        return _track_name(profile, tracks, lane)
    if pid == 0:
        return "idle"
    return printable(profile.strings[profile.threads.process[tracks.thread[lane]]])


def _metadata(name: str, ids: tuple[int, int], args: dict[str, object]) -> bytes:
    return json_bytes({"ph": "M", "name": name, "ts": 0, "pid": ids[0], "tid": ids[1], "args": args}) + b",\n"


def recording_facts(profile: Profile, origin: int) -> dict[str, object]:
    """The ``metadata`` member; ``ts`` 0 is ``origin`` on the recording's clock."""
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
