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
    perf_names_data,
    position_checksum,
)
from perf2x.model.recording import Event, Recording, Samples, Want, take_rows


def sample_reader(
    profile: Profile, recording: Recording, filters: AppliedFilters, context: LoadContext
) -> SampleReader:
    """Return a reader of the recorded samples that ``profile`` sums up.

    Later filters, such as those by function name, removed rows from the profile only. So a sample is kept if the
    profile still has samples of the same event and thread, and of the same stack.
    """
    rows = profile.recorded
    assert rows is not None
    is_kept_thread = falses((len(profile.events), len(profile.threads)))
    is_kept_thread[profile.samples.event, profile.samples.thread] = True
    is_kept_stack = falses(len(profile.stacks.parent) + 1)  # the last entry is for samples without a stack, −1
    is_kept_stack[profile.samples.stack] = True
    rows_by_position = _RowsByPosition(rows, recording.session.source)

    def read_batches(want: Want) -> Iterator[RecordedBatch]:
        for samples in filters.batches(recording.samples(want | Want.REREAD)):
            if len(samples):
                thread, stack, earliest_in_later_batches = rows_by_position.find(samples.position)
                # thread −1: a filter dropped the sample together with its stack
                kept = flatnonzero(is_kept_thread[samples.event, thread] & is_kept_stack[stack] & (thread >= 0))
                yield RecordedBatch(take_rows(samples, kept), thread[kept], stack[kept], earliest_in_later_batches)

    from perf2x.features.single_samples.tracepoint_text import TracepointText

    symbol_start = _symbol_start_of_locations(profile, recording, context)
    raw_texts = TracepointText(recording.session, _kernel_address_formatter(profile, recording, context)).texts
    places = {
        kind: _named_places(read_batches, recording, context, kind)
        for kind in sorted(context.options.of(SingleSampleSettings).places)
    }
    return SampleReader(read_batches, raw_texts, places, recording.session, recording.sideband, symbol_start)


class _RowsByPosition:
    """Finds the stored threads and stacks of samples by the samples' positions in the recording.

    Worker processes finished the batches of the first pass in any order, and a batch of the second pass may consist of
    several of them.
    """

    def __init__(self, rows: RecordedRows, source: str) -> None:
        self._rows, self._source = rows, source
        order = argsort(rows.batch_position)
        self._first_position, self._checksum = rows.batch_position[order], rows.batch_checksum[order]
        self._end = rows.batch_end[order]
        self._begin = np.append(0, rows.batch_end)[order]
        # (batches + 1,) the earliest time in batch i and all later ones; NEVER after the last batch
        earliest = np.append(rows.batch_earliest[order], np.uint64(NEVER))
        self._earliest_from = np.minimum.accumulate(earliest[::-1])[::-1]

    def find(self, position: I64) -> tuple[I32, I32, int]:
        """Return thread and stack of each sample of a batch, and the earliest time of all samples in later batches.

        ``position`` (n,) are those of the second pass. Raises FormatError if the file has changed since the first pass.
        """
        first_batch = batch = int(np.searchsorted(self._first_position, position[0]))
        checked = 0  # positions that belong to batches of the first pass
        while checked < len(position):
            count = int(self._end[batch] - self._begin[batch]) if batch < len(self._first_position) else 0
            if not count or position_checksum(position[checked : checked + count]) != self._checksum[batch]:
                raise FormatError(f"{self._source}: it changed while it was being read; convert it again")
            checked, batch = checked + count, batch + 1
        # one worker split the batch, so it stored the rows of its parts one after another
        begin = int(self._begin[first_batch])
        return *self._rows.rows(begin, begin + checked), int(self._earliest_from[batch])


def _branch_addresses(_: Event, samples: Samples) -> tuple[I64, U64]:
    """Return (2 * branches,) rows of samples and addresses: all sources, then all targets."""
    branches = samples.branches
    if branches is None:
        return zeros(0), np.zeros(0, np.uint64)
    row = row_numbers(np.diff(branches.offsets))
    return np.concatenate([row, row]), np.concatenate([branches.from_ip, branches.to_ip])


def _data_addresses(event: Event, samples: Samples) -> tuple[I64, U64]:
    """Return (samples,) rows and addresses; (0,) if perf does not name this event's addresses."""
    address = samples.addr if perf_names_data(event) else None
    address = np.zeros(0, np.uint64) if address is None else address
    return np.arange(len(address), dtype=np.int64), address


# by kind: the optional column to read, and a function that returns rows of samples and addresses
_ADDRESSES_OF_KIND = {"branches": (Want.BRANCHES, _branch_addresses), "data": (Want.ADDR, _data_addresses)}


def _named_places(
    read_batches: Callable[[Want], Iterator[RecordedBatch]], recording: Recording, context: LoadContext, kind: str
) -> NamedPlaces:
    """Stitch each address as if a sample had been taken there; ``kind``: ``branches`` or ``data``.

    So it becomes a stack of one location in a separate profile, which is symbolized.
    """
    from perf2x.kernel.perf_data import process_history
    from perf2x.model.transforms.replace_samples import samples_at
    from perf2x.stitcher.profile_builder import build_profile
    from perf2x.stitcher.stitch import Stitcher, StitchOptions
    from perf2x.symbolizer.symbolize import symbolize

    # diagnostics that nobody reads: the first pass has counted the same problems
    uncounted = LoadContext(context.options, Diagnostics(), None, context.stages)
    session, sideband, symbols = recording.session, recording.sideband, context.options.symbols
    history = process_history(recording, True, uncounted)
    stitcher = Stitcher(history, StitchOptions(per_process=True))
    column, addresses_of = _ADDRESSES_OF_KIND[kind]

    def intern_addresses(samples: Samples) -> I32:
        """The samples are all of one event."""
        return stitcher.intern_ips(samples_at(samples, *addresses_of(session.events[samples.event[0]], samples)))

    for batch in read_batches(column):
        for event in unique(batch.samples.event).tolist():
            intern_addresses(take_rows(batch.samples, flatnonzero(batch.samples.event == event)))
    result = stitcher.result()
    # build_profile renumbers stacks, also in ``recorded``, so the stitcher's numbers become the profile's
    stack_number = np.arange(len(result.stacks), dtype=np.int32)
    empty = zeros(0)
    rows = RecordedRows([RecordedPart(0, 0, 0, stack=stack_number)], empty, as_uint64(empty), empty, empty)
    profile = build_profile(session, history, replace(result, recorded_rows=rows))
    if symbols is not None:
        sources = load_symbol_sources()
        profile, _ = symbolize(profile, session, symbols, uncounted.diagnostics, sources, context.finder, sideband)
    assert profile.recorded is not None
    location = np.append(profile.stacks.location, -1)[profile.recorded.parts[0].stack]
    return NamedPlaces(
        profile,
        _symbol_start_of_locations(profile, recording, uncounted),
        lambda samples: location[intern_addresses(samples)],
    )


def _kernel_address_formatter(
    profile: Profile, recording: Recording, context: LoadContext
) -> Callable[[int, bool], str]:
    """Format addresses as ``%ps`` and ``%pS`` of printk do: "vfs_read" or "vfs_read+0x10"."""
    from perf2x.symbolizer.sources.kernel_source import KernelSource

    symbols = context.options.symbols
    kernel_source = None if symbols is None else KernelSource(context.symbol_facts(profile, recording, symbols))

    @cache
    def format_address(address: int, with_offset: bool) -> str:
        name, begin = kernel_source.function_at(address) if kernel_source else ("", 0)
        if not name:
            return f"{address:#x}"
        return f"{name}+{address - begin:#x}" if with_offset else name

    return format_address


def _symbol_start_of_locations(profile: Profile, recording: Recording, context: LoadContext) -> U64:
    symbols = context.options.symbols
    if symbols is None:
        return np.zeros(len(profile.locations), np.uint64)
    with context.stages.stage("symbolize"):
        from perf2x.features.annotate.object_code import symbol_starts

        return symbol_starts(profile, context.symbol_facts(profile, recording, symbols), load_symbol_sources())
