"""Counts everything that a conversion skipped, lost or guessed, by name.

A file that cannot be read raises an error; a record that cannot be read is counted here, and the conversion continues.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum

from msgspec import Struct, field


class Severity(StrEnum):
    """The effect of a kind of damage on the result."""

    INFO = "info"
    """Nothing is missing from the result."""
    GUESS = "guess"
    """The result rests on an assumption."""
    LOSS = "loss"
    """Something that was recorded, or should have been, is not in the result."""


class Count(Struct):
    """One counter: how often something occurred, its severity, advice for the user, and where it occurred first."""

    name: str
    severity: Severity
    advice: str
    count: int = 0
    first: str = ""

    @property
    def text(self) -> str:
        """The count in words: ``3 damaged records``."""
        return _count_in_words(self.name, self.count)

    @property
    def text_with_advice(self) -> str:
        """The count in words, and the advice, if there is any."""
        return f"{self.text}; {self.advice}" if self.advice else self.text


class Diagnostics(Struct):
    """All counters of one conversion, in order of first occurrence."""

    counts: dict[str, Count] = field(default_factory=dict)

    def add(self, name: str, advice: str, count: int = 1, where: str = "", severity: Severity | None = None) -> None:
        """Add ``count`` to the counter ``name`` (snake_case).

        ``advice`` says what the user can do, ``where`` says where this occurred. ``severity``: by default, the one in
        _DESCRIPTIONS, or LOSS if the name is not listed there. A counter keeps the advice, place and severity of the
        first call.
        """
        if count <= 0:
            return
        entry = self.counts.setdefault(name, Count(name, severity or _declared(name)[0], advice, 0, where))
        entry.count += count

    def absorb(self, counts: Iterable[Count]) -> None:
        """Add the counts of another Diagnostics."""
        for count in counts:
            self.add(count.name, count.advice, count.count, count.first, count.severity)

    @property
    def losses(self) -> list[Count]:
        """Counts of data that is missing from the result."""
        return [count for count in self.counts.values() if count.severity is Severity.LOSS]

    def missing_ends(self) -> list[Count]:
        """Return the counters of damage after which the rest of a recording is missing."""
        return [count for count in self.counts.values() if count.name in ENDS_EARLY]

    @contextmanager
    def counted_apart(self) -> Iterator[dict[str, Count]]:
        """Inside the block, count in the yielded mapping (by name of the counter), and not in ``counts``."""
        counts_before, self.counts = self.counts, {}
        try:
            yield self.counts
        finally:
            self.counts = counts_before

    @property
    def lost(self) -> int:
        """The number of samples, and of records of any type, that perf and the kernel reported as lost."""
        return self["lost_samples"] + self["lost_records"]

    def __getitem__(self, name: str) -> int:
        entry = self.counts.get(name)
        return entry.count if entry else 0


_DESCRIPTIONS = {
    Severity.LOSS: {
        "events_not_counted": "event[s] not counted",
        "unfinished_file": "unfinished recording[s]",
        "file_cut": "byte[s] missing at the end of the file",
        "features_cut": "header section[s] missing at the end of the file",
        "wrapper_damaged": "damaged compressed file[s]",
        "blobs_cut": "block[s] of trace data cut short",
        "bytes_after_last_record": "unreadable byte[s] after the last whole record",
        "compressed_bytes_after_last_record": "unreadable byte[s] at the end of the compressed data",
        "compressed_records_broken": "compressed record[s] that cannot be unpacked",
        "records_malformed": "damaged record[s]",
        "samples_malformed": "damaged sample[s]",
        "samples_of_unknown_event": "sample[s] of an unknown event",
        "lost_records": "lost record[s]",
        "lost_samples": "lost sample[s]",
        "throttled": "pause[s] of [an |]event[s] that fired too often",
        "hardware_trace": "block[s] of hardware trace",
        "trace_truncated": "piece[s] of hardware trace cut short",
        "trace_partial": "piece[s] of hardware trace with gaps",
        "trace_collision": "piece[s] of hardware trace with collisions",
        "spe_records_damaged": "damaged record[s] of Arm SPE",
        "objects_unreadable": "unreadable object file[s]",
        "objects_replaced": "file[s] changed after the recording",
        "vmlinux_refused": "vmlinux[ files] of another build",
        "debuginfod_failed": "failed debuginfod request[s]",
        "debuginfod_unusable": "unusable file[s] from debuginfod",
        "counts_without_lines": "count[s] without a line",
        "kallsyms_unreadable": "unreadable [copy|copies] of the kernel's symbols",
        "kernel_addresses_hidden": "kernel symbol table[s] without addresses",
        "jitdump_missing": "missing jitdump file[s]",
        "jitdump_shared": "process[es] with a shared jitdump file",
        "jitdump_damaged": "unreadable stretch[es] of [a |]jitdump file[s]",
        "text_lines_not_read": "line[s] of no sample",
        "text_stacks_cut": "stack[s] that [is|are] too deep",
        "implausible_time": "implausible time[s]",
        "samples_without_time": "sample[s] at an impossible time",
        "implausible_cpu": "implausible CPU number[s]",
        "implausible_period": "sample[s] with an implausible period",
        "fork_lines_cut": "chain[s] of forks that [is|are] too long",
        "stacks_not_unwound": "user stack dump[s] that [was|were] not unwound",
        "switches_not_sampled": "context switch[es] without a sample",
        "registers_of_unknown_layout": "sample[s] with registers of an unknown layout",
        "recordings_failed": "recording[s] failed",
    },
    Severity.GUESS: {
        "features_malformed": "damaged header section[s]",
        "spe_clock_missing": "recording[s] of Arm SPE without a clock",
        "build_id_mismatch": "file[s] of another build",
        "kernel_place_unknown": "kernel symbol table[s] at [an |]unknown address[es]",
        "perf_map_of_other_pid": "perf map[s] of another process id",
        "perf_map_replaced": "address[es] whose code was replaced",
        "jitdump_lines_outside": "line[s] outside [its|their] compiled code",
        "jitdump_replaced": "piece[s] of compiled code where other code was",
        "no_timestamps": "recording[s] without times",
        "guessed_frames": "guessed frame[s]",
        "guessed_jit_frames": "guessed frame[s] of JIT compiled code",
        "damaged_unwind_info": "object[s] with damaged unwind information",
        "guessed_stacks_of_waits": "wait[s] with a guessed stack",
        "guessed_ends_of_waits": "wait[s] with a guessed end",
        "readings_extrapolated": "reading[s] extrapolated",
    },
    Severity.INFO: {
        "events_joined": "event[s] shown as one",
        "counter_readings": "reading[s] of [a |]counter[s]",
        "features_unknown": "header section[s] of a newer perf",
        "records_of_unknown_type": "record[s] of unknown type",
        "debug_info_in_dwo": "missing .dwo file[s]",
        "debug_info_in_dwz": "missing dwz file[s]",
        "samples_without_frames": "sample[s] left out that [has|have] no frame left",
        "patterns_without_frame": "pattern[s] that no frame matches",
        "waits_without_stack": "wait[s] without a stack",
        "waits_without_end": "wait[s] without an end",
    },
}
"""The description of each counter, by severity and name.

Brackets contain what depends on the count: ``[is|are]`` is "is" for a count of one, and "are" for any other; ``[s]`` is
left out for a count of one.
"""

ENDS_EARLY = frozenset({
    "unfinished_file", "file_cut", "features_cut", "wrapper_damaged", "blobs_cut", "bytes_after_last_record",
    "compressed_bytes_after_last_record", "compressed_records_broken",
})  # fmt: skip
"""Counters of damage after which no more of a recording can be read."""
_SAMPLES_LOST = {"lost_samples", "lost_records", "throttled"}  # counters of samples that perf could not write or take
_BRACKETS = re.compile(r"\[(?:([^|\]]*)\|)?([^\]]*)\]")  # groups: alternatives for a count of one, and for others
_COMMENT = re.compile(r"perf2x-(\w+):(\d+)")


def _declared(name: str) -> tuple[Severity, str]:
    found = ((severity, by_name[name]) for severity, by_name in _DESCRIPTIONS.items() if name in by_name)
    return next(found, (Severity.LOSS, name.replace("_", " ")))


def comment(name: str, count: int) -> str:
    """Format a counter as a comment in a profile (``Meta.comments``)."""
    return f"perf2x-{name}:{count}"


def losses_in_comments(comments: Iterable[str]) -> list[tuple[str, int, str]]:
    """Return (name, count, count in words) of each loss that distorts figures, from the comments of a profile.

    In a merged profile, several comments may have the same counter; their counts are added.
    """
    counts = Counter[str]()
    for text in comments:
        if match := _COMMENT.fullmatch(text):
            counts[match[1]] += int(match[2])
    distorting = ENDS_EARLY | _SAMPLES_LOST
    return [(name, count, _count_in_words(name, count)) for name, count in counts.items() if name in distorting]


def _count_in_words(name: str, count: int) -> str:
    _, description = _declared(name)
    return f"{count:,} {_BRACKETS.sub(lambda found: found[1] or '' if count == 1 else found[2], description)}"
