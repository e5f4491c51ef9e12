"""Slices of a Chrome trace: a complete event (``X``) for each box, with the category of its frame.

A wait of the thread has the category "off-cpu" and a colour of its own, of those that the format knows by name
(``cname``).
"""

from collections.abc import Generator

import numpy as np

from perf2x.base.columnar.arrays import I64, AnyArray, begins_run, cumsum, repeat, row_slices, take
from perf2x.base.columnar.unique import unique_inverse
from perf2x.emitters.chrome.box_labels import OFF_CPU, BoxLabels
from perf2x.emitters.chrome.chrome_drawing import Drawing
from perf2x.emitters.chrome.trace_times import ids_of, time_chunks
from perf2x.emitters.encoding.decimal_text import chunk_array
from perf2x.model.profile.profile import Wait
from perf2x.model.profile.stack_tree import paths_of_length

_SLICES_PER_WRITE = 1 << 13
_COLOURS = {
    Wait.BLOCKED: b"thread_state_sleeping",
    Wait.PREEMPTED: b"thread_state_runnable",
    Wait.UNTOLD: b"grey",
    Wait.UNPLACED: b"grey",
}


def slice_events(drawing: Drawing, shortest: int) -> Generator[bytes, None, int]:
    """Yield complete events, parents before children, none below so many microseconds; return their number.

    Each is put together from three texts: up to its start, the start, and all behind that, which many share.
    """
    count = 0
    heads, head = _heads(drawing)
    ids = ids_of(drawing.tracks.pid, drawing.tracks.tid)
    for shown, piles, duration in drawing.piles(shortest):
        is_new = begins_run(piles.first)
        starts, start = time_chunks(shown.start[piles.first[is_new]]), cumsum(is_new) - 1
        tails, tail = _tails(shown.track[piles.first], duration, ids)
        boxes = paths_of_length(drawing.tree.parent, piles.node, piles.count, outermost_first=True)
        texts, text = np.concatenate([heads, starts, tails]), np.empty((len(boxes.values), 3), np.int64)
        text[:, 0] = head[boxes.values]
        text[:, 1] = repeat(start + len(heads), piles.count)
        text[:, 2] = repeat(tail + (len(heads) + len(starts)), piles.count)
        for rows in row_slices(len(text), _SLICES_PER_WRITE):
            yield b"".join(take(texts, text[rows].reshape(-1)).tolist())
        count += len(text)
    return count


def _tails(track: AnyArray, duration: I64, ids: AnyArray) -> tuple[AnyArray, I64]:
    """Return the distinct texts behind a start, and (piles,) which of them each pile has."""
    length, of_length = unique_inverse(duration)
    tracks, of_track = unique_inverse(track)
    pair, tail = unique_inverse(of_track * len(length) + of_length)
    lengths, endings = time_chunks(length).tolist(), ids[tracks].tolist()
    pairs = zip((pair // len(length)).tolist(), (pair % len(length)).tolist(), strict=True)
    return chunk_array(b',"dur":%b%b' % (lengths[length], endings[track]) for track, length in pairs), tail


def _heads(drawing: Drawing) -> tuple[AnyArray, I64]:
    """Return the distinct texts in front of a start, and (tree rows,) which of them each row of the tree has."""
    stride = max(Wait) + 1
    distinct, head = unique_inverse(drawing.key * stride + drawing.kind)
    pairs = zip((distinct // stride).tolist(), (distinct % stride).tolist(), strict=True)
    return chunk_array(_head(drawing.labels, label, kind) for label, kind in pairs), head


def _head(labels: BoxLabels, label: int, kind: int) -> bytes:
    category = OFF_CPU if kind in _COLOURS else labels.category[label]
    text = b'{"ph":"X","name":%b' % labels.name[label]
    if category:
        text += b',"cat":"%b"' % category.encode()
    if kind in _COLOURS:
        text += b',"cname":"%b"' % _COLOURS[Wait(kind)]
    if labels.arguments[label]:
        text += b',"args":%b' % labels.arguments[label]
    return text + b',"ts":'
