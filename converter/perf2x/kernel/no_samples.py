"""Explains why a recording has no samples."""

from collections.abc import Mapping, Sequence

from perf2x.base.diagnostics import Count
from perf2x.errors import FormatError

_DAMAGE = {
    "wrapper_damaged": "the compressed file is cut off or damaged ({0.first})",
    "compressed_records_broken": "its compressed records cannot be unpacked ({0.first})",
    "samples_of_unknown_event": "all of its samples belong to events that the file does not define ({0.count:,})",
    "samples_malformed": "all of its samples are damaged ({0.count:,})",
    "bytes_after_last_record": "its records are damaged at {0.first}",
    "compressed_bytes_after_last_record": "its compressed records end inside the first sample",
    "file_cut": "the file lacks its last {0.count:,} bytes: copy it again completely",
    "records_malformed": "{0.count:,} of its records are damaged, the first one is {0.first}",
}
"""The reasons that follow from counters of damage (base/diagnostics.py), the most fundamental damage first.

A damaged compressed file, for instance, also ends inside a record: only ``wrapper_damaged`` is the reason.
"""


def no_samples(
    sources: Sequence[str], recorded_samples: int, has_events: bool, counts: Mapping[str, Count]
) -> FormatError:
    """Make the error that names the recordings and the `reason`."""
    message = f"{', '.join(sources)}: no samples: {reason(recorded_samples, has_events, counts)} ("
    return FormatError(message, "allow_empty", " continues anyway)")


def damage(counts: Mapping[str, Count]) -> str:
    """Describe the most fundamental damage; "" if there is none."""
    return next((words.format(counts[name]) for name, words in _DAMAGE.items() if name in counts), "")


def reason(recorded_samples: int, has_events: bool, counts: Mapping[str, Count]) -> str:
    """Explain an empty profile: by damage, the recording itself, or the user's options."""
    if damage_reason := damage(counts):
        return damage_reason
    if "unfinished_file" in counts:
        return "perf record was killed before it wrote a sample"
    if "counter_readings" in counts:
        return "perf stat was killed before it ended a round of readings"
    if not has_events:
        return "the file defines no event"
    if "hardware_trace" in counts:
        return f"there is only hardware trace; {counts['hardware_trace'].advice}"
    if "lost_samples" in counts or "lost_records" in counts:
        return "the kernel lost them all; record with a larger buffer (-m)"
    if recorded_samples:
        return f"the options exclude all of its {recorded_samples:,} samples"
    return "nothing was sampled while perf record ran"
