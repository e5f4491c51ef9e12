"""Advice for all recordings together, based on how the stacks of each were recorded."""

from typing import TYPE_CHECKING

from msgspec.structs import replace

from perf2x.kernel.feature import Feature, Phase, SessionRun, with_profile

if TYPE_CHECKING:
    from perf2x.kernel.load_options import LoadContext
    from perf2x.kernel.load_result import Loaded


def _count_chains(loaded: "Loaded", run: SessionRun) -> "Loaded":
    """Count samples by how their stacks were recorded; not if options gave the samples other stacks or values."""
    session, options = run.recording.session, run.options
    is_exempt = session.is_perf_stat or {"hardware_trace", "text"} & set(session.features)
    if options.value or options.data_objects or is_exempt:
        return loaded
    from perf2x.features.recording_advice.choose_advice import chain_report

    context = run.context.symbol_facts(loaded.profile, run.recording, options.symbols) if options.symbols else None
    return replace(loaded, reports=(*loaded.reports, chain_report(loaded.profile, session, context)))


def _advise(loaded: "Loaded", context: "LoadContext") -> "Loaded":
    from perf2x.features.recording_advice.choose_advice import ChainReport, advice

    profile, is_text = loaded.profile, "text" in loaded.recording.session.features
    chains = next((report for report in loaded.reports if isinstance(report, ChainReport)), ChainReport())
    all_advice = advice(chains, profile, loaded.symbols, loaded.sources[0], is_text=is_text)
    return with_profile(loaded, replace(profile, meta=replace(profile.meta, advice=all_advice)))


FEATURE = Feature({Phase.STITCHED: _count_chains}, finish=_advise)
