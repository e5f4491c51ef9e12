"""Counter tracks of Firefox Profiler's format: what each process counted of the other events."""

from collections.abc import Iterator

from perf2x.columnar.arrays import I64
from perf2x.columnar.unique import rows_by
from perf2x.emit.firefox.categories import is_tracepoint
from perf2x.tables.output_text import one_line
from perf2x.tables.profile import Profile

_COLOURS = ("blue", "green", "magenta", "orange", "purple", "red", "teal", "yellow")


def counters_of(
    profile: Profile, rows: I64, time: I64, process: I64, main: dict[int, int]
) -> Iterator[dict[str, object]]:
    """Yield a counter for each event and process among these samples, tracepoints left out.

    ``time``, ``process`` (samples,) are nanoseconds and pids, ``main`` is the number of each process's first thread.
    """
    samples = profile.samples
    for kind, of_kind in rows_by(samples.event[rows]):
        event = profile.events[kind]
        if event.is_wait or is_tracepoint(event):
            continue
        for pid, among in rows_by(process[rows[of_kind]]):
            held = rows[of_kind[among]]
            counts = samples.value[held].tolist()
            table = {"length": len(held), "time": (time[held] / 1e6).tolist(), "count": counts}
            yield _counter(one_line(event.name), event.unit, kind, pid, main[pid]) | {"samples": table}


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
