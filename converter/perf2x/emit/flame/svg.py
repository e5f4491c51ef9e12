"""A flame graph as a static picture: for a README, a pull request, a report.

No script and no font file; names show on hover (``<title>``), colours follow the reader's light or dark theme.
"""

from dataclasses import dataclass
from html import escape
from typing import BinaryIO, ClassVar

import numpy as np

from perf2x.abi.uapi import CpuMode
from perf2x.analysis.event_lookup import find_event
from perf2x.analysis.frames import LocationFrames, full_names, location_frames
from perf2x.columnar.arrays import I64
from perf2x.emit.flame.frame_tree import FrameTree, expand, merge_stacks
from perf2x.emit.flame.title import facts, heading
from perf2x.tables.output_text import one_line
from perf2x.tables.plugin_options import check_choices, option
from perf2x.tables.profile import Profile

_LEVEL, _TOP, _SIDE, _LETTER = 17, 46, 10, 6.62
_STYLE = """
text{font:11px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#22211f}
.t{font:600 15px system-ui,sans-serif}.s{font:12px system-ui,sans-serif;fill:#6d6a65}.g{fill:#fbfaf8}
.u{fill:#efb887}.u2{fill:#f3c79c}.k{fill:#9bbdec}.k2{fill:#aecbf1}.x{fill:#cfcac2}.a{fill:#e6e2db}.h{fill:#d9a9dd}
@media(prefers-color-scheme:dark){text{fill:#ece9e4}.s{fill:#9d988f}.g{fill:#171614}.u{fill:#8a5a33}.u2{fill:#97663c}
.k{fill:#385c8c}.k2{fill:#44699a}.x{fill:#4d4a45}.a{fill:#3b3833}.h{fill:#75447a}}
"""


@dataclass(frozen=True, slots=True)
class Svg:
    """Static flame graph in SVG: for a README, a pull request or a report."""

    suffix: ClassVar[str] = ".svg"
    timeline: ClassVar[bool] = False
    full_names: ClassVar[bool] = True

    event: str | None = option(None, "event to draw; default: the recording's first")
    title: str = option("", "heading; default: the recorded command, or the busiest process")
    direction: str = option("flame", "where roots are: at the bottom (flame) or on top (icicle)", ("flame", "icicle"))
    width: int = option(1200, "width in pixels")
    min_width: float = option(0.3, "leave out boxes narrower than this many pixels")

    def __post_init__(self) -> None:
        check_choices(self)

    def emit(self, profile: Profile, out: BinaryIO) -> None:
        """Write the picture box by box, outer frames first."""
        frames = location_frames(profile)
        full = full_names(profile, frames)
        tree, total = _weighed_tree(profile, frames, self.event)
        start = _positions(tree, total, _name_ranks(frames))
        scale = (self.width - 2 * _SIDE) / max(int(total[:1].sum()), 1)
        shown = np.flatnonzero((total * scale >= self.min_width) & (total > 0))
        levels = int(tree.depth[shown].max()) + 1 if len(shown) else 1
        height = _TOP + levels * _LEVEL + 12
        out.write(self._head(profile, height))
        for row in shown.tolist():
            depth = int(tree.depth[row])
            level = depth if self.direction == "icicle" else levels - 1 - depth
            place = (_SIDE + start[row] * scale, _TOP + level * _LEVEL, max(total[row] * scale - 0.5, 0.3))
            share = 100 * (total[row] / total[0])
            name = one_line(frames.name[int(tree.key[row])]) if depth else "all"
            said = (name, one_line(full[int(tree.key[row])]) if depth else "", f"{total[row]:,} ({share:.2f} %)")
            out.write(_box(name, _look(frames, int(tree.key[row])), "\n".join(filter(None, said)), place))
        out.write(b"</svg>\n")

    def _head(self, profile: Profile, height: int) -> bytes:
        event = f"{one_line(profile.events[find_event(profile, self.event)].name)}, " if profile.events else ""
        title = escape(one_line(self.title or heading(profile)), quote=False)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{height}"'
            f' viewBox="0 0 {self.width} {height}" role="img"><title>{title}</title><style>{_STYLE}</style>\n'
            f'<rect class="g" width="100%" height="100%"/><text class="t" x="{_SIDE}" y="20">{title}</text>'
            f'<text class="s" x="{_SIDE}" y="37">{escape(event + ", ".join(facts(profile)), quote=False)}</text>\n'
        ).encode()


def _weighed_tree(profile: Profile, frames: LocationFrames, event: str | None) -> tuple[FrameTree, I64]:
    """Frames merged by name, object and mode, and the weight of every row with all below it."""
    samples = profile.samples
    kind = find_event(profile, event) if profile.events else 0
    rows = np.flatnonzero(samples.event == kind)
    stack = samples.stack[rows].astype(np.int64)
    tree, node = merge_stacks(
        expand(profile.stacks, frames.of_location), np.arange(len(frames)), np.zeros(len(rows), np.int64), stack
    )
    total = np.zeros(len(tree), np.int64)
    np.add.at(total, node, samples.value[rows])
    for level in range(int(tree.depth.max()) if len(tree) else 0, 0, -1):
        below = np.flatnonzero(tree.depth == level)
        np.add.at(total, tree.parent[below], total[below])
    return tree, total


def _name_ranks(frames: LocationFrames) -> I64:
    """Return the rank of each frame's name among all."""
    rank = np.empty(len(frames), np.int64)
    rank[sorted(range(len(frames)), key=frames.name.__getitem__)] = np.arange(len(frames))
    return rank


def _positions(tree: FrameTree, total: I64, rank: I64) -> I64:
    """Return the left edge of each row; children of one parent lie side by side in the order of their names."""
    start = np.zeros(len(tree), np.int64)
    for level in range(1, int(tree.depth.max()) + 1 if len(tree) else 0):
        rows = np.flatnonzero(tree.depth == level)
        rows = rows[np.lexsort((rank[tree.key[rows]], tree.parent[rows]))]
        before = np.cumsum(total[rows]) - total[rows]
        first = np.searchsorted(tree.parent[rows], tree.parent[rows], side="left")
        start[rows] = start[tree.parent[rows]] + before - before[first]
    return start


def _look(frames: LocationFrames, frame: int) -> str:
    """The class of a box: kernel, user, unresolved, hypervisor and guests; inlined frames a shade lighter."""
    if frame < 0:
        return "a"
    if frames.function[frame] < 0:
        return "x"
    lighter = "2" if frames.inlined[frame] else ""
    return {int(CpuMode.KERNEL): "k" + lighter, int(CpuMode.USER): "u" + lighter}.get(int(frames.mode[frame]), "h")


def _box(name: str, look: str, hint: str, place: tuple[float, float, float]) -> bytes:
    x, y, width = place
    letters = int((width - 6) / _LETTER)
    text = name if len(name) <= letters else name[: letters - 1] + "…"
    label = f'<text x="{x + 3:.1f}" y="{y + 12}">{escape(text, quote=False)}</text>' if letters >= 3 else ""
    box = f'<rect class="{look}" x="{x:.1f}" y="{y}" width="{width:.1f}" height="{_LEVEL - 1}" rx="1"/>'
    return f"<g><title>{escape(hint, quote=False)}</title>{box}{label}</g>\n".encode()
