"""Samples as they were recorded: how a format reads them once more, and where their symbols begin."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar.arrays import U64
from perf2x.model.profile.recorded_samples import SampleReader

if TYPE_CHECKING:
    from perf2x.model.profile.profile import Profile
    from perf2x.model.recording.events import Recording, Samples, Want
    from perf2x.pipeline.load_context import LoadContext
    from perf2x.transforms.filters.apply_choice import Selection


def with_reader(profile: Profile, recording: Recording, selection: Selection, context: LoadContext) -> Profile:
    """Return the profile with what reads its recorded samples again; ``profile`` has names, where they are wanted."""

    def read(want: Want) -> Iterator[Samples]:
        return (batch for batch in selection.batches(recording.samples(want)) if len(batch))

    from perf2x.analysis.dump.traced_text import TracedText

    starts = _symbol_starts(profile, recording, context)
    reader = SampleReader(read, TracedText(recording.session).of, recording.session, recording.sideband, starts)
    assert profile.recorded is not None
    return replace(profile, recorded=replace(profile.recorded, reader=reader))


def _symbol_starts(profile: Profile, recording: Recording, context: LoadContext) -> U64:
    symbols = context.options.symbols
    if symbols is None:
        return np.zeros(len(profile.locations), np.uint64)
    with context.stages.stage("symbolize"):
        from perf2x.analysis.annotate.symbol_starts import symbol_starts
        from perf2x.plugins.registry import load_symbol_sources
        from perf2x.symbolizer.make_context import make_context

        facts = make_context(
            profile, recording.session, symbols, context.diagnostics, context.finder, recording.sideband
        )
        return symbol_starts(profile, facts, load_symbol_sources())
