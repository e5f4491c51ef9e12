"""Makes the lines on standard error about a recording: contents, completed stacks, losses, missing names, advice."""

import math
from collections.abc import Iterator, Sequence
from itertools import chain

from perf2x.base.diagnostics import Diagnostics
from perf2x.base.mapping_names import VDSO_32
from perf2x.cli.render.copyable_advice import advice_with_typed_options
from perf2x.kernel.load_result import Loaded
from perf2x.model.format_features import CodeSettings
from perf2x.model.number_format import count_noun, plural, shortened_list
from perf2x.model.plugin_options import START_TIME, Needs
from perf2x.model.printable_text import short
from perf2x.model.profile import count_threads
from perf2x.stitcher.call_graphs import JIT_UNWIND_ADVICE, UnwindReport
from perf2x.stitcher.deferred.deferred_join import DeferredReport
from perf2x.stitcher.unwind.unwound_chains import End

_MAX_OBJECTS = 3
_OBJECT_NAMES = {VDSO_32: "the 32-bit vDSO"}
# For advice, a table counts as an output format that declares no needs.
_NEEDS_OF_TABLE = Needs()
# Texts for stacks that were not unwound completely, by the reason.
_UNWIND_ENDS = {
    End.TRUNCATED: "truncated",
    End.NO_UNWIND_INFO: "without unwind info",
    End.NOT_MAPPED: "with an unknown caller",
    End.BROKEN: "corrupt",
    End.OTHER_STACK: "on a stack that was not copied",
    End.REGISTERS_MISSING: "without the registers they need",
    End.TOO_DEEP: "too deep",
}


def summary(
    loaded: Loaded,
    format_name: str,
    needs: Needs,
    outputs: Sequence[str],
    notes: tuple[str, ...],
    *,
    verbose: bool,
) -> Iterator[str]:
    """Yield the summary of a conversion.

    ``outputs`` are the names of the files written, or ``standard output``; ``notes`` are sentences about the output.
    """
    yield contents_line(loaded)
    completed = "; ".join(_completed_parts(loaded))
    if completed:
        yield completed
    yield from _trouble_lines(loaded)
    yield from symbol_lines(loaded, _MAX_OBJECTS)
    yield from _advice_lines(loaded, needs)
    hint = needs.viewer.format(outputs[0]) if outputs[0] != "standard output" else ""
    written = f"wrote {format_name} to {', '.join(outputs)}" + "".join(f"; {text}" for text in notes)
    yield written + (f" ({hint})" if hint else "")
    if verbose:
        yield from _detail_lines(loaded)


def _advice_lines(loaded: Loaded, needs: Needs = _NEEDS_OF_TABLE) -> Iterator[str]:
    shows_dates, has_stacks = START_TIME in needs.honours and needs.dated, needs.of(CodeSettings).code is None
    for advice in advice_with_typed_options(loaded):
        matters = shows_dates if advice.concerns_dates else has_stacks
        if matters:
            yield f"hint: {advice.sentence()}"


def verbose_lines(loaded: Loaded) -> Iterator[str]:
    """Yield the lines of --verbose about a recording, for commands that print tables."""
    yield contents_line(loaded)
    yield from _completed_parts(loaded)
    yield from warning_lines(loaded, 1000)
    yield from _advice_lines(loaded)
    yield from _detail_lines(loaded)


def _completed_parts(loaded: Loaded) -> Iterator[str]:
    texts = (
        deferred_line(loaded.deferred),
        unwound_line(loaded.unwound),
        *(report.line() for report in loaded.reports),
    )
    yield from filter(None, texts)


def quality_lines(loaded: Loaded, verbose: bool = False) -> Iterator[str]:
    """Return lines on losses, named frames and advice; ``verbose``: on more."""
    if verbose:
        return verbose_lines(loaded)
    return chain(_trouble_lines(loaded), symbol_lines(loaded, _MAX_OBJECTS), _advice_lines(loaded))


def warning_lines(loaded: Loaded, max_objects: int = 1) -> Iterator[str]:
    """Yield lines about losses, and about unnamed frames in at most ``max_objects`` objects; nothing if all is well."""
    yield from _trouble_lines(loaded)
    report = loaded.symbols
    if report is not None and report.named < report.total:
        yield from symbol_lines(loaded, max_objects)


def contents_line(loaded: Loaded) -> str:
    """Return a line with the numbers of samples (of perf stat: readings), events and threads, and the time span."""
    sampled = [event for event in loaded.events if event.rows]
    span = loaded.profile.meta.duration_ns
    time = f", {span / 1e9:.3f} s" if span else ""
    event_count = plural(len(sampled), "event")
    kept, recorded = loaded.samples, loaded.recorded_samples
    samples = f"{kept:,} of {recorded:,}" if kept < recorded else f"{kept:,}"
    samples += f" {count_noun(event.name for event in sampled)}"
    if loaded.recording.session.is_perf_stat:
        samples = plural(sum(event.readings for event in sampled), "reading")
    events = [f"{short(event.name)} {event.rows:,}" for event in sampled]
    listed = f" ({shortened_list(events, 4)})" if events else ""
    return f"{samples} of {event_count}{listed}, {plural(count_threads(loaded.profile.threads), 'thread')}{time}"


def deferred_line(report: DeferredReport) -> str:
    """Return how many deferred user stacks were joined to their samples; "" if nothing was deferred."""
    if not report.samples:
        return ""
    joined_only_here = report.joined_early_record + report.joined_across_exec
    parts = [f"{report.joined:,} of {report.samples:,} deferred user stacks joined"]
    if joined_only_here:
        parts.append(f"perf 7.2 leaves {joined_only_here:,} of them unjoined")
    unjoined = report.missing + report.refused
    if unjoined:
        reasons = ", ".join(f"{reason} {count:,}" for reason, count in report.missing_reasons.items())
        parts.append(f"{unjoined:,} missing" + (f" ({reasons})" if reasons else ""))
    return "; ".join(parts)


def unwound_line(report: UnwindReport) -> str:
    """Return the share of user stack dumps that were fully unwound, and why others were not; "" without dumps."""
    if not report.samples:
        return ""
    complete = report.ends.get(End.COMPLETE, 0)
    parts = [
        f"{math.floor(1000 * complete / report.samples) / 10:g} % of {report.samples:,} user stack dumps fully unwound"
    ]
    for end, text in _UNWIND_ENDS.items():
        count = report.ends.get(end, 0)
        if count:
            parts.append(f"{count:,} {text}")
        if count and end is End.TRUNCATED and report.better_size > report.requested:
            parts[-1] += f" (record with --call-graph dwarf,{report.better_size})"
        if end is End.NO_UNWIND_INFO and report.cut_in_jit:
            parts[-1] += f" ({_jit_note(count, report)})"
    return ", ".join(parts)


def _jit_note(count: int, report: UnwindReport) -> str:
    subset = "" if report.cut_in_jit == count else f"{report.cut_in_jit:,} of them "
    remedy = "perf inject --jit where its jit-PID.dump is" if report.dumps_missing else JIT_UNWIND_ADVICE
    return f"{subset}in just-in-time compiled code: {remedy}"


def _trouble_lines(loaded: Loaded) -> Iterator[str]:
    counts = loaded.diagnostics.counts
    filter_counts = (counts[name] for name in ("samples_without_frames", "patterns_without_frame") if name in counts)
    text = "; ".join(count.text + (f": {short(count.first, 200)}" if count.first else "") for count in filter_counts)
    guess_counts = (counts[name] for name in ("jitdump_replaced", "perf_map_replaced") if name in counts)
    guesses = [f"guessed: {count.text_with_advice}" for count in guess_counts]
    yield from filter(None, (loss_line(loaded.diagnostics), text, *guesses))


def loss_line(diagnostics: Diagnostics) -> str:
    """Return all losses in one line, with advice on a missing end or else on the largest loss; "" if there are none."""
    losses = diagnostics.losses
    if not losses:
        return ""
    listed = ", ".join(count.text for count in losses)
    worst = diagnostics.missing_ends() or [max(losses, key=lambda count: count.count)]
    advice = worst[0].advice
    return f"lost: {listed}" + (f"; {advice}" if advice else "")


def symbol_lines(loaded: Loaded, max_objects: int) -> Iterator[str]:
    """Yield a line with the share of named frames, and at most ``max_objects`` objects that have unnamed frames."""
    report = loaded.symbols
    if report is None or not report.total:
        return
    unnamed_objects = report.unnamed_objects()
    objects = [
        f"{_OBJECT_NAMES.get(row.name) or short(row.name)} {row.unnamed:,}{_reason_text(row.build_id, row.reason)}"
        for row in unnamed_objects[:max_objects]
    ]
    more = f", and {len(unnamed_objects) - max_objects} more" if len(unnamed_objects) > max_objects else ""
    percentages = (math.floor(share * 1000) / 10 for share in (report.sample_share, report.share))
    named = "{:g} % of the samples and {:g} % of {:,} frames have names".format(*percentages, report.total)
    yield named + (f"; frames without names: {', '.join(objects)}{more}" if objects else "")


def _reason_text(build_id: str, reason: str) -> str:
    parts = [part for part in (f"build id {build_id[:12]}" if build_id else "", reason) if part]
    return f" ({': '.join(parts)})" if parts else ""


def _detail_lines(loaded: Loaded) -> Iterator[str]:
    session = loaded.recording.session
    if session.command_line:
        yield f"recorded with: {' '.join(session.command_line)}"
    for count in loaded.diagnostics.counts.values():
        advice = f"; {count.advice}" if count.advice else ""
        first = f" (first: {short(count.first, 200)})" if count.first else ""
        yield f"{count.severity}: {count.text}{first}{advice}"
