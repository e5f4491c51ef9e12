"""Categories of Firefox Profiler's format: what a frame or a marker is, by name and colour."""

from collections.abc import Sequence

import numpy as np

from perf2x.base.abi.uapi import CpuMode
from perf2x.base.columnar.arrays import I64
from perf2x.model.printable_text import one_line
from perf2x.model.profile.profile import Profile, ProfileEvent
from perf2x.model.profile.shown_frames import LocationFrames, are_jit
from perf2x.model.profile.waits import Wait
from perf2x.model.recording.event_names import event_name, is_tracepoint

OTHER, USER, KERNEL, JIT, GUEST, OFF_CPU, SCHEDULER = range(7)

_FIXED = (
    ("Other", "grey", ("Other",)),
    ("User", "yellow", ("Other",)),
    ("Kernel", "orange", ("Other",)),
    ("JIT", "blue", ("Other",)),
    ("Guest", "purple", ("Other",)),
    ("Off-CPU", "lightblue", ("Other", "Blocked", "Preempted")),
    ("Context switch", "darkgrey", ("Other",)),
)
"""Name, colour, subcategories; the viewer takes the first grey one for what has none, and knows few colours."""

_MARKER_COLOURS = ("green", "magenta", "brown", "red", "lightred")
_OF_MODE = {CpuMode.USER: USER, CpuMode.KERNEL: KERNEL, CpuMode.GUEST_KERNEL: GUEST, CpuMode.GUEST_USER: GUEST}


def category_list(events: Sequence[ProfileEvent]) -> tuple[list[dict[str, object]], I64]:
    """Return ``meta.categories``, and (events,) the category of each event's markers.

    Tracepoints of one subsystem share a category, other events have their own.
    """
    names = [one_line(event_name(event.name).event) for event in events]
    groups = [
        name.split(":")[0] if is_tracepoint(event.name) else name for name, event in zip(names, events, strict=True)
    ]
    own = sorted(set(groups) - {name for name, _, _ in _FIXED})
    colours = [_MARKER_COLOURS[row % len(_MARKER_COLOURS)] for row in range(len(own))]
    entries = (*_FIXED, *((name, colour, ("Other",)) for name, colour in zip(own, colours, strict=True)))
    row = {name: at for at, (name, _, _) in enumerate(entries)}
    listed: list[dict[str, object]] = [
        {"name": name, "color": colour, "subcategories": list(below)} for name, colour, below in entries
    ]
    return listed, np.array([row[group] for group in groups], np.int64)


def frame_categories(profile: Profile, frames: LocationFrames) -> I64:
    """(frames,) the category of each frame, by the mode that its CPU was in: known of frames without names, too."""
    of_mode = np.zeros(256, np.int64)
    of_mode[[int(mode) for mode in _OF_MODE]] = list(_OF_MODE.values())
    return np.where(are_jit(profile, frames), JIT, of_mode[frames.mode])


def wait_subcategories(wait: I64) -> I64:
    """Return the subcategory of Off-CPU for each kind of wait."""
    return np.select([wait == Wait.BLOCKED, wait == Wait.PREEMPTED], [1, 2], 0)
