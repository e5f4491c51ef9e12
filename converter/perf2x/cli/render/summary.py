"""The summary of a conversion on standard error: at most five lines, and one for each piece of advice."""

import math
from collections.abc import Iterator, Sequence
from itertools import chain

from perf2x.base.diagnostics import Diagnostics
from perf2x.base.mapping_names import VDSO_32
from perf2x.cli.render.hints import advice_with_inputs
from perf2x.kernel.load_result import Loaded
from perf2x.model.format_features import CodeSettings
from perf2x.model.number_format import counted_as, first_of, plural
from perf2x.model.plugin_options import START_TIME, Needs
from perf2x.model.printable_text import short
from perf2x.model.profile import count_threads
from perf2x.stitcher.call_graphs import DESCRIBED_CODE, UnwindReport
from perf2x.stitcher.deferred.deferred_join import DeferredReport
from perf2x.stitcher.unwind.unwound_chains import End

_NAMED_OBJECTS = 3
_OBJECTS = {VDSO_32: "the 32-bit vDSO"}
_TABLE = Needs()
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
    name: str,
    needs: Needs,
    where: Sequence[str],
    notes: tuple[str, ...],
    *,
    verbose: bool,
) -> Iterator[str]:
    """Yield lines for standard error: contents, deferred stacks, losses, names, and the files written (``where``)."""
    yield contents_line(loaded)
    completed = "; ".join(_completed_parts(loaded))
    if completed:
        yield completed
    yield from _troubles(loaded)
    yield from symbol_lines(loaded, _NAMED_OBJECTS)
    yield from _advice_lines(loaded, needs)
    hint = needs.viewer.format(where[0]) if where[0] != "standard output" else ""
    written = f"wrote {name} to {', '.join(where)}" + "".join(f"; {text}" for text in notes)
    yield written + (f" ({hint})" if hint else "")
    if verbose:
        yield from _detail_lines(loaded)


def _advice_lines(loaded: Loaded, needs: Needs = _TABLE) -> Iterator[str]:
    """Yield advice on recording, as far as it affects an output with ``needs``."""
    is_dated, has_stacks = START_TIME in needs.honours and needs.dated, needs.of(CodeSettings).code is None
    for one in advice_with_inputs(loaded):
        if is_dated if one.for_dates else has_stacks:
            yield f"hint: {one.words()}"


def verbose_lines(loaded: Loaded) -> Iterator[str]:
    """Yield lines of --verbose about a recording, for commands that print tables."""
    yield contents_line(loaded)
    yield from _completed_parts(loaded)
    yield from warning_lines(loaded, 1000)
    yield from _advice_lines(loaded)
    yield from _detail_lines(loaded)


def _completed_parts(loaded: Loaded) -> Iterator[str]:
    """Yield texts about completed stacks, without empty ones."""
    texts = (deferred_line(loaded.deferred), unwound_line(loaded.unwound), *(one.line() for one in loaded.reports))
    yield from filter(None, texts)


def quality_lines(loaded: Loaded, verbose: bool = False) -> Iterator[str]:
    """Yield losses, the share of named frames, and how to record better; with --verbose, also ``verbose_lines``."""
    if verbose:
        return verbose_lines(loaded)
    return chain(_troubles(loaded), symbol_lines(loaded, _NAMED_OBJECTS), _advice_lines(loaded))


def warning_lines(loaded: Loaded, most: int = 1) -> Iterator[str]:
    """Yield warnings about losses and unnamed frames."""
    yield from _troubles(loaded)
    report = loaded.symbols
    if report is not None and report.named < report.total:
        yield from symbol_lines(loaded, most)


def contents_line(loaded: Loaded) -> str:
    """Return samples and events, threads, and the time between the first and the last sample."""
    counted = [event for event in loaded.events if event.rows]
    span = loaded.profile.meta.duration_ns
    time = f", {span / 1e9:.3f} s" if span else ""
    kinds = plural(len(counted), "event")
    kept, recorded = loaded.samples, loaded.recorded_samples
    samples = f"{kept:,} of {recorded:,}" if kept < recorded else f"{kept:,}"
    samples += f" {counted_as(event.name for event in counted)}"
    if loaded.recording.session.counts:
        samples = plural(sum(event.readings for event in counted), "reading")
    events = [f"{short(event.name)} {event.rows:,}" for event in counted]
    listed = f" ({first_of(events, 4)})" if events else ""
    return f"{samples} of {kinds}{listed}, {plural(count_threads(loaded.profile.threads), 'thread')}{time}"


def deferred_line(report: DeferredReport) -> str:
    """Return the number of deferred user stacks that were joined; "" if nothing was deferred."""
    if not report.samples:
        return ""
    beyond = report.joined_early_record + report.joined_across_exec
    parts = [f"{report.joined:,} of {report.samples:,} deferred user stacks joined"]
    if beyond:
        parts.append(f"perf 7.2 leaves {beyond:,} of them unjoined")
    unjoined = report.missing + report.refused
    if unjoined:
        reasons = ", ".join(f"{reason} {count:,}" for reason, count in report.missing_reasons.items())
        parts.append(f"{unjoined:,} missing" + (f" ({reasons})" if reasons else ""))
    return "; ".join(parts)


def unwound_line(report: UnwindReport) -> str:
    """Return the share of stack dumps unwound to their outermost frame, and why others were not; "" without any."""
    if not report.samples:
        return ""
    whole = report.ends.get(End.COMPLETE, 0)
    parts = [
        f"{math.floor(1000 * whole / report.samples) / 10:g} % of {report.samples:,} user stack dumps fully unwound"
    ]
    for end, text in _UNWIND_ENDS.items():
        count = report.ends.get(end, 0)
        if count:
            parts.append(f"{count:,} {text}")
        if count and end is End.TRUNCATED and report.better_size > report.requested:
            parts[-1] += f" (record with --call-graph dwarf,{report.better_size})"
        if end is End.NO_UNWIND_INFO and report.cut_in_jit:
            parts[-1] += f" ({_compiled_code(count, report)})"
    return ", ".join(parts)


def _compiled_code(count: int, report: UnwindReport) -> str:
    """Return how many of ``count`` stacks without unwind info end in JIT-compiled code, and what helps."""

    some = "" if report.cut_in_jit == count else f"{report.cut_in_jit:,} of them "
    helps = "perf inject --jit where its jit-PID.dump is" if report.dumps_missing else DESCRIBED_CODE
    return f"{some}in just-in-time compiled code: {helps}"


def _troubles(loaded: Loaded) -> Iterator[str]:
    """Yield lines about losses, frame filters, and names that may be wrong."""
    counts = loaded.diagnostics.counts
    filtered = (counts[name] for name in ("samples_without_frames", "patterns_without_frame") if name in counts)
    text = "; ".join(count.words + (f": {short(count.first, 200)}" if count.first else "") for count in filtered)
    guessed = (counts[name] for name in ("jitdump_replaced", "perf_map_replaced") if name in counts)
    replaced = [f"guessed: {count.sentence}" for count in guessed]
    yield from filter(None, (loss_line(loaded.diagnostics), text, *replaced))


def loss_line(diagnostics: Diagnostics) -> str:
    """Return all losses in one line, "" without any; it ends with advice on a missing end, else on the largest loss."""
    losses = diagnostics.losses
    if not losses:
        return ""
    listed = ", ".join(count.words for count in losses)
    worst = diagnostics.missing_ends() or [max(losses, key=lambda count: count.count)]
    advice = worst[0].advice
    return f"lost: {listed}" + (f"; {advice}" if advice else "")


def symbol_lines(loaded: Loaded, most: int) -> Iterator[str]:
    """Yield the share of named frames, and at most ``most`` objects without names; nothing with --no-symbols."""
    report = loaded.symbols
    if report is None or not report.total:
        return
    lacking = report.lacking()
    named = [
        f"{_OBJECTS.get(row.name) or short(row.name)} {row.unnamed:,}{_reason_text(row.build_id, row.reason)}"
        for row in lacking[:most]
    ]
    more = f", and {len(lacking) - most} more" if len(lacking) > most else ""
    shares = (math.floor(share * 1000) / 10 for share in (report.sample_share, report.share))
    share = "{:g} % of the samples and {:g} % of {:,} frames have names".format(*shares, report.total)
    yield share + (f"; frames without names: {', '.join(named)}{more}" if named else "")


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
        yield f"{count.severity}: {count.words}{first}{advice}"
