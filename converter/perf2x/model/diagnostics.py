"""Named counters of everything that was skipped, lost or guessed.

A file that cannot be read raises; a record that cannot be read is counted here and the work goes on.

Diagnostics in plain words: ``file_cut`` of 6,657 is "6,657 bytes missing at the end of the file".
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum

from msgspec import Struct, field


class Severity(StrEnum):
    """Effect of a kind of damage on the result."""

    INFO = "info"
    """Nothing is missing from the result."""
    GUESS = "guess"
    """The result rests on an assumption."""
    LOSS = "loss"
    """Something that was recorded, or should have been, is not in the result."""


class Count(Struct):
    """One kind of damage: how often, how bad, what to do, and where it was found first."""

    name: str
    severity: Severity
    advice: str
    count: int = 0
    first: str = ""

    @property
    def words(self) -> str:
        """Number and description in plain words: ``3 damaged records``."""
        return _in_words(self.name, self.count)

    @property
    def sentence(self) -> str:
        """The same, and what to do."""
        return f"{self.words}; {self.advice}" if self.advice else self.words


class Diagnostics(Struct):
    """All counters of one conversion, in the order of their first occurrence."""

    counts: dict[str, Count] = field(default_factory=dict)

    def add(self, name: str, severity: Severity, advice: str, count: int = 1, where: str = "") -> None:
        """Add ``count`` to the counter ``name`` (snake_case), which keeps the first call's advice and ``where``."""
        if count <= 0:
            return
        entry = self.counts.setdefault(name, Count(name, severity, advice, 0, where))
        entry.count += count

    def absorb(self, counts: Iterable[Count]) -> None:
        """Add the counts of another Diagnostics."""
        for count in counts:
            self.add(count.name, count.severity, count.advice, count.count, count.first)

    @property
    def losses(self) -> list[Count]:
        """Counts of what is not in the result."""
        return [count for count in self.counts.values() if count.severity is Severity.LOSS]

    def missing_ends(self) -> list[Count]:
        """Counts which say that the end of a recording is missing, so that nobody knows how many samples are."""
        return [count for count in self.counts.values() if count.name in ENDS_EARLY]

    @contextmanager
    def apart(self) -> Iterator[dict[str, Count]]:
        """Collect what is counted inside the block apart from all other counts, in the mapping that it is given."""
        others, self.counts = self.counts, {}
        try:
            yield self.counts
        finally:
            self.counts = others

    @property
    def lost(self) -> int:
        """Samples that perf and the kernel say they lost."""
        return self["lost_samples"] + self["lost_records"]

    def __getitem__(self, name: str) -> int:
        entry = self.counts.get(name)
        return entry.count if entry else 0


_WORDS = {
    "events_joined": ("event shown as one", "events shown as one"),
    "events_not_counted": ("event not counted", "events not counted"),
    "counter_readings": ("reading of a counter", "readings of counters"),
    "unfinished_file": ("unfinished recording", "unfinished recordings"),
    "file_cut": ("byte missing at the end of the file", "bytes missing at the end of the file"),
    "features_cut": ("header section missing at the end of the file", "header sections missing at the end of the file"),
    "features_malformed": ("damaged header section", "damaged header sections"),
    "features_unknown": ("header section of a newer perf", "header sections of a newer perf"),
    "wrapper_damaged": ("damaged compressed file", "damaged compressed files"),
    "blobs_cut": ("block of trace data cut short", "blocks of trace data cut short"),
    "bytes_after_last_record": (
        "unreadable byte after the last whole record",
        "unreadable bytes after the last whole record",
    ),
    "compressed_bytes_after_last_record": (
        "unreadable byte at the end of the compressed data",
        "unreadable bytes at the end of the compressed data",
    ),
    "compressed_records_broken": (
        "compressed record that cannot be unpacked",
        "compressed records that cannot be unpacked",
    ),
    "records_malformed": ("damaged record", "damaged records"),
    "records_of_unknown_type": ("record of unknown type", "records of unknown type"),
    "samples_malformed": ("damaged sample", "damaged samples"),
    "samples_of_unknown_event": ("sample of an unknown event", "samples of an unknown event"),
    "lost_records": ("lost record", "lost records"),
    "lost_samples": ("lost sample", "lost samples"),
    "throttled": ("pause of an event that fired too often", "pauses of events that fired too often"),
    "hardware_trace": ("block of hardware trace", "blocks of hardware trace"),
    "trace_truncated": ("piece of hardware trace cut short", "pieces of hardware trace cut short"),
    "trace_partial": ("piece of hardware trace with gaps", "pieces of hardware trace with gaps"),
    "trace_collision": ("piece of hardware trace with collisions", "pieces of hardware trace with collisions"),
    "spe_records_damaged": ("damaged record of Arm SPE", "damaged records of Arm SPE"),
    "spe_clock_missing": ("recording of Arm SPE without a clock", "recordings of Arm SPE without a clock"),
    "objects_unreadable": ("unreadable object file", "unreadable object files"),
    "build_id_mismatch": ("file of another build", "files of another build"),
    "objects_replaced": ("file changed after the recording", "files changed after the recording"),
    "vmlinux_refused": ("vmlinux of another build", "vmlinux files of another build"),
    "debuginfod_failed": ("failed debuginfod request", "failed debuginfod requests"),
    "debuginfod_unusable": ("unusable file from debuginfod", "unusable files from debuginfod"),
    "debug_info_in_dwo": ("missing .dwo file", "missing .dwo files"),
    "counts_without_lines": ("count without a line", "counts without a line"),
    "debug_info_in_dwz": ("missing dwz file", "missing dwz files"),
    "kallsyms_unreadable": ("unreadable copy of the kernel's symbols", "unreadable copies of the kernel's symbols"),
    "kernel_addresses_hidden": ("kernel symbol table without addresses", "kernel symbol tables without addresses"),
    "kernel_place_unknown": ("kernel symbol table at an unknown address", "kernel symbol tables at unknown addresses"),
    "perf_map_of_other_pid": ("perf map of another process id", "perf maps of another process id"),
    "perf_map_replaced": ("address whose code was replaced", "addresses whose code was replaced"),
    "jitdump_missing": ("missing jitdump file", "missing jitdump files"),
    "jitdump_lines_outside": ("line outside its compiled code", "lines outside their compiled code"),
    "jitdump_shared": ("process with a shared jitdump file", "processes with a shared jitdump file"),
    "jitdump_damaged": ("unreadable stretch of a jitdump file", "unreadable stretches of jitdump files"),
    "jitdump_replaced": ("piece of compiled code where other code was", "pieces of compiled code where other code was"),
    "text_lines_not_read": ("line of no sample", "lines of no sample"),
    "text_stacks_cut": ("stack that is too deep", "stacks that are too deep"),
    "no_timestamps": ("recording without times", "recordings without times"),
    "implausible_time": ("implausible time", "implausible times"),
    "samples_without_time": ("sample at an impossible time", "samples at an impossible time"),
    "implausible_cpu": ("implausible CPU number", "implausible CPU numbers"),
    "implausible_period": ("sample with an implausible period", "samples with an implausible period"),
    "fork_lines_cut": ("chain of forks that is too long", "chains of forks that are too long"),
    "samples_without_frames": ("sample left out that has no frame left", "samples left out that have no frame left"),
    "patterns_without_frame": ("pattern that no frame matches", "patterns that no frame matches"),
    "guessed_frames": ("guessed frame", "guessed frames"),
    "guessed_jit_frames": ("guessed frame of JIT compiled code", "guessed frames of JIT compiled code"),
    "damaged_unwind_info": ("object with damaged unwind information", "objects with damaged unwind information"),
    "stacks_not_unwound": ("user stack dump that was not unwound", "user stack dumps that were not unwound"),
    "waits_without_stack": ("wait without a stack", "waits without a stack"),
    "waits_without_end": ("wait without an end", "waits without an end"),
    "guessed_stacks_of_waits": ("wait with a guessed stack", "waits with a guessed stack"),
    "switches_not_sampled": ("context switch without a sample", "context switches without a sample"),
    "begins_without_end": ("beginning without an end", "beginnings without an end"),
    "ends_without_begin": ("end without a beginning", "ends without a beginning"),
    "tracepoints_not_sampled": ("tracepoint without a sample", "tracepoints without a sample"),
    "guessed_ends_of_waits": ("wait with a guessed end", "waits with a guessed end"),
    "registers_of_unknown_layout": (
        "sample with registers of an unknown layout",
        "samples with registers of an unknown layout",
    ),
}  # fmt: skip

ENDS_EARLY = frozenset({
    "unfinished_file", "file_cut", "features_cut", "wrapper_damaged", "blobs_cut", "bytes_after_last_record",
    "compressed_bytes_after_last_record", "compressed_records_broken",
})  # fmt: skip
"""Damage behind which nothing of a recording can be read."""
_LOST = {"lost_samples", "lost_records", "throttled"}
_COMMENT = re.compile(r"perf2x-(\w+):(\d+)")


def comment(name: str, count: int) -> str:
    """A diagnostic as profiles carry it in ``Meta.comments``."""
    return f"perf2x-{name}:{count}"


def losses(comments: Iterable[str]) -> list[tuple[str, int, str]]:
    """Name, number, and both in words, of what makes numbers wrong, from comments of a profile."""
    found = (match.groups() for text in comments if (match := _COMMENT.fullmatch(text)))
    counts = ((name, int(count)) for name, count in found if name in ENDS_EARLY | _LOST)
    return [(name, count, _in_words(name, count)) for name, count in counts]


def _in_words(name: str, count: int) -> str:
    """Describe ``count`` occurrences of a diagnostic; unknown names are split at their underscores."""
    one, several = _WORDS.get(name, (name.replace("_", " "),) * 2)
    return f"{count:,} {one if count == 1 else several}"
