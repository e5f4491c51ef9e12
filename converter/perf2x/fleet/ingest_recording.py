"""Reads, stitches and unwinds one recording for a dataset.

Most names are looked up when the dataset is read. Names are stored for code that can be named only where it was
recorded, or for all code if names or object files came with the recording.
"""

from msgspec import json
from msgspec.structs import replace

from perf2x.base.abi import SampleType
from perf2x.kernel.input_source import Stitched
from perf2x.kernel.load_options import LoadContext
from perf2x.kernel.open_sessions import SessionInput
from perf2x.kernel.registry import load_symbol_sources
from perf2x.model.filters.applied_filters import AppliedFilters
from perf2x.model.recording import Recording, kernel_build_id
from perf2x.sources.dataset.read.stored_part import StoredFacts
from perf2x.sources.dataset.write.recording_to_store import StoredRecording
from perf2x.symbolizer.known.location_names import LocationNames, every_object, location_names, only_where_recorded
from perf2x.symbolizer.symbol_options import SymbolOptions


def ingest_session(session: SessionInput, context: LoadContext, ident: bytes) -> StoredRecording:
    """Read, stitch and unwind one session, and return what the dataset stores of it.

    ``ident`` is the ``recording_id`` of its files. The context's diagnostics are stored with it, so they must be those
    of this session alone.
    """
    source = session.open()
    recording = source.recording
    stitched = source.stitched(AppliedFilters(context.options.filters, recording), context)
    profile, deferred = stitched.profile, stitched.deferred
    stored_names = _location_names(stitched, recording, context)
    counts = context.diagnostics.counts
    facts = StoredFacts(
        deferred=deferred,
        unwound=stitched.unwound,
        record_counts=recording.sideband.record_counts,
        counts=tuple(counts.values()),
        comments=profile.meta.comments,
        has_unmapped_kernel_names=stored_names is not None and stored_names.kernel_looked_up,
        recorded_fields=_recorded_fields(recording),
        clock_id=profile.meta.clock_id,
    )
    return StoredRecording(
        recording=ident,
        profile=profile,
        tags=session.tags,
        samples=recording.sample_count,
        lost=context.diagnostics.lost,
        deferred_missing=deferred.missing,
        kernel_build_id=kernel_build_id(recording.session, recording.sideband.mmaps).hex(),
        facts=json.encode(facts).decode(),
        names=None if stored_names is None else stored_names.names,
        looked_up=None if stored_names is None else stored_names.looked_up,
        session=recording.fingerprint,
        unfinished=bool(context.diagnostics.missing_ends()),
        missing_bytes=context.diagnostics["file_cut"] or None,
    )


def _recorded_fields(recording: Recording) -> tuple[str, ...]:
    fields = (("cpu", SampleType.CPU), ("cgroup", SampleType.CGROUP))
    return tuple(name for name, bit in fields if any(event.sample_type & bit for event in recording.session.events))


def _location_names(stitched: Stitched, recording: Recording, context: LoadContext) -> LocationNames | None:
    """Return names that the input stores itself, as text inputs do, else looked-up names; None for no names."""
    symbols, profile = context.options.symbols, stitched.profile
    if stitched.stored_names:
        return stitched.stored_names(profile, SymbolOptions())
    if symbols is None:
        return None
    # whoever reads the dataset chooses the style of names
    symbols = replace(symbols, names="short", inline=True, keep_full_names=False)
    is_symbolized = every_object if symbols.archives or recording.session.recorded_files else only_where_recorded
    facts = context.symbol_facts(profile, recording, symbols)
    with context.stages.stage("symbolize"):
        return location_names(profile, facts, load_symbol_sources(), is_symbolized)
