"""Stacks of one event's samples, and the frames in them, numbered for a sequence of packets.

Numbers (``iid``) start at 1, since 0 means "not set", and what is used most has the lowest: they are the shortest.
"""

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from perf2x.base.columnar.arrays import I32, I64, AnyArray, arange, argsort, bincount, flatnonzero
from perf2x.base.columnar.ragged import Ragged, offsets_of, ranges, row_batches
from perf2x.base.columnar.unique import unique_inverse
from perf2x.emitters.perfetto.samples.frame_rows import FrameTable
from perf2x.model.profile.profile import Stacks
from perf2x.model.profile.stack_tree import depths, paths_of_length

_WORDS_AT_ONCE = 1 << 17
"""Frames of stacks that are encoded together: what they take in memory."""


class StackPaths(Struct, frozen=True):
    """The tree of stacks and one row more, the stack of samples without one; made once for all events."""

    parent: I32
    depth: I32
    location: I32
    frames: FrameTable

    def of(self, leaves: I64) -> Iterator[Ragged]:
        """Yield the frames of each leaf's stack, outermost first, some stacks at a time; −1 is the last row."""
        lengths = self.depth[leaves].astype(np.int64) + 1
        start, count = self.frames.of_location[:-1], np.diff(self.frames.of_location)
        for rows in row_batches(lengths, _WORDS_AT_ONCE):
            path = paths_of_length(self.parent, leaves[rows], lengths[rows], outermost_first=True)
            location = self.location[path.values]
            ends = offsets_of(count[location])
            yield Ragged(ends[path.offsets], ranges(start[location], count[location]))


def stack_paths(stacks: Stacks, frames: FrameTable) -> StackPaths:
    """Return the tree of stacks with a row for samples without one."""
    parent = np.append(stacks.parent, np.int32(-1))
    location = np.append(stacks.location, np.int32(len(frames.of_location) - 2))
    return StackPaths(parent, depths(parent).astype(np.int32), location, frames)


def by_frequency(values: AnyArray) -> tuple[I64, I32]:
    """Return the distinct values, the most frequent first, and (n,) the number of each value, from 1 on.

    ::

        values   7 3 7 5        distinct   7 3 5        numbers   1 2 1 3
    """
    distinct, place = unique_inverse(values)
    found, number = _most_used_first(bincount(place, len(distinct)))
    return distinct[found].astype(np.int64), number[place]


def used_frames(paths: StackPaths, leaves: I64) -> tuple[I64, I32]:
    """Return the frames of the stacks, most used first, and (frames,) the number of each frame from 1 on, or 0."""
    uses = np.zeros(len(paths.frames.name), np.int64)
    for rows in paths.of(leaves):
        uses += bincount(rows.values, len(uses))
    return _most_used_first(uses)


def _most_used_first(uses: I64) -> tuple[I64, I32]:
    """Return the rows that are used, and (rows,) the number of each from 1 on, 0 for those that are not."""
    used = flatnonzero(uses)
    used = used[argsort(-uses[used])]
    number = np.zeros(len(uses), np.int32)
    number[used] = arange(1, len(used) + 1)
    return used, number
