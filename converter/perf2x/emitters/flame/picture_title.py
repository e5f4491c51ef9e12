"""Title and subtitle of a flame graph, and the name of a recording in other formats."""

from perf2x.base.columnar import sum_at, sum_of, take_rows_of
from perf2x.base.diagnostics import losses_in_comments
from perf2x.model.number_format import plural
from perf2x.model.printable_text import base_name, one_line
from perf2x.model.profile import Profile, count_threads


def heading(profile: Profile) -> str:
    """Return the recorded command; if that is only perf's own name, the busiest process, or else the input file."""
    meta, threads = profile.meta, profile.threads
    if len(meta.command_line) > 1:
        return one_line(" ".join((base_name(meta.command_line[0]), *meta.command_line[1:])))
    # (strings,) samples of the process of that name; string 0 is "", of processes without a name
    process_samples = sum_at(threads.process[profile.samples.thread], profile.samples.count, len(profile.strings))
    process_samples[0] = 0
    busiest = profile.strings[int(process_samples.argmax())] if process_samples.any() else ""
    return one_line(busiest or base_name(meta.source)) or "perf2x"


def facts(profile: Profile, event: int | None = None) -> list[str]:
    """Return short facts for a subtitle: numbers of samples (of ``event``) and threads, time, machine, and losses."""
    meta, samples = profile.meta, profile.samples
    count = sum_of(samples.count if event is None else samples.count[samples.event == event])
    threads = take_rows_of(profile.threads, profile.threads.tid >= 0)  # negative: samples of an unknown thread
    texts = [plural(count, "sample"), *[plural(count_threads(threads), "thread")] * (len(threads) > 0)]
    texts += [f"{meta.duration_ns / 1e9:.2f} s"] if meta.duration_ns else []
    texts += [one_line(text) for text in (meta.hostname, meta.os_release, meta.arch) if text]
    return texts + [text for _, _, text in losses_in_comments(meta.comments)]
