"""Recordings → a dataset: read, stitched and unwound; names are bound when the dataset is read.

Only what has names nowhere else (``only_where_recorded``) is named here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from perf2x.base.errors import OptionError
from perf2x.model.diagnostics import Diagnostics
from perf2x.pipeline.datasets.stored_recording import StoredFacts, facts_text
from perf2x.pipeline.load_options import LoadContext, LoadOptions, Progress
from perf2x.pipeline.open_sessions import Input, SessionInput, find_sessions
from perf2x.pipeline.stage_timer import Stages
from perf2x.pipeline.stitched.stitched_recording import StitchedRecording

if TYPE_CHECKING:
    from perf2x.model.profile.profile import Profile
    from perf2x.model.recording.events import Recording
    from perf2x.storage.dataset.write.recording_to_store import PlaceNames, StoredRecording
    from perf2x.symbolizer.known.place_names import LocationNames


class Ingested(Struct, frozen=True):
    """A recording ready to be written: ``dataset.write.write_recording``."""

    stored: StoredRecording
    names: PlaceNames | None


class Added(Struct, frozen=True):
    """A recording that was added to a dataset."""

    recording: bytes
    """Its id."""
    files: tuple[str, ...]
    """The user's names for its files."""
    samples: int
    """Recorded samples."""


def ingest_session(session: SessionInput, context: LoadContext, known_id: bytes | None = None) -> Ingested:
    """Read, stitch and filter one session, whose files have this ``recording_id``, if it is known.

    The context's diagnostics must be of this session alone: they are stored with it.
    """
    from perf2x.pipeline.stitch_session import stitch_session
    from perf2x.storage.dataset.write.recording_to_store import StoredRecording
    from perf2x.transforms.drop_unused import compact
    from perf2x.transforms.filters.apply_choice import Selection
    from perf2x.transforms.filters.choice import keep_events

    options, recording = context.options, session.open()
    selection = Selection(options.choice, recording)
    id_of_files = _id_meanwhile(session, recording, options) if known_id is None else lambda: known_id
    profile, deferred, unwound = stitch_session(recording, selection, context)
    content_id = id_of_files()
    profile = selection.before_symbols(keep_events(profile, options.events) if options.events else profile)
    if options.choice or options.events:
        profile = compact(profile)
    profile = _with_start_time(profile, recording, session.files, context)
    found = _location_names(profile, recording, context)
    counts = context.diagnostics.counts
    facts = StoredFacts(
        deferred=deferred,
        unwound=unwound,
        record_counts=recording.sideband.record_counts,
        counts=tuple(counts.values()),
        comments=profile.meta.comments,
        kernel_looked_up=found is not None and found.kernel_looked_up,
        samples_say=_told_by_samples(recording),
        clock_id=profile.meta.clock_id,
    )
    stored = StoredRecording(
        recording=content_id or _id_of_stream(profile),
        profile=profile,
        tags=session.tags,
        samples=recording.sample_count,
        lost=context.diagnostics.lost,
        deferred_missing=deferred.missing,
        kernel_build_id=_kernel_build_id(recording),
        facts=facts_text(facts),
        looked_up=None if found is None else found.looked_up,
        session=recording.beginning,
        unfinished=bool(context.diagnostics.missing_ends()),
        missing_bytes=context.diagnostics["file_cut"] or None,
    )
    return Ingested(stored, None if found is None else _place_names(found))


def _told_by_samples(recording: Recording) -> tuple[str, ...]:
    from perf2x.base.abi.uapi import SampleType

    asked = (("cpu", SampleType.CPU), ("cgroup", SampleType.CGROUP))
    return tuple(name for name, bit in asked if any(event.sample_type & bit for event in recording.session.events))


def _with_start_time(profile: Profile, recording: Recording, files: Sequence[str], context: LoadContext) -> Profile:
    from perf2x.pipeline.start_time import with_start_time

    start = context.options.start_time
    return replace(profile, meta=with_start_time(profile.meta, recording.session, start, files))


def _kernel_build_id(recording: Recording) -> str:
    from perf2x.model.recording.build_ids import kernel_build_id

    return kernel_build_id(recording.session, recording.sideband.mmaps).hex()


def _id_meanwhile(session: SessionInput, recording: Recording, options: LoadOptions) -> Callable[[], bytes | None]:
    """Begin to hash the files of a session; the function waits for their id, None for what came through a pipe."""
    from perf2x.pipeline.worker_pool import processes_for
    from perf2x.storage.dataset.content_ids import recording_id, recording_id_meanwhile

    files = [Path(part.input.path) for part in session.parts]  # a bundle is known by the recording in it
    if not all(path.is_file() or path.is_dir() for path in files):
        return lambda: None
    if processes_for(recording.sample_count, options) > 1:  # a process with threads should not be forked
        return lambda: recording_id(files)
    return recording_id_meanwhile(files)


def _id_of_stream(profile: Profile) -> bytes:
    """Id of a recording by what it says."""
    from perf2x.storage.dataset.content_ids import text_id

    meta, columns = profile.meta, (profile.samples.value, profile.samples.count, profile.locations.address)
    return text_id("stream", repr(replace(meta, source="")), *(column.tobytes() for column in columns))


def _location_names(profile: Profile, recording: Recording, context: LoadContext) -> LocationNames | None:
    symbols = context.options.symbols
    if isinstance(recording, StitchedRecording):
        from perf2x.symbolizer.symbol_options import SymbolOptions

        return recording.names(profile, SymbolOptions())
    if symbols is None:
        return None
    from perf2x.plugins.registry import load_symbol_sources
    from perf2x.symbolizer.demangle.demangle import NameStyle
    from perf2x.symbolizer.known.place_names import everything, location_names, only_where_recorded
    from perf2x.symbolizer.make_finder import make_context

    symbols = replace(symbols, names=NameStyle.SHORT, inline=True, keep_full_names=False)  # the reader's choice
    wanted = everything if symbols.archives or recording.session.recorded_files else only_where_recorded
    facts = make_context(profile, recording.session, symbols, context.diagnostics, context.finder, recording.sideband)
    with context.stages.stage("symbolize"):
        return location_names(profile, facts, load_symbol_sources(), wanted)


def _place_names(found: LocationNames) -> PlaceNames:
    from perf2x.storage.dataset.write.recording_to_store import PlaceNames

    place = found.location.astype(np.int32)
    return PlaceNames(
        place, found.count, found.is_exact, found.has_inlines, found.function, found.line, found.functions
    )


def ingest(
    paths: Sequence[str],
    options: LoadOptions,
    folder: Path,
    partition: Sequence[str] = (),
    progress: Progress | None = None,
    stages: Stages | None = None,
) -> list[Added]:
    """Add recordings to the dataset in ``folder``; files of one session are one recording.

    Raises Perf2xError when a recording cannot be read, OptionError for datasets among the inputs. The time that each
    stage took is added to ``stages``.
    """
    from perf2x.base.files.unpack_limit import limit_unpacking
    from perf2x.storage.bundle.open_bundle import open_bundles
    from perf2x.storage.dataset.table_log import check_packages
    from perf2x.storage.dataset.write.write_recording import write_recording

    check_packages()
    tags: Sequence[Mapping[str, str]] = options.tags or [{}] * len(paths)
    stages, added = stages or Stages(), []
    with limit_unpacking(options.max_unpacked), open_bundles(paths, options.symbols) as (files, symbols):
        inputs = [Input(*each) for each in zip(files, paths, tags, strict=True)]
        _refuse_datasets(inputs)
        for group in _sessions_apart(inputs, options):
            context = LoadContext(replace(options, symbols=symbols), Diagnostics(), progress, stages)
            with stages.stage("index"):
                (session,) = find_sessions(group, context)
            ingested = ingest_session(session, context)
            with stages.stage("write"):
                write_recording(folder, ingested.stored, ingested.names, partition)
            added.append(Added(ingested.stored.recording, session.files, ingested.stored.samples))
    return added


def _refuse_datasets(inputs: Sequence[Input]) -> None:
    from perf2x.storage.dataset.dataset_address import is_dataset

    for one in inputs:
        if is_dataset(one.path):
            raise OptionError(f"{one.name} is a dataset; recordings are added to datasets")


def _sessions_apart(inputs: Sequence[Input], options: LoadOptions) -> list[list[Input]]:
    """Inputs by session: each is opened again on its own, so that what is counted is known to be its own."""
    if len(inputs) == 1:
        return [list(inputs)]
    context = LoadContext(options, Diagnostics(), None, Stages())
    return [[part.input for part in session.parts] for session in find_sessions(inputs, context)]
