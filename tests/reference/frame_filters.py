"""Filters of frames on one stack at a time: the second opinion on perf2x.model.filters.frame_filters."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from perf2x.model.filters.filter_options import Filters
from perf2x.model.printable_text import base_name
from perf2x.model.profile.profile import Profile
from perf2x.model.profile.shown_frames import frame_name


class Frame(NamedTuple):
    """A function, or a place without one; what a frame is called after it was collapsed has no source file."""

    name: str
    path: str
    file: str


Stack = tuple[Frame, ...]
"""Outermost first."""


def stacks_of(profile: Profile) -> list[tuple[Stack, int]]:
    """Every row of samples as frames, and its value."""
    rows = []
    for stack, value in zip(profile.samples.stack.tolist(), profile.samples.value.tolist(), strict=True):
        frames: list[Frame] = []
        row = stack
        while row >= 0:
            frames += _frames(profile, int(profile.stacks.location[row]))
            row = int(profile.stacks.parent[row])
        rows.append((tuple(frames[::-1]), value))
    return rows


def _frames(profile: Profile, location: int) -> list[Frame]:
    """Innermost first."""
    strings, table = profile.strings, profile.locations
    mapping = int(table.mapping[location])
    path = strings[profile.mappings.filename[mapping]] if mapping >= 0 else ""
    lines = slice(table.line_offsets[location], table.line_offsets[location + 1])
    functions = table.line_function[lines].tolist() or [-1]
    file = [strings[profile.functions.filename[row]] if row >= 0 else "" for row in functions]
    return [Frame(frame_name(profile, row, mapping), path, text) for row, text in zip(functions, file, strict=True)]


def summed(stacks: Iterable[tuple[Stack, int]]) -> Counter[tuple[str, ...]]:
    """Values of stacks that show the same names."""
    found: Counter[tuple[str, ...]] = Counter()
    for stack, value in stacks:
        found[tuple(frame.name for frame in stack)] += value
    return found


def filtered(stacks: Iterable[tuple[Stack, int]], filters: Filters) -> list[tuple[Stack, int]]:
    """Return the stacks that the filters leave."""
    changed = [(_changed(stack, filters), value) for stack, value in stacks]
    return [(stack, value) for stack, value in changed if stack is not None]


def _match(frame: Frame, texts: Sequence[str]) -> str | None:
    """Return the name that the first matching expression matched."""
    for text in texts:
        path = [one for one in (base_name(frame.path), frame.path) if one and re.search(text, one)]
        if path:
            return base_name(frame.path)
        for one in (frame.name, frame.file):
            found = re.search(text, one) if one else None
            if found:
                return found.group() or frame.name
    return None


def _changed(stack: Stack, filters: Filters) -> Stack | None:
    """None: it is left out."""
    if any(_match(frame, filters.ignore) is not None for frame in stack):
        return None
    if filters.focus and all(_match(frame, filters.focus) is None for frame in stack):
        return None
    hits = [at for at, frame in enumerate(stack) if _match(frame, filters.skip_after) is not None]
    stack = stack[hits[-1] :] if hits else stack
    for texts, wanted in ((filters.hide, True), (filters.keep, False)):
        if texts:
            left = tuple(frame for frame in stack if (_match(frame, texts) is None) == wanted)
            if stack and not left:
                return None
            stack = left
    return tuple(_renamed(frame, filters.rename) for frame in _collapsed(stack, filters.collapse))


def _collapsed(stack: Stack, texts: Sequence[str]) -> Stack:
    made: list[Frame] = []
    last = None
    for frame in stack:
        found = _match(frame, texts)
        if found is None:
            made.append(frame)
        elif found != last:
            made.append(Frame(found if found.startswith("[") else f"[{found}]", frame.path, ""))
        last = found
    return tuple(made)


def _renamed(frame: Frame, texts: Sequence[str]) -> Frame:
    name = frame.name
    for text in texts:
        pattern, _, new = text.rpartition("=")
        name = re.sub(pattern, new, name)
    return frame._replace(name=name)
