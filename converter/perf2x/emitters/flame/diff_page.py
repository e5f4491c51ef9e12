"""Two profiles on one page: a flame graph coloured by the change between them; red grew, blue shrank.

It is the page of html.py; each row of samples has its value before and after. Threads of two recordings are matched by
name, because ids differ from run to run.
"""

from collections.abc import Iterator, Sequence
from typing import BinaryIO

import numpy as np

from perf2x.base.columnar import I64, Frozen, arange, as_int64, group_rows, number_keys, sum_at, zeros
from perf2x.base.diagnostics import losses
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
    """The initial state of the page, which the reader can change."""

    title: str = ""
    normalize: bool = False
    """Scale ``after`` to the total of ``before``, so that shares compare."""
    samples: bool = False
    """Show numbers of samples instead of periods."""
    work: tuple[float, float] | None = None
    """The units of work before and after, by which ``after`` is already scaled."""
    notes: Sequence[str] = ()
    """Sentences about the comparison, shown next to the heading."""
    compress: bool = True

    def emit(self, before: Profile, after: Profile, out: BinaryIO) -> None:
        """Write the page; equal profiles give equal bytes."""
        write_page(self.title or heading(after), self._data(before, after), out, compress=self.compress)

    def _data(self, before: Profile, after: Profile) -> Iterator[bytes]:
        """Yield the data of ``html.py`` with ``beforeValue`` and ``beforeCount``, for page/compare.js."""
        profile = merge_profiles([before, after], [_BEFORE, _AFTER])
        frames = location_frames(profile)
        key, first = _shown_alike(frames)
        tree, node = merge_stacks(expand(profile.stacks, frames.of_location), key, profile.samples.stack)
        comms = (one_line(profile.strings[row]) for row in profile.threads.comm.tolist())
        names, thread = number_keys(comms)
        strings: dict[str, int] = {}
        facts = [*self._facts(before, after), *self.notes]
        yield b"{" + field("facts", facts)
        yield field("runtimes", RUNTIMES) + field("direction", "icicle") + field("defaultEvent", profile.default_event)
        yield field("compare", {"normalize": self.normalize, "samples": self.samples})
        yield field("events", event_table(profile))
        yield field("threads", [{"name": name, "process": name, "pid": -1, "tid": -1} for name in names])
        yield table("frames", frame_table(profile, frames, strings, first))
        yield table("nodes", node_table(tree))
        yield table("rows", _compared_rows(profile, thread[profile.samples.thread], node - 1))
        yield field("noMoments", "A difference has no time.") + field("moments", None)
        yield b'"strings":' + json_bytes(list(strings)) + b"}"

    def _facts(self, before: Profile, after: Profile) -> list[str]:
        texts = []
        for row, (word, profile) in enumerate((("before", before), ("after", after))):
            source = one_line(base_name(profile.meta.source))
            parts = [f"{word}: {source}", facts(profile)[0], *(lost for _, _, lost in losses(profile.meta.comments))]
            parts += [f"{self.work[row]:,.15g} units of work"] if self.work else []
            texts.append(", ".join(parts))
        return [*texts, "costs after are scaled to the work done before"] if self.work else texts


def _shown_alike(frames: LocationFrames) -> tuple[I64, I64]:
    """Number frames by what the page shows of them; return each frame's number and each number's first frame.

    Only name and object count, because source files, lines and mappings differ between builds.
    """
    columns = zip(frames.name, frames.object, frames.mode.tolist(), frames.inlined.tolist(), strict=True)
    distinct, key = number_keys(columns)
    first = zeros(len(distinct))
    first[key[::-1]] = arange(len(frames))[::-1]
    return key, first


def _compared_rows(profile: Profile, thread: I64, node: I64) -> Iterator[bytes]:
    samples = profile.samples
    assert samples.tags is not None
    old = np.isin(samples.tags, [row for row, tag in enumerate(profile.tag_sets) if tag == _BEFORE])
    event = as_int64(samples.event)
    first, kind = group_rows([thread, event, node])
    columns = [("thread", thread[first]), ("event", event[first]), ("node", node[first])]
    for name, side, column in (
        ("value", ~old, samples.value),
        ("count", ~old, samples.count),
        ("beforeValue", old, samples.value),
        ("beforeCount", old, samples.count),
    ):
        columns.append((name, sum_at(kind[side], column[side], len(first))))
    yield from json_table(columns)
