"""V8's sampling profiles inside a Chrome trace: one tree of nodes and two arrays of numbers per thread.

Source of truth: Chromium's ``Profile`` and ``ProfileChunk`` trace events, as Perfetto, Speedscope, Chrome's DevTools
and Firefox Profiler read them. Ten times smaller than slices: a sample is one number however deep its stack is.
Speedscope takes a file for this kind only if its first event has a ``cat``.
"""

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from perf2x.base.columnar.arrays import I64, AnyArray, arange, cumsum, flatnonzero, repeat, searchsorted, sum_of
from perf2x.emitters.chrome.chrome_drawing import Drawing
from perf2x.emitters.encoding.decimal_text import chunk_array, interleaved
from perf2x.emitters.encoding.json_encoder import json_numbers
from perf2x.emitters.timeline.shown_samples import ShownSamples
from perf2x.model.profile.frame_tree import closure

_CATEGORY = b'"cat":"disabled-by-default-v8.cpu_profiler"'
_ROOT, _IDLE = 1, 2
_SAMPLES_PER_CHUNK = 1 << 15
_FIXED_NODES = (
    b'{"id":1,"callFrame":{"functionName":"(root)","scriptId":0}},'
    b'{"id":2,"parent":1,"callFrame":{"functionName":"(idle)","scriptId":0}}'
)


class _Lanes(Struct, frozen=True):
    """Some lanes: rows of lane i are [offsets[i]:offsets[i + 1]]. The ids of its nodes count from _IDLE + 1."""

    track: I64
    node_offsets: I64
    parent: I64
    """Id of each node's caller."""
    key: I64
    """Name of each node."""
    sample_offsets: I64
    time: I64
    node: I64
    """Id of the node that began then."""
    delta: I64
    """Time since the lane's sample before."""


class _NodeTexts(Struct, frozen=True):
    """The pieces that nodes are put together from, by number: all of them are needed many times."""

    own: AnyArray
    parent: AnyArray
    call_frame: AnyArray

    def of(self, lanes: _Lanes, number: int) -> bytes:
        """The tree of a lane, callers first, each with a comma in front."""
        rows = slice(*lanes.node_offsets[number : number + 2].tolist())
        own = self.own[_IDLE + 1 : _IDLE + 1 + rows.stop - rows.start]
        return interleaved(own, self.parent[lanes.parent[rows]], self.call_frame[lanes.key[rows]])


def cpu_profile_events(drawing: Drawing, first_id: int) -> Iterator[bytes]:
    """The events of every lane; ``first_id`` numbers the profiles, which are one per lane."""
    call_frames = chunk_array(b',"callFrame":{"functionName":%b,"scriptId":0}}' % name for name in drawing.labels.name)
    for shown, node in drawing.parts():
        lanes = _lanes_of_tracks(drawing, shown, node)
        ids = range(_IDLE + 1 + int(np.diff(lanes.node_offsets).max(initial=0)))
        own = chunk_array(b',{"id":%d,"parent":' % number for number in ids)
        texts = _NodeTexts(own, chunk_array(b"%d" % number for number in ids), call_frames)
        for number, track in enumerate(lanes.track.tolist()):
            numbers = (first_id + track, int(drawing.tracks.pid[track]), int(drawing.tracks.tid[track]))
            yield from _lane_events(lanes, number, numbers, texts)


def _lane_events(lanes: _Lanes, number: int, numbers: tuple[int, int, int], texts: _NodeTexts) -> Iterator[bytes]:
    """``Profile`` with the start, then ``ProfileChunk`` events: all nodes in the first, samples in each."""
    first, end = lanes.sample_offsets[number : number + 2].tolist()
    head = b'"ph":"P","id":"0x%x","pid":%d,"tid":%d,' % numbers + _CATEGORY
    begin = int(lanes.time[first])
    yield b'{"name":"Profile",%b,"ts":%d,"args":{"data":{"startTime":%d}}},\n' % (head, begin, begin)
    nodes = b'"nodes":[%b%b],' % (_FIXED_NODES, texts.of(lanes, number))
    for start in range(first, end, _SAMPLES_PER_CHUNK):
        part = slice(start, min(start + _SAMPLES_PER_CHUNK, end))
        arrays = json_numbers(lanes.node[part]), json_numbers(lanes.delta[part])
        data = b'"cpuProfile":{%b"samples":[%b]},"timeDeltas":[%b]' % (nodes if start == first else b"", *arrays)
        yield b'{"name":"ProfileChunk",%b,"ts":%d,"args":{"data":{%b}}},\n' % (head, lanes.time[part.stop - 1], data)


def _lanes_of_tracks(drawing: Drawing, shown: ShownSamples, node: I64) -> _Lanes:
    """Return the nodes and samples of whole lanes; ``node`` is the tree row of each shown sample."""
    tree, stride = drawing.tree, len(drawing.tree)
    first = flatnonzero(np.diff(shown.track, prepend=-1))
    count = np.diff(np.append(first, len(shown)))
    lane = repeat(arange(len(first)), count)
    used = np.sort(np.concatenate(closure(tree.parent, tree.depth, lane, node)[drawing.outermost :] or [first[:0]]))
    row = used % stride
    begins = searchsorted(used, arange(len(first) + 1) * stride)
    id_of_first = _IDLE + 1 - begins
    above = tree.parent[row]
    held = flatnonzero((above >= 0) & (tree.depth[above] >= drawing.outermost))
    parent = np.full(len(used), _ROOT, np.int64)
    parent[held] = searchsorted(used, used[held] - row[held] + above[held]) + id_of_first[used[held] // stride]
    ids_shown = searchsorted(used, lane * stride + node) + id_of_first[lane]
    ids_shown[tree.depth[node] < drawing.outermost] = _ROOT
    gap = ~shown.joined
    at = arange(len(lane)) + cumsum(gap) - gap  # idleness begins behind each sample that none follows at once
    total = len(lane) + sum_of(gap)
    time, ids = np.empty(total, np.int64), np.full(total, _IDLE, np.int64)
    time[at], ids[at] = shown.start, ids_shown
    time[at[gap] + 1] = shown.end[gap]
    delta = np.diff(time, prepend=0)
    delta[at[first]] = 0
    offsets = np.append(at[first], total)
    return _Lanes(shown.track[first], begins, parent, drawing.key[row], offsets, time, ids, delta)
