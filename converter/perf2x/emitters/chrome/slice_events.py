"""Slices of a Chrome trace: a complete event (``X``) for each box, with the category of its frame.

A wait of the thread has the category "off-cpu" and a colour of its own, of those that the format knows by name
(``cname``).
"""

from collections.abc import Generator

import numpy as np

from perf2x.base.columnar.arrays import I64, AnyArray, row_slices
from perf2x.base.columnar.unique import unique_inverse
from perf2x.emitters.chrome.box_labels import OFF_CPU, Labels
from perf2x.emitters.chrome.chrome_drawing import Drawing
from perf2x.emitters.chrome.trace_times import ids_of, time_chunks
from perf2x.emitters.encoding.decimal_text import chunk_array, interleaved
from perf2x.model.profile.profile import Wait

_SLICES_PER_WRITE = 1 << 12
_COLOURS = {
    Wait.BLOCKED: b"thread_state_sleeping",
    Wait.PREEMPTED: b"thread_state_runnable",
    Wait.UNTOLD: b"grey",
    Wait.UNPLACED: b"grey",
}


def slice_events(drawing: Drawing, shortest: int) -> Generator[memoryview, None, int]:
    """Yield complete events, parents before children, none below so many microseconds; return their number."""
    count = 0
    heads, head = _heads(drawing)
    tails = ids_of(drawing.tracks.pid, drawing.tracks.tid)
    for shown, slices in drawing.slices(shortest):
        whole, part = time_chunks(shown.start, b',"dur":')
        distinct, place = unique_inverse(slices.duration - slices.is_early)
        lengths = _joined(*time_chunks(distinct))
        for rows in row_slices(len(slices), _SLICES_PER_WRITE):
            row = slices.row[rows]
            first = heads[head[slices.node[rows]]]
            columns = first, whole[row], part[row], lengths[place[rows]], tails[shown.track[row]]
            yield memoryview(interleaved(*columns))[:-2]
        count += len(slices)
    return count


def _heads(drawing: Drawing) -> tuple[AnyArray, I64]:
    """Return the distinct texts in front of a start, and (tree rows,) which of them each row of the tree has."""
    stride = max(Wait) + 1
    distinct, head = unique_inverse(drawing.key * stride + drawing.kind)
    pairs = zip((distinct // stride).tolist(), (distinct % stride).tolist(), strict=True)
    return chunk_array(_head(drawing.labels, label, kind) for label, kind in pairs), head


def _head(labels: Labels, label: int, kind: int) -> bytes:
    category = OFF_CPU if kind in _COLOURS else labels.category[label]
    text = b'{"ph":"X","name":%b' % labels.name[label]
    if category:
        text += b',"cat":"%b"' % category.encode()
    if kind in _COLOURS:
        text += b',"cname":"%b"' % _COLOURS[Wait(kind)]
    if labels.arguments[label]:
        text += b',"args":%b' % labels.arguments[label]
    return text + b',"ts":'


def _joined(whole: AnyArray, part: AnyArray) -> AnyArray:
    """Join two columns of chunks row by row."""
    joined = np.empty(len(whole), np.object_)
    joined[:] = [one + other for one, other in zip(whole.tolist(), part.tolist(), strict=True)]
    return joined
