"""The page's view over time: when each stack ran or waited, as columns that compress well."""

from collections.abc import Iterator

import numpy as np

from perf2x.columnar.arrays import I64, AnyArray
from perf2x.emit.encoding.json_encoder import json_table
from perf2x.emit.timeline.shown import in_ticks, shown_samples
from perf2x.tables.profile import Profile

_MICROSECOND = 1000


def moment_table(profile: Profile, track: I64, node: I64) -> Iterator[bytes]:
    """Yield runs and waits of one stack on one track, in microseconds; ``start`` holds differences.

    ``track``, ``node`` (samples,). ``wait`` is a tables.waits.Wait, and is left out where nothing waited.
    """
    shown = in_ticks(shown_samples(profile, track, np.arange(len(profile.samples))), _MICROSECOND)
    stack, wait = node[shown.sample], _waits(profile)[shown.sample]
    begins = np.ones(len(shown), np.bool_)
    begins[1:] = (stack[1:] != stack[:-1]) | (wait[1:] != wait[:-1]) | ~shown.joined[:-1]
    first = np.flatnonzero(begins)
    last = np.append(first[1:], len(shown)) - 1 if len(first) else first
    start = shown.start[first]
    columns: list[tuple[str, AnyArray]] = [("track", shown.track[first]), ("start", np.diff(start, prepend=0))]
    columns += [("duration", shown.end[last] - start), ("node", stack[first])]
    yield from json_table([*columns, ("wait", wait[first])] if wait.any() else columns)


def _waits(profile: Profile) -> I64:
    wait = profile.samples.wait
    return np.zeros(len(profile.samples), np.int64) if wait is None else wait.astype(np.int64)
