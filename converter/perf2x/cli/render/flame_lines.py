"""A flame graph as lines of text: callers above, a box as wide as its share of the cost."""

from collections.abc import Iterator

import numpy as np

from perf2x.base.abi.uapi import CpuMode
from perf2x.cli.render.fit_text import cell_width, shorten
from perf2x.cli.render.screen import Screen
from perf2x.emitters.flame.svg_tree import boxes_of
from perf2x.model.number_format import format_percent
from perf2x.model.profile.profile import Profile
from perf2x.model.profile.shown_frames import LocationFrames, location_frames
from perf2x.model.terminal_text import plain

_MOST = 100_000
"""Boxes that are drawn."""
_KERNEL, _USER, _NAMELESS = ("#f4a582", "#f7c3ac"), ("#fdd886", "#fee8b8"), ("#c8c8c8", "#dcdcdc")
"""Two shades of each kind, by turns, so that neighbours differ."""


class FlameGraph:
    """Levels of boxes of one event, outermost functions first, for one width."""

    def __init__(self, profile: Profile, event: int, screen: Screen) -> None:
        self._screen = screen
        self._cells = screen.room or 1
        self._frames = location_frames(profile)
        self._boxes = boxes_of(profile, self._frames, event, 0.5 / self._cells, _MOST)
        self.depth = int(self._boxes.depth.max(initial=0))
        """Levels whose boxes are wide enough to be seen."""

    def lines(self, levels: int) -> Iterator[str]:
        """The first levels, all of them for 0."""
        for depth in range(1, min(levels or self.depth, self.depth) + 1):
            yield self._level(np.flatnonzero(self._boxes.depth == depth).tolist())

    def _level(self, rows: list[int]) -> str:
        boxes, parts, at = self._boxes, [], 0
        whole = int(boxes.total[0])
        for number, row in enumerate(rows):
            left = round(int(boxes.start[row]) * self._cells / whole)
            right = round(int(boxes.start[row] + boxes.total[row]) * self._cells / whole)
            if right > left:
                frame = int(boxes.frame[row])
                label = _label(
                    plain(self._frames.name[frame]), format_percent(int(boxes.total[row]), whole), right - left
                )
                style = f"black on {_look(self._frames, frame)[number % 2]}"
                parts += [" " * (left - at), self._screen.paint(label, style)]
                at = right
        return "".join(parts).rstrip()


def _label(name: str, share: str, room: int) -> str:
    """The text of a box of so many cells: its edge, the name, and the share where that fits, too."""
    both = f"{name} {share}"
    text = both if cell_width(both) < room else shorten(name, room - 1)
    return f"│{text}" + " " * (room - 1 - cell_width(text))


def _look(frames: LocationFrames, frame: int) -> tuple[str, str]:
    if frames.function[frame] < 0:
        return _NAMELESS
    return _KERNEL if frames.mode[frame] == int(CpuMode.KERNEL) else _USER
