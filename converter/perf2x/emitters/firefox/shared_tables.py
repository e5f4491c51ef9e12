"""``shared`` of Firefox Profiler's format: stacks, frames, functions, files and texts of all threads.

Shared since version 60. From tables of each thread the viewer makes shared ones itself, and leaves stacks that several
threads have in there several times.

Categories of Firefox Profiler's format: what a frame or a marker is, by name and colour.
"""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from perf2x.base.abi.uapi import CpuMode
from perf2x.base.columnar.arrays import I64, arange, flatnonzero
from perf2x.base.columnar.unique import group_rows, unique_inverse
from perf2x.emitters.firefox.libraries import Libraries
from perf2x.model.printable_text import one_line
from perf2x.model.profile.frame_tree import FrameRows, expand, folded
from perf2x.model.profile.profile import Profile, ProfileEvent, Wait
from perf2x.model.profile.shown_frames import LocationFrames, are_jit
from perf2x.model.recording.recorded_names import event_name, is_tracepoint

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


def _frame_categories(profile: Profile, frames: LocationFrames) -> I64:
    """(frames,) the category of each frame, by the mode that its CPU was in: known of frames without names, too."""
    of_mode = np.zeros(256, np.int64)
    of_mode[[int(mode) for mode in _OF_MODE]] = list(_OF_MODE.values())
    return np.where(are_jit(profile, frames), JIT, of_mode[frames.mode])


def _wait_subcategories(wait: I64) -> I64:
    """Return the subcategory of Off-CPU for each kind of wait."""
    return np.select([wait == Wait.BLOCKED, wait == Wait.PREEMPTED], [1, 2], 0)


_KINDS = 8
"""More than there are kinds of waits."""


class TextTable:
    """``stringArray``: each text once, in the order in which they were met."""

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}

    def row(self, text: str) -> int:
        """Row of a text."""
        return self._rows.setdefault(text, len(self._rows))

    def texts(self) -> list[str]:
        """All texts that were asked for."""
        return list(self._rows)


class SharedStacks(Struct, frozen=True):
    """Rows of stackTable; a stack that threads waited in has a row, and a frame, of its own besides."""

    parent: I64
    frame: I64
    origin: I64
    """(frames,) Row in LocationFrames of each row of frameTable."""
    wait: I64
    """(frames,) The kind of wait of a frame that waits, else 0."""
    of_sample: I64
    """(samples,) The stack of each row in Profile.samples, −1 for none."""


def shared_stacks(profile: Profile, frames: LocationFrames) -> SharedStacks:
    """Return all stacks, equal ones once; frames that waits ended in are told apart, for their category."""
    rows = folded(expand(profile.stacks, frames.of_location), arange(len(frames)))
    leaf = rows.innermost(profile.samples.stack.astype(np.int64))
    every = arange(len(frames))
    none = SharedStacks(rows.parent, rows.frame, every, np.zeros(len(every), np.int64), leaf)
    return none if profile.samples.wait is None else _with_waits(none, rows, profile.samples.wait.astype(np.int64))


def _with_waits(stacks: SharedStacks, rows: FrameRows, wait: I64) -> SharedStacks:
    held = flatnonzero((wait > 0) & (stacks.of_sample >= 0))
    pairs, place = unique_inverse(stacks.of_sample[held] * _KINDS + wait[held])
    leaf = pairs // _KINDS
    kinds, frame = unique_inverse(rows.frame[leaf] * _KINDS + pairs % _KINDS)
    of_sample = stacks.of_sample.copy()
    of_sample[held] = len(rows.parent) + place
    return SharedStacks(
        np.append(rows.parent, rows.parent[leaf]),
        np.append(rows.frame, len(stacks.origin) + frame),
        np.append(stacks.origin, kinds // _KINDS),
        np.append(stacks.wait, kinds % _KINDS),
        of_sample,
    )


def shared_tables(
    profile: Profile, frames: LocationFrames, stacks: SharedStacks, libraries: Libraries, texts: TextTable
) -> dict[str, object]:
    """Return all members of ``shared`` but stringArray."""
    resource, resources = _resources(frames, libraries, texts)
    names = np.array([texts.row(one_line(name)) for name in frames.name], np.int64)
    first, func = group_rows([names, resource, frames.function])
    source, sources = _sources(profile, texts)
    return {
        "stackTable": {
            "length": len(stacks.parent),
            "prefix": _with_nulls(stacks.parent),
            "frame": stacks.frame.tolist(),
        },
        "frameTable": _frame_table(stacks, frames, func[stacks.origin], _frame_categories(profile, frames)),
        "funcTable": _func_table(names[first], resource[first], frames.function[first], source, profile),
        "resourceTable": resources,
        "nativeSymbols": {"length": 0, "libIndex": [], "address": [], "name": [], "functionSize": []},
        "sources": sources,
        "sourceLocationTable": {"length": 0, "source": [], "line": [], "column": []},
    }


def _frame_table(stacks: SharedStacks, frames: LocationFrames, func: I64, category: I64) -> dict[str, object]:
    count = len(stacks.origin)
    none = [None] * count
    return {
        "length": count,
        "address": [-1] * count,
        "inlineDepth": frames.inlined[stacks.origin].astype(np.int64).tolist(),
        "category": np.where(stacks.wait > 0, OFF_CPU, category[stacks.origin]).tolist(),
        "subcategory": _wait_subcategories(stacks.wait).tolist(),
        "func": func.tolist(),
        "nativeSymbol": none,
        "innerWindowID": none,
        "line": none,
        "column": none,
        "originalLocation": none,
    }


def _func_table(name: I64, resource: I64, function: I64, source: I64, profile: Profile) -> dict[str, object]:
    count = len(name)
    none, no = [None] * count, [False] * count
    line = np.append(profile.functions.start_line, 0)[function]  # the last one serves function −1
    return {
        "length": count,
        "name": name.tolist(),
        "isJS": no,
        "relevantForJS": no,
        "resource": resource.tolist(),
        "source": _with_nulls(np.append(source, -1)[function]),
        "lineNumber": _with_nulls(np.where(line > 0, line, -1)),
        "columnNumber": none,
        "originalLocation": none,
    }


def _resources(frames: LocationFrames, libraries: Libraries, texts: TextTable) -> tuple[I64, dict[str, object]]:
    """(frames,) the resource of each frame, −1 for none; and resourceTable: mapped objects, with their file if any."""
    names = np.array([texts.row(one_line(name)) if name else -1 for name in frames.object], np.int64)
    library = np.append(libraries.of_mapping, -1)[frames.mapping]
    held = flatnonzero(names >= 0)
    first, place = group_rows([names[held], library[held]])
    resource = np.full(len(frames), -1, np.int64)
    resource[held] = place
    count = len(first)
    return resource, {
        "length": count,
        "lib": _with_nulls(library[held][first]),
        "name": names[held][first].tolist(),
        "host": [None] * count,
        "type": [1] * count,
    }


def _sources(profile: Profile, texts: TextTable) -> tuple[I64, dict[str, object]]:
    """(functions,) the source file of each function, −1 for none; and ``sources``."""
    files, place = unique_inverse(profile.functions.filename.astype(np.int64))
    named = [(at, one_line(profile.strings[row])) for at, row in enumerate(files.tolist()) if profile.strings[row]]
    row_of = np.full(len(files), -1, np.int64)
    row_of[[at for at, _ in named]] = arange(len(named))
    count = len(named)
    none, one = [None] * count, [1] * count
    return row_of[place], {
        "length": count,
        "id": none,
        "filename": [texts.row(name) for _, name in named],
        "startLine": one,
        "startColumn": one,
        "sourceMapURL": none,
        "content": none,
    }


def _with_nulls(values: I64) -> list[int | None]:
    """Row numbers as JSON has them: null for −1."""
    return [None if value < 0 else value for value in values.tolist()]
