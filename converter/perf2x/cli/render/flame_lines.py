"""A flame graph as lines of text: callers above, each box as wide as its share of the cost."""

from collections.abc import Iterator

import numpy as np
from msgspec.structs import replace

from perf2x.base.abi import CpuMode
from perf2x.base.columnar import flatnonzero, sum_of
from perf2x.cli.render.fit_text import cell_width, shorten
from perf2x.cli.render.screen import WITHOUT_TERMINAL, Screen
from perf2x.emitters.flame.svg_tree import boxes_of
from perf2x.model.number_format import format_percent, plural
from perf2x.model.printable_text import plain, short
from perf2x.model.profile import LocationFrames, Profile, location_frames
from perf2x.model.totals.totals import weights
from perf2x.tools.tables.top_rows import TopTable

# Maximum number of boxes.
_MOST = 100_000
# Two alternating shades per kind, so that neighbours differ; as in the SVG.
_USER, _KERNEL, _NAMELESS = ("#efb887", "#f3c79c"), ("#9bbdec", "#aecbf1"), ("#cfcac2", "#dbd7d0")


def graph_lines(profile: Profile, table: TopTable, value: str, limit: int, screen: Screen) -> Iterator[str]:
    """Yield a flame graph of the table's event, as wide as the screen; it has the first ``limit`` levels (0: all)."""
    yield from screen.sentence(f"{short(table.whole.event)}: {table.size}", "bold")
    weighed = replace(profile, samples=replace(profile.samples, value=weights(profile, value)))
    frames, cells = location_frames(weighed), screen.room or WITHOUT_TERMINAL
    boxes = boxes_of(weighed, frames, profile.default_event, 0.5 / cells, _MOST)
    ends = np.rint(np.stack([boxes.start, boxes.start + boxes.total]) * (cells / max(sum_of(boxes.total[:1]), 1)))
    deepest = int(boxes.depth[ends[0] < ends[1]].max(initial=0))
    for depth in range(1, min(limit or deepest, deepest) + 1):
        line, at = "", 0
        seen = flatnonzero((boxes.depth == depth) & (ends[0] < ends[1]))
        for number, row in enumerate(seen.tolist()):
            (left, right), frame = ends[:, row].astype(int).tolist(), int(boxes.frame[row])
            label = _label(
                plain(frames.name[frame]), format_percent(int(boxes.total[row]), table.whole.whole), right - left
            )
            edge = "|" if screen.colors is None else " "
            style = f"#22211f on {_look(frames, frame)[number % 2]}"
            line, at = line + " " * (left - at) + screen.paint(edge + label, style), right
        yield line.rstrip()
    if 0 < limit < deepest:
        yield f"… {plural(deepest - limit, 'deeper level')}; --limit 0 shows all"


def _label(name: str, share: str, room: int) -> str:
    """Return the label of a box with this many cells after its edge: the name, and the share if it fits."""
    both = f"{name} {share}"
    text = both if cell_width(both) < room else shorten(name, room - 1)
    return text + " " * (room - 1 - cell_width(text))


def _look(frames: LocationFrames, frame: int) -> tuple[str, str]:
    if frames.function[frame] < 0:
        return _NAMELESS
    return _KERNEL if frames.mode[frame] == int(CpuMode.KERNEL) else _USER
