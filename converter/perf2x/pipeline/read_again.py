"""Samples as they were recorded: how a format reads them once more, and where their symbols begin."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar.arrays import U64, flatnonzero
from perf2x.model.profile.recorded_samples import NEVER, RecordedBatch, SampleReader
from perf2x.model.recording.events import Want
from perf2x.model.recording.sample_batches import take_rows

if TYPE_CHECKING:
    from perf2x.model.profile.profile import Profile
    from perf2x.model.recording.events import Recording
    from perf2x.pipeline.load_options import LoadContext
    from perf2x.transforms.filters.apply_choice import Selection


def with_reader(profile: Profile, recording: Recording, selection: Selection, context: LoadContext) -> Profile:
    """Return the profile with what reads its recorded samples again; ``profile`` has names, where they are wanted."""

    rows = profile.recorded
    assert rows is not None
    chosen = np.zeros((len(profile.events), len(profile.threads)), np.bool_)
    chosen[profile.samples.event, profile.samples.thread] = True
    used = np.zeros(len(profile.stacks.parent) + 1, np.bool_)  # the last one serves −1
    used[profile.samples.stack] = True
    earliest = np.append(np.minimum.accumulate(rows.batch_first[::-1])[::-1], np.uint64(NEVER))

    def read(want: Want) -> Iterator[RecordedBatch]:
        end = 0
        for samples in selection.batches(recording.samples(want | Want.AGAIN)):
            here = slice(end, end := end + len(samples))
            thread, stack = rows.thread[here], rows.stack[here]
            kept = flatnonzero(chosen[samples.event, thread] & used[stack] & (thread >= 0))
            behind = int(earliest[int(np.searchsorted(rows.batch_end, end, "right"))])
            yield RecordedBatch(take_rows(samples, kept), thread[kept], stack[kept], behind)

    from perf2x.analysis.dump.other_records import other_records
    from perf2x.analysis.dump.traced_text import TracedText

    starts = _symbol_starts(profile, recording, context)
    traced, others = TracedText(recording.session).of, partial(other_records, recording)
    reader = SampleReader(read, traced, others, recording.session, recording.sideband, starts)
    return replace(profile, recorded=replace(rows, reader=reader))


def _symbol_starts(profile: Profile, recording: Recording, context: LoadContext) -> U64:
    symbols = context.options.symbols
    if symbols is None:
        return np.zeros(len(profile.locations), np.uint64)
    with context.stages.stage("symbolize"):
        from perf2x.analysis.annotate.symbol_starts import symbol_starts
        from perf2x.plugins.registry import load_symbol_sources
        from perf2x.symbolizer.make_finder import make_context

        facts = make_context(
            profile, recording.session, symbols, context.diagnostics, context.finder, recording.sideband
        )
        return symbol_starts(profile, facts, load_symbol_sources())
