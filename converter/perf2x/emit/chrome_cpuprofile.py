"""V8's sampling profiles inside a Chrome trace: one tree of nodes and two arrays of numbers per thread.

Source of truth: Chromium's ``Profile`` and ``ProfileChunk`` trace events, as Perfetto, Speedscope, Chrome's DevTools
and Firefox Profiler read them. Ten times smaller than slices: a sample is one number however deep its stack is.
Speedscope takes a file for this kind only if its first event has a ``cat``.
"""

from collections.abc import Iterator

import numpy as np

from perf2x.emit.chrome_drawing import Drawing
from perf2x.emit.jsontext import json_numbers
from perf2x.emit.tree import with_callers
from perf2x.model.arrays import I64

_CATEGORY = b'"cat":"disabled-by-default-v8.cpu_profiler"'
_ROOT, _IDLE = 1, 2
_SAMPLES_PER_CHUNK = 1 << 15
_FIXED_NODES = (
    b'{"id":1,"callFrame":{"functionName":"(root)","scriptId":0}},'
    b'{"id":2,"parent":1,"callFrame":{"functionName":"(idle)","scriptId":0}}'
)


def cpu_profile_events(drawing: Drawing, first_id: int) -> Iterator[bytes]:
    """The events of every lane; ``first_id`` numbers the profiles, which are one per lane."""
    ends = np.searchsorted(drawing.moments.track, np.arange(len(drawing.tracks) + 1))
    for lane in range(len(drawing.tracks)):
        rows = slice(int(ends[lane]), int(ends[lane + 1]))
        if rows.start < rows.stop:
            numbers = (first_id + lane, int(drawing.tracks.pid[lane]), int(drawing.tracks.tid[lane]))
            yield from _lane_events(drawing, rows, numbers)


def _lane_events(drawing: Drawing, rows: slice, numbers: tuple[int, int, int]) -> Iterator[bytes]:
    """``Profile`` with the start, then ``ProfileChunk`` events: all nodes in the first, samples in each."""
    used = with_callers(drawing.tree.parent, drawing.node[rows])
    used = used[drawing.tree.depth[used] >= drawing.outermost]
    time, node = _samples(drawing, rows, used)
    head = b'"ph":"P","id":"0x%x","pid":%d,"tid":%d,' % numbers + _CATEGORY
    yield b'{"name":"Profile",%b,"ts":%d,"args":{"data":{"startTime":%d}}}' % (head, time[0], time[0])
    deltas = np.diff(time, prepend=time[:1])
    for start in range(0, len(time), _SAMPLES_PER_CHUNK):
        part = slice(start, start + _SAMPLES_PER_CHUNK)
        nodes = b'"nodes":[%b],' % b",".join((_FIXED_NODES, *_nodes(drawing, used))) if start == 0 else b""
        arrays = json_numbers(node[part]), json_numbers(deltas[part])
        data = b'"cpuProfile":{%b"samples":[%b]},"timeDeltas":[%b]' % (nodes, *arrays)
        yield b'{"name":"ProfileChunk",%b,"ts":%d,"args":{"data":{%b}}}' % (head, time[part][-1], data)


def _samples(drawing: Drawing, rows: slice, used: I64) -> tuple[I64, I64]:
    """When which node began, idleness included: after each moment that no other one follows at once."""
    moments = drawing.moments
    start, end, joined = moments.start[rows], moments.end[rows], moments.joined[rows]
    node = _IDLE + 1 + np.searchsorted(used, drawing.node[rows])
    node[drawing.tree.depth[drawing.node[rows]] < drawing.outermost] = _ROOT
    gaps = np.flatnonzero(~joined)
    time = np.concatenate([start, end[gaps]])
    order = np.argsort(time, kind="stable")
    return time[order], np.concatenate([node, np.full(len(gaps), _IDLE)])[order]


def _nodes(drawing: Drawing, used: I64) -> Iterator[bytes]:
    above = drawing.tree.parent[used]
    held = (above >= 0) & (drawing.tree.depth[above] >= drawing.outermost)
    parent = np.where(held, _IDLE + 1 + np.searchsorted(used, above), _ROOT)
    names = [drawing.names[key] for key in drawing.key[used].tolist()]
    for number, (name, up) in enumerate(zip(names, parent.tolist(), strict=True), _IDLE + 1):
        yield b'{"id":%d,"parent":%d,"callFrame":{"functionName":%b,"scriptId":0}}' % (number, up, name)
