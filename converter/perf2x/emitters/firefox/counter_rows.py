"""Counter tracks of Firefox Profiler's format: the other events of each process, and threads that ran at once."""

from collections.abc import Iterator

import numpy as np

from perf2x.base.columnar.arrays import I64
from perf2x.base.columnar.unique import rows_by
from perf2x.emitters.firefox.lanes import Timeline
from perf2x.emitters.timeline.running_counter import TITLE, Steps
from perf2x.model.printable_text import one_line
from perf2x.model.profile.profile import Profile
from perf2x.model.recording.event_names import is_tracepoint

_COLOURS = ("blue", "green", "magenta", "orange", "purple", "red", "teal", "yellow")


def counters_of(profile: Profile, rows: I64, timeline: Timeline, main: dict[int, int]) -> Iterator[dict[str, object]]:
    """Yield a counter for each event and process among these samples, tracepoints left out.

    ``main`` is the number of each process's first thread.
    """
    samples, process = profile.samples, timeline.tracks.pid[timeline.track[rows]]
    for kind, of_kind in rows_by(samples.event[rows]):
        event = profile.events[kind]
        if event.is_wait or is_tracepoint(event.name):
            continue
        for pid, among in rows_by(process[of_kind]):
            held = rows[of_kind[among]]
            counts = samples.value[held].tolist()
            table = {"length": len(held), "time": (timeline.times(held) / 1e6).tolist(), "count": counts}
            yield _counter(one_line(event.name), event.unit, kind, pid, main[pid]) | {"samples": table}


def running_counter(steps: Steps, pid: int) -> dict[str, object]:
    """Return the counter of threads that ran at once, of all processes, below the first thread (of ``pid``).

    The viewer draws straight lines between changes: each change has a row of none in front of it.
    """
    changes = np.zeros(2 * len(steps), np.int64)
    changes[1::2] = np.diff(steps.threads, prepend=0)
    counter = _counter(TITLE, "count", 0, pid, 0)
    counter["description"] = f"{TITLE} at once, of the whole recording"
    counter["display"] = {
        "graphType": "line-accumulated",
        "unit": "",
        "color": _COLOURS[0],
        "markerSchemaLocation": None,
        "sortWeight": 10,
        "label": TITLE,
        "tooltipRows": [_tooltip("accumulated", TITLE)],
    }
    time = np.repeat(steps.time, 2) / 1e6
    return counter | {"samples": {"length": len(time), "time": time.tolist(), "count": changes.tolist()}}


def _counter(name: str, unit: str, kind: int, pid: int, thread: int) -> dict[str, object]:
    return {
        "name": name,
        "category": "perf",
        "description": f"{name} of the process" + (f" in {unit}" if unit != "count" else ""),
        "pid": str(pid),
        "mainThreadIndex": thread,
        "display": {
            "graphType": "line-rate",
            "unit": "",
            "color": _COLOURS[kind % len(_COLOURS)],
            "markerSchemaLocation": None,
            "sortWeight": 50,
            "label": name,
            "tooltipRows": [
                _tooltip("count", f"{name} since the sample before"),
                _tooltip("selection-total", f"{name} in the selection") | {"requiresPreviewSelection": True},
            ],
        },
    }


def _tooltip(source: str, label: str) -> dict[str, object]:
    return {"type": "value", "source": source, "format": {"unit": "number"}, "label": label}
