"""Pairs of tracepoints that begin and end something: how users write them, and what tells which ends belong to which.

Sources of truth: include/trace/events/{lock,block,irq,syscalls}.h. A mutex says that it is contended once more whenever
it stops spinning and sleeps (kernel/locking/mutex.c), and says once that this is over: the first beginning counts, as
in ``perf lock contention``. A request that is put back into its queue is issued again: the last one counts.
"""

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct

from perf2x.base.errors import SettingError
from perf2x.model.recording.recorded_names import event_name


class Rule(StrEnum):
    """Beginning that an end belongs to, where several of one key are open."""

    FIRST = "first"
    LAST = "last"
    NESTED = "nested"
    """The last one that has no end yet: calls that call themselves."""


class Pair(Struct, frozen=True):
    """A pair of tracepoints; names are with or without their subsystem."""

    begin: str
    end: str
    keys: tuple[str, ...] = ()
    """Fields of both, or ``tid``, ``pid`` and ``cpu`` of the sample; empty: all fields that both have, and ``tid``."""
    rule: Rule = Rule.NESTED

    @property
    def name(self) -> str:
        """Name of the event of durations."""
        return f"{_bare(self.begin)}:{_bare(self.end)}"


_DISK = ("dev", "sector")
_KNOWN = {
    "contention_begin:contention_end": (("lock_addr", "tid"), Rule.FIRST),
    "block_rq_insert:block_rq_issue": (_DISK, Rule.LAST),
    "block_rq_issue:block_rq_complete": (_DISK, Rule.LAST),
    "block_io_start:block_io_done": (_DISK, Rule.LAST),
    "block_bio_queue:block_bio_complete": (_DISK, Rule.LAST),
    "irq_handler_entry:irq_handler_exit": (("irq", "cpu"), Rule.LAST),
    "softirq_entry:softirq_exit": (("vec", "cpu"), Rule.LAST),
    "sys_enter:sys_exit": (("id", "tid"), Rule.LAST),
}
"""Keys and rules of pairs by name."""

PRESETS = {
    "locks": ("lock:contention_begin:contention_end",),
    "block": ("block:block_rq_issue:block_rq_complete",),
    "irq": ("irq:irq_handler_entry:irq_handler_exit", "irq:softirq_entry:softirq_exit"),
}
"""Pairs of each preset; a recording must have one of them."""


def parse_pairs(texts: Iterable[str]) -> list[list[Pair]]:
    """Parse pairs and names of presets; of each list a recording must have one pair."""
    return [[parse_pair(one) for one in PRESETS.get(text, (text,))] for text in dict.fromkeys(texts)]


def parse_pair(text: str) -> Pair:
    """Parse ``[SYSTEM:]BEGIN:[SYSTEM:]END[/KEY,…]``; a system in front of the first holds for both.

    ``irq_handler_entry:exit`` is short for names that differ in their last word. OptionError for anything else.
    """
    names, slash, keys = text.partition("/")
    parts = names.split(":")
    if not 2 <= len(parts) <= 4 or not all(parts) or (slash and not keys):
        words = f" {text!r}: expected BEGIN:END or BEGIN:END/KEY,KEY, such as lock:begin:end/addr,tid"
        raise SettingError("", "pairs", words)
    if len(parts) == 3:
        parts = [parts[0], parts[1], parts[0], parts[2]]
    begin, end = (":".join(half) for half in (parts[: len(parts) // 2], parts[len(parts) // 2 :]))
    if begin == end:
        raise SettingError("", "pairs", f" {text!r}: both are the same event")
    found = Pair(begin, end)
    known, rule = _KNOWN.get(found.name, ((), Rule.NESTED))
    return Pair(begin, end, tuple(keys.split(",")) if keys else known, rule)


def whole_name(pair: Pair) -> Pair:
    """Return the pair whose end was given by its last word alone: ``irq_handler_entry:exit``."""
    system, colon, end = pair.end.rpartition(":")
    stem = _bare(pair.begin).rpartition("_")[0]
    return parse_pair(f"{pair.begin}:{system}{colon}{stem}_{end}" + (f"/{','.join(pair.keys)}" if pair.keys else ""))


def is_event(wanted: str, recorded: str) -> bool:
    """Tell whether a recorded event is the wanted one: with its subsystem, or without."""
    name = event_name(recorded).event
    return wanted in (name, _bare(name))


def _bare(name: str) -> str:
    return name.rpartition(":")[2]
