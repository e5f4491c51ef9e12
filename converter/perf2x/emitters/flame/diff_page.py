"""Two profiles on one page: a flame graph coloured by the change between them; red grew, blue shrank.

Threads of the two recordings are matched by name, because ids differ from run to run.
"""

from collections.abc import Iterator, Sequence
from typing import BinaryIO

import numpy as np

from perf2x.base.columnar import I64, Frozen, arange, as_int64, group_rows, number_keys, sum_at, zeros
from perf2x.base.diagnostics import losses_in_comments
from perf2x.emitters.encoding.json_encoder import json_bytes, json_table
from perf2x.emitters.flame.html import event_table, frame_table, node_table
from perf2x.emitters.flame.page_template import field, table, write_page
from perf2x.emitters.flame.picture_title import facts, heading
from perf2x.model.filters.frame_presets import RUNTIMES
from perf2x.model.printable_text import base_name, one_line
from perf2x.model.profile import LocationFrames, Profile, expand, location_frames, merge_stacks
from perf2x.model.transforms.merge_profiles import merge_profiles

_BEFORE, _AFTER = {"side": "before"}, {"side": "after"}


class DifferencePage(Frozen):
    """A page that compares two profiles; the reader can change ``normalize`` and ``samples``."""

    title: str = ""
    normalize: bool = False
    """Scale the costs after to the total of the costs before, so that shares are compared."""
    samples: bool = False
    """Show numbers of samples instead of periods."""
    work: tuple[float, float] | None = None
    """Units of work before and after, if given: the caller has scaled the costs after by their ratio."""
    notes: Sequence[str] = ()
    """Sentences about the comparison, shown next to the heading."""
    compress: bool = True
    """Keep the data gzip-compressed in the page."""

    def emit(self, before: Profile, after: Profile, out: BinaryIO) -> None:
        """Write the page; equal profiles give equal bytes."""
        write_page(self.title or heading(after), self._data(before, after), out, compress=self.compress)

    def _data(self, before: Profile, after: Profile) -> Iterator[bytes]:
        profile = merge_profiles([before, after], [_BEFORE, _AFTER])
        frames = location_frames(profile)
        frame_keys, key_frames = _equal_frames(frames)
        tree, node = merge_stacks(expand(profile.stacks, frames.of_location), frame_keys, profile.samples.stack)
        comms = (one_line(profile.strings[row]) for row in profile.threads.comm.tolist())
        names, thread_keys = number_keys(comms)
        strings: dict[str, int] = {}
        sentences = [*self._facts(before, after), *self.notes]
        yield b"{" + field("facts", sentences)
        yield field("runtimes", RUNTIMES) + field("direction", "icicle") + field("defaultEvent", profile.default_event)
        yield field("compare", {"normalize": self.normalize, "samples": self.samples})
        yield field("events", event_table(profile))
        yield field("threads", [{"name": name, "process": name, "pid": -1, "tid": -1} for name in names])
        yield table("frames", frame_table(profile, frames, strings, key_frames))
        yield table("nodes", node_table(tree))
        # row 0 of the tree is the root, -1 in the page
        yield table("rows", _compared_rows(profile, thread_keys[profile.samples.thread], node - 1))
        yield field("noMoments", "A difference has no time.") + field("moments", None)
        yield b'"strings":' + json_bytes(list(strings)) + b"}"

    def _facts(self, before: Profile, after: Profile) -> list[str]:
        sentences = []
        for side, (word, profile) in enumerate((("before", before), ("after", after))):
            source = one_line(base_name(profile.meta.source))
            losses = (text for _, _, text in losses_in_comments(profile.meta.comments))
            parts = [f"{word}: {source}", facts(profile)[0], *losses]
            parts += [f"{self.work[side]:,.15g} units of work"] if self.work else []
            sentences.append(", ".join(parts))
        return [*sentences, "costs after are scaled to the work done before"] if self.work else sentences


def _equal_frames(frames: LocationFrames) -> tuple[I64, I64]:
    """Return (frames,) a key that equal frames of both builds share, and (keys,) the first frame of each."""
    columns = zip(frames.name, frames.object, frames.mode.tolist(), frames.inlined.tolist(), strict=True)
    distinct, frame_keys = number_keys(columns)
    key_frames = zeros(len(distinct))
    key_frames[frame_keys[::-1]] = arange(len(frames))[::-1]  # the last assignment wins: the first frame
    return frame_keys, key_frames


def _compared_rows(profile: Profile, thread: I64, node: I64) -> Iterator[bytes]:
    samples = profile.samples
    assert samples.tags is not None
    is_before = np.isin(samples.tags, [row for row, tag in enumerate(profile.tag_sets) if tag == _BEFORE])
    event = as_int64(samples.event)
    first, group = group_rows([thread, event, node])
    columns = [("thread", thread[first]), ("event", event[first]), ("node", node[first])]
    for name, is_side, column in (
        ("value", ~is_before, samples.value),
        ("count", ~is_before, samples.count),
        ("beforeValue", is_before, samples.value),
        ("beforeCount", is_before, samples.count),
    ):
        columns.append((name, sum_at(group[is_side], column[is_side], len(first))))
    yield from json_table(columns)
