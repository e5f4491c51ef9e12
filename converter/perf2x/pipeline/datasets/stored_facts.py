"""Facts of a stored recording that only perf2x reads again: JSON in a column of the table of recordings."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import DecodeError, Struct, field, json

from perf2x.base.errors import FormatError
from perf2x.model.diagnostics import Count
from perf2x.stitcher.call_graphs import UnwindReport
from perf2x.stitcher.deferred.deferred_report import DeferredReport


class StoredFacts(Struct, frozen=True, omit_defaults=True):
    """Reports on reading, stitching and unwinding; missing ones have their defaults."""

    deferred: DeferredReport = field(default_factory=DeferredReport)
    unwound: UnwindReport = field(default_factory=lambda: UnwindReport({}))
    record_counts: Mapping[str, int] = field(default_factory=dict)
    counts: tuple[Count, ...] = ()
    """Diagnostics, also of names that were looked up on the way."""
    comments: tuple[str, ...] = ()
    """Meta.comments, without those that are made of ``deferred`` and ``counts``."""
    kernel_looked_up: bool = False
    """Whether names of kernel addresses outside all mappings were looked up."""
    samples_say: tuple[str, ...] = ()
    """``cpu`` and ``cgroup`` where samples of some event say them."""
    clock_id: int = -1
    """Meta.clock_id."""


def facts_text(facts: StoredFacts) -> str:
    """Encode facts as JSON."""
    return json.encode(facts).decode()


def parse_facts(text: str, source: str) -> StoredFacts:
    """Decode facts; FormatError when they are damaged."""
    try:
        return json.decode(text, type=StoredFacts)
    except (DecodeError, ValueError) as error:
        raise FormatError(f"{source}: damaged: its column facts cannot be read ({error})") from None
