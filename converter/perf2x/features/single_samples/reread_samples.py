"""Reads single samples again, as they were recorded, and finds where their symbols begin."""

from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import I32, I64, U64, argsort, as_uint64, falses, flatnonzero, row_numbers, unique, zeros
from perf2x.base.diagnostics import Diagnostics
from perf2x.errors import FormatError
from perf2x.kernel.load_options import LoadContext
from perf2x.kernel.registry import load_symbol_sources
from perf2x.model.filters.applied_filters import AppliedFilters
from perf2x.model.format_features import SingleSampleSettings
from perf2x.model.profile import (
    NEVER,
    NamedPlaces,
    Profile,
    RecordedBatch,
    RecordedPart,
    RecordedRows,
    SampleReader,
    check_of,
    names_data,
)
from perf2x.model.recording import Event, Recording, Samples, Want, take_rows


def sample_reader(
    profile: Profile, recording: Recording, filters: AppliedFilters, context: LoadContext
) -> SampleReader:
    """Return a reader of a profile's recorded samples; ``profile`` is symbolized, if names are needed."""

    rows = profile.recorded
    assert rows is not None
    chosen = falses((len(profile.events), len(profile.threads)))
    chosen[profile.samples.event, profile.samples.thread] = True
    used = falses(len(profile.stacks.parent) + 1)  # the last entry is for −1
    used[profile.samples.stack] = True
    places_of = _RowsByPosition(rows, recording.session.source)

    def read(want: Want) -> Iterator[RecordedBatch]:
        for samples in filters.batches(recording.samples(want | Want.REREAD)):
            if len(samples):
                thread, stack, earliest_later = places_of.find(samples.position)
                kept = flatnonzero(chosen[samples.event, thread] & used[stack] & (thread >= 0))
                yield RecordedBatch(take_rows(samples, kept), thread[kept], stack[kept], earliest_later)

    from perf2x.features.single_samples.traced_text import TracedText

    starts = _symbol_starts(profile, recording, context)
    traced = TracedText(recording.session, _kernel_functions(profile, recording, context)).of
    places = {
        kind: _named_places(read, recording, context, kind)
        for kind in sorted(context.options.of(SingleSampleSettings).places)
    }
    return SampleReader(read, traced, places, recording.session, recording.sideband, starts)


class _RowsByPosition:
    """Finds the rows of samples by position in the file, because batches were stitched in any order, and in parts."""

    def __init__(self, rows: RecordedRows, source: str) -> None:
        self._rows, self._source = rows, source
        order = argsort(rows.batch_position)
        self._position, self._check = rows.batch_position[order], rows.batch_check[order]
        self._end = rows.batch_end[order]
        self._begin = np.append(0, rows.batch_end)[order]
        earliest = np.append(rows.batch_first[order], np.uint64(NEVER))
        self._earliest = np.minimum.accumulate(earliest[::-1])[::-1]

    def find(self, position: I64) -> tuple[I32, I32, int]:
        """Return thread and stack of the samples of a batch, and the earliest time after it.

        Raises FormatError if other samples were read before: the file has changed in the meantime.
        """
        first = piece = int(np.searchsorted(self._position, position[0]))
        done = 0
        while done < len(position):
            count = int(self._end[piece] - self._begin[piece]) if piece < len(self._position) else 0
            if not count or check_of(position[done : done + count]) != self._check[piece]:
                raise FormatError(f"{self._source}: it changed while it was being read; convert it again")
            done, piece = done + count, piece + 1
        begin = int(self._begin[first])
        return *self._rows.rows(begin, begin + done), int(self._earliest[piece])


def _branches(_: Event, samples: Samples) -> tuple[I64, U64]:
    """Return rows of samples, and the addresses of their branches: all sources, then all targets."""
    branches = samples.branches
    if branches is None:
        return zeros(0), np.zeros(0, np.uint64)
    row = row_numbers(np.diff(branches.offsets))
    return np.concatenate([row, row]), np.concatenate([branches.from_ip, branches.to_ip])


def _data(event: Event, samples: Samples) -> tuple[I64, U64]:
    address = samples.addr if names_data(event) else None
    address = np.zeros(0, np.uint64) if address is None else address
    return np.arange(len(address), dtype=np.int64), address


_PLACES = {"branches": (Want.BRANCHES, _branches), "data": (Want.ADDR, _data)}


def _named_places(
    read: Callable[[Want], Iterator[RecordedBatch]], recording: Recording, context: LoadContext, kind: str
) -> NamedPlaces:
    """Symbolize each address once: stitch samples as if they were taken there, without counting them."""
    from perf2x.kernel.perf_data import process_history
    from perf2x.model.transforms.weights_and_mispredicts import placed
    from perf2x.stitcher.profile_builder import build_profile
    from perf2x.stitcher.stitch import Stitcher, StitchOptions
    from perf2x.symbolizer.symbolize import symbolize

    apart = LoadContext(context.options, Diagnostics(), None, context.stages)  # the first pass counted everything
    session, sideband, symbols = recording.session, recording.sideband, context.options.symbols
    history = process_history(recording, True, apart)
    stitcher = Stitcher(history, StitchOptions(per_process=True))
    want, addresses = _PLACES[kind]

    def stacks(samples: Samples) -> I32:
        return stitcher.located(placed(samples, *addresses(session.events[samples.event[0]], samples)))

    for batch in read(want):
        for event in unique(batch.samples.event).tolist():
            stacks(take_rows(batch.samples, flatnonzero(batch.samples.event == event)))
    result = stitcher.result()
    each = np.arange(len(result.stacks), dtype=np.int32)
    none = zeros(0)
    rows = RecordedRows([RecordedPart(0, 0, 0, stack=each)], none, as_uint64(none), none, none)
    profile = build_profile(session, history, replace(result, recorded=rows))
    if symbols is not None:
        sources = load_symbol_sources()
        profile, _ = symbolize(profile, session, symbols, apart.diagnostics, sources, context.finder, sideband)
    assert profile.recorded is not None
    location = np.append(profile.stacks.location, -1)[profile.recorded.parts[0].stack]
    return NamedPlaces(profile, _symbol_starts(profile, recording, apart), lambda samples: location[stacks(samples)])


def _kernel_functions(profile: Profile, recording: Recording, context: LoadContext) -> Callable[[int, bool], str]:
    """Return a function that formats a kernel address as ``%ps`` does, or as ``%pS`` with the offset."""
    from perf2x.symbolizer.sources.kernel_source import KernelSource

    symbols = context.options.symbols
    source = None if symbols is None else KernelSource(context.symbol_facts(profile, recording, symbols))

    @cache
    def word(address: int, offset: bool) -> str:
        name, begin = source.function_at(address) if source else ("", 0)
        if not name:
            return f"{address:#x}"
        return f"{name}+{address - begin:#x}" if offset else name

    return word


def _symbol_starts(profile: Profile, recording: Recording, context: LoadContext) -> U64:
    symbols = context.options.symbols
    if symbols is None:
        return np.zeros(len(profile.locations), np.uint64)
    with context.stages.stage("symbolize"):
        from perf2x.features.annotate.object_code import symbol_starts

        return symbol_starts(profile, context.symbol_facts(profile, recording, symbols), load_symbol_sources())
