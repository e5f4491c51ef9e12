"""``meta`` of Firefox Profiler's format: facts about the recording, and how its numbers are to be read."""

from perf2x.emitters.flame.picture_title import heading
from perf2x.model.printable_text import one_line
from perf2x.model.profile.profile import Profile, ProfileEvent

VERSION = 65
"""Of the processed format: tables are shared (60), counters say how they look (63); the viewer upgrades to its own.

Perfetto (56 and later) reads stacks of 60 to 65; 66 writes callers in another way.
"""


def meta_object(
    profile: Profile,
    event: ProfileEvent | None,
    categories: list[dict[str, object]],
    schemas: list[dict[str, object]],
) -> dict[str, object]:
    """Return ``meta``; ``event`` makes the samples."""
    meta = profile.meta
    return {
        "version": 33,
        "preprocessedProfileVersion": VERSION,
        "product": heading(profile),
        "importedFrom": "perf2x",
        "interval": _interval(event),
        "startTime": meta.wall_start_ns / 1_000_000,
        "processType": 0,
        "debug": False,
        "stackwalk": 1,
        "symbolicated": True,
        "oscpu": " ".join(text for text in ("Linux", one_line(meta.os_release), one_line(meta.arch)) if text),
        "categories": categories,
        "extensions": {"length": 0, "baseURL": [], "id": [], "name": []},
        "pausedRanges": [],
        "markerSchema": schemas,
        "sampleUnits": {"time": "ms", "eventDelay": "ms", "threadCPUDelta": "ns"},
        "usesOnlyOneStackType": True,
        "sourceCodeIsNotOnSearchfox": True,
    }


def _interval(event: ProfileEvent | None) -> float:
    """Milliseconds between two samples of a busy thread, as far as the recording tells."""
    if event is not None and event.frequency:
        return 1000 / event.frequency
    if event is not None and event.period and event.unit == "nanoseconds":
        return event.period / 1e6
    return 1.0
