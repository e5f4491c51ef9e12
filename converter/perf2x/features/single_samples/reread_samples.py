"""Reads samples one by one in a second pass, as they were recorded, with the stacks that the first pass stitched."""

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
    """Return a reader of the recorded samples that ``profile`` sums up; it is symbolized, if names are needed.

    A filter may have dropped samples since stitching. Those that are left have an (event, thread) pair and a stack that
    the profile still uses.
    """
    rows = profile.recorded
    assert rows is not None
    is_kept_thread = falses((len(profile.events), len(profile.threads)))
    is_kept_thread[profile.samples.event, profile.samples.thread] = True
    is_kept_stack = falses(len(profile.stacks.parent) + 1)  # the last entry is for −1
    is_kept_stack[profile.samples.stack] = True
    stitched = _RowsByPosition(rows, recording.session.source)

    def read(want: Want) -> Iterator[RecordedBatch]:
        for samples in filters.batches(recording.samples(want | Want.REREAD)):
            if len(samples):
                thread, stack, earliest_after = stitched.find(samples.position)
                kept = flatnonzero(is_kept_thread[samples.event, thread] & is_kept_stack[stack] & (thread >= 0))
                yield RecordedBatch(take_rows(samples, kept), thread[kept], stack[kept], earliest_after)

    from perf2x.features.single_samples.traced_text import TracedText

    starts = _symbol_starts(profile, recording, context)
    traced = TracedText(recording.session, _kernel_functions(profile, recording, context)).of
    places = {
        kind: _named_places(read, recording, context, kind)
        for kind in sorted(context.options.of(SingleSampleSettings).places)
    }
    return SampleReader(read, traced, places, recording.session, recording.sideband, starts)


class _RowsByPosition:
    """Finds the stitched rows of samples by position in the file.

    Worker processes stitched batches in any order, and may have split a batch of the second pass into several.
    """

    def __init__(self, rows: RecordedRows, source: str) -> None:
        self._rows, self._source = rows, source
        order = argsort(rows.batch_position)
        self._position, self._check = rows.batch_position[order], rows.batch_check[order]
        self._end = rows.batch_end[order]
        self._begin = np.append(0, rows.batch_end)[order]
        earliest = np.append(rows.batch_first[order], np.uint64(NEVER))
        self._earliest = np.minimum.accumulate(earliest[::-1])[::-1]

    def find(self, position: I64) -> tuple[I32, I32, int]:
        """Return thread and stack of the samples at these positions, and the earliest time of all samples after them.

        Raises FormatError if the first pass read other samples: the file has changed in the meantime.
        """
        first = batch = int(np.searchsorted(self._position, position[0]))
        done = 0
        while done < len(position):
            count = int(self._end[batch] - self._begin[batch]) if batch < len(self._position) else 0
            if not count or check_of(position[done : done + count]) != self._check[batch]:
                raise FormatError(f"{self._source}: it changed while it was being read; convert it again")
            done, batch = done + count, batch + 1
        begin = int(self._begin[first])
        return *self._rows.rows(begin, begin + done), int(self._earliest[batch])


def _branches(_: Event, samples: Samples) -> tuple[I64, U64]:
    """Return all branches' sources, then all targets: the sample's row of each, and the address."""
    branches = samples.branches
    if branches is None:
        return zeros(0), np.zeros(0, np.uint64)
    row = row_numbers(np.diff(branches.offsets))
    return np.concatenate([row, row]), np.concatenate([branches.from_ip, branches.to_ip])


def _data(event: Event, samples: Samples) -> tuple[I64, U64]:
    """Return the row of each sample, and the address of the data that it accessed; nothing if it has no name."""
    address = samples.addr if names_data(event) else None
    address = np.zeros(0, np.uint64) if address is None else address
    return np.arange(len(address), dtype=np.int64), address


_PLACES = {"branches": (Want.BRANCHES, _branches), "data": (Want.ADDR, _data)}


def _named_places(
    read: Callable[[Want], Iterator[RecordedBatch]], recording: Recording, context: LoadContext, kind: str
) -> NamedPlaces:
    """Symbolize the addresses of one kind outside the stacks: branches, or accessed data (a key of _PLACES).

    Each address is stitched as if a sample had been taken there, so that it gets a location, which is symbolized.
    """
    from perf2x.kernel.perf_data import process_history
    from perf2x.model.transforms.weights_and_mispredicts import samples_at
    from perf2x.stitcher.profile_builder import build_profile
    from perf2x.stitcher.stitch import Stitcher, StitchOptions
    from perf2x.symbolizer.symbolize import symbolize

    # with diagnostics of its own, because the first pass has counted everything
    uncounted = LoadContext(context.options, Diagnostics(), None, context.stages)
    session, sideband, symbols = recording.session, recording.sideband, context.options.symbols
    history = process_history(recording, True, uncounted)
    stitcher = Stitcher(history, StitchOptions(per_process=True))
    want, addresses = _PLACES[kind]

    def stacks(samples: Samples) -> I32:
        return stitcher.intern_ips(samples_at(samples, *addresses(session.events[samples.event[0]], samples)))

    for batch in read(want):
        for event in unique(batch.samples.event).tolist():
            stacks(take_rows(batch.samples, flatnonzero(batch.samples.event == event)))
    result = stitcher.result()
    every_stack = np.arange(len(result.stacks), dtype=np.int32)
    none = zeros(0)
    rows = RecordedRows([RecordedPart(0, 0, 0, stack=every_stack)], none, as_uint64(none), none, none)
    profile = build_profile(session, history, replace(result, recorded=rows))
    if symbols is not None:
        sources = load_symbol_sources()
        profile, _ = symbolize(profile, session, symbols, uncounted.diagnostics, sources, context.finder, sideband)
    assert profile.recorded is not None
    location = np.append(profile.stacks.location, -1)[profile.recorded.parts[0].stack]
    return NamedPlaces(
        profile, _symbol_starts(profile, recording, uncounted), lambda samples: location[stacks(samples)]
    )


def _kernel_functions(profile: Profile, recording: Recording, context: LoadContext) -> Callable[[int, bool], str]:
    """Return a function (address, with_offset) that formats a kernel address as printk's ``%ps``, or ``%pS``, does."""
    from perf2x.symbolizer.sources.kernel_source import KernelSource

    symbols = context.options.symbols
    source = None if symbols is None else KernelSource(context.symbol_facts(profile, recording, symbols))

    @cache
    def text(address: int, with_offset: bool) -> str:
        name, begin = source.function_at(address) if source else ("", 0)
        if not name:
            return f"{address:#x}"
        return f"{name}+{address - begin:#x}" if with_offset else name

    return text


def _symbol_starts(profile: Profile, recording: Recording, context: LoadContext) -> U64:
    symbols = context.options.symbols
    if symbols is None:
        return np.zeros(len(profile.locations), np.uint64)
    with context.stages.stage("symbolize"):
        from perf2x.features.annotate.object_code import symbol_starts

        return symbol_starts(profile, context.symbol_facts(profile, recording, symbols), load_symbol_sources())
