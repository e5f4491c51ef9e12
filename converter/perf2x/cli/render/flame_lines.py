"""A flame graph as lines of text: callers above, each box as wide as its share of the cost."""

from collections.abc import Iterator

import numpy as np
from msgspec.structs import replace

from perf2x.base.abi import CpuMode
from perf2x.base.columnar import flatnonzero, sum_of
from perf2x.cli.render.fit_text import cell_width, shorten
from perf2x.cli.render.screen import WIDTH_WITHOUT_TERMINAL, Screen
from perf2x.emitters.flame.svg_tree import boxes_of
from perf2x.model.number_format import format_percent, plural
from perf2x.model.printable_text import escaped, short
from perf2x.model.profile import LocationFrames, Profile, location_frames
from perf2x.model.totals.totals import weights
from perf2x.tools.tables.top_rows import TopTable

_MAX_BOXES = 100_000
# Shades alternate so that neighbouring boxes differ. The SVG has the first of each pair.
_USER_SHADES, _KERNEL_SHADES, _NAMELESS_SHADES = ("#efb887", "#f3c79c"), ("#9bbdec", "#aecbf1"), ("#cfcac2", "#dbd7d0")


def graph_lines(profile: Profile, table: TopTable, value: str, limit: int, screen: Screen) -> Iterator[str]:
    """Yield a flame graph of the table's event, as wide as the screen, with the first ``limit`` levels (0: all).

    Each level of calls is one line, below that of its callers. Boxes narrower than half a cell are left out.
    """
    yield from screen.sentence(f"{short(table.whole.event)}: {table.summary}", "bold")
    valued = replace(profile, samples=replace(profile.samples, value=weights(profile, value)))
    frames, screen_width = location_frames(valued), screen.room or WIDTH_WITHOUT_TERMINAL
    boxes = boxes_of(valued, frames, profile.default_event, 0.5 / screen_width, _MAX_BOXES)
    # (2, boxes): first cell of each box, and the cell after its last; box 0 is the root
    ends = np.rint(
        np.stack([boxes.start, boxes.start + boxes.total]) * (screen_width / max(sum_of(boxes.total[:1]), 1))
    )
    is_visible = ends[0] < ends[1]
    deepest = int(boxes.depth[is_visible].max(initial=0))
    for depth in range(1, min(limit or deepest, deepest) + 1):
        line, line_width = "", 0  # in cells; escape sequences in the line take none
        for index, row in enumerate(flatnonzero((boxes.depth == depth) & is_visible).tolist()):
            (left, right), frame = ends[:, row].astype(int).tolist(), int(boxes.frame[row])
            label = _label(
                escaped(frames.name[frame]), format_percent(int(boxes.total[row]), table.whole.cost), right - left
            )
            edge = "|" if screen.colors is None else " "
            style = f"#22211f on {_shades(frames, frame)[index % 2]}"
            line, line_width = line + " " * (left - line_width) + screen.paint(edge + label, style), right
        yield line.rstrip()
    if 0 < limit < deepest:
        yield f"… {plural(deepest - limit, 'deeper level')}; --limit 0 shows all"


def _label(name: str, share: str, room: int) -> str:
    with_share = f"{name} {share}"
    text = with_share if cell_width(with_share) < room else shorten(name, room - 1)
    return text + " " * (room - 1 - cell_width(text))


def _shades(frames: LocationFrames, frame: int) -> tuple[str, str]:
    if frames.function[frame] < 0:
        return _NAMELESS_SHADES
    return _KERNEL_SHADES if frames.mode[frame] == int(CpuMode.KERNEL) else _USER_SHADES
