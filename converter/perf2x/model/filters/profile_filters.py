"""Implements each filter, either on columns of samples or on the finished profile.

A filter is a field of Filters with a row in COLUMNS, ROWS or FILTERS; applied_filters.py applies them. Filters on
profiles remove samples and frames only; drop_unused.py then removes rows of other tables that nothing refers to.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase

import numpy as np
from msgspec import field
from msgspec.structs import replace

from perf2x.base.abi import CpuMode
from perf2x.base.columnar import (
    I64,
    Bools,
    Frozen,
    ListArray,
    argsort,
    as_int64,
    falses,
    flatnonzero,
    row_numbers,
    sum_at,
    unique,
)
from perf2x.errors import OptionError, SettingError
from perf2x.model.filters import frame_filters
from perf2x.model.filters.unmatched_filters import UnmatchedFilters, means_function
from perf2x.model.profile import Profile, keep_samples, numbered_names, rewrite_stacks, select_entries
from perf2x.model.recording import Samples, means

_GLOB = re.compile(r"[*?[]")
_DECORATION = re.compile(r"/[^/]*/[a-zA-Z]*$|:[ukhIGHpPSDWeb]+$")
"""Terms and modifiers that perf appends to an event's name (tools/perf/util/parse-events.l)."""

_ADDRESSES = re.compile(r"(0x[0-9a-fA-F]{1,16})(?:-(0x[0-9a-fA-F]{1,16}))?")

_KERNEL_MODES = frozenset({CpuMode.KERNEL, CpuMode.GUEST_KERNEL, CpuMode.HYPERVISOR})
_USER_MODES = frozenset({CpuMode.USER, CpuMode.GUEST_USER})
_LEFT_OUT = {"user": _KERNEL_MODES, "kernel": _USER_MODES}


COLUMNS = {"pids": "pid", "tids": "tid", "cpus": "cpu"}
"""Filters by number: the column of samples that they compare before anything is looked up."""
ROWS: dict[str, Callable[[Samples, object], Bools]] = {"no_idle": lambda samples, _: samples.pid != 0}
"""Other filters on columns of samples. Each takes the samples and the field's value, and returns which samples pass."""


class Names(Frozen):
    """Names that a filter's patterns are matched against, most important first."""

    kind: str
    known: Sequence[str]
    aliases: Sequence[Sequence[str]] = field(default=())
    """Other spellings of each known name."""

    def matching(self, patterns: Iterable[str], unmatched: UnmatchedFilters | None = None) -> set[int]:
        """Return the rows of ``known`` that match a name or glob; functions also match as people type them.

        A pattern without a match is reported to ``unmatched``.
        """
        unmatched = unmatched or UnmatchedFilters()
        rows: set[int] = set()
        named: dict[str, set[int]] = {}
        for row in range(len(self.known)):
            for text in self._texts(row):
                named.setdefault(text, set()).add(row)
        for pattern in patterns:
            found = set(named.get(pattern, ()))
            if _GLOB.search(pattern):
                found.update(*(of_text for text, of_text in named.items() if fnmatchcase(text, pattern)))
            if not found and self.kind == "function":
                found.update(*(of_text for text, of_text in named.items() if means_function(pattern, text)))
            unmatched.record(self.kind, pattern, found, self.known)
            rows |= found
        return rows

    def _texts(self, row: int) -> tuple[str, ...]:
        return (self.known[row], *(self.aliases[row] if self.aliases else ()))


def keep_events(profile: Profile, patterns: tuple[str, ...], unmatched: UnmatchedFilters | None = None) -> Profile:
    """Keep samples of events whose names match a pattern.

    A pattern is a name as recorded, the name without PMU, terms and modifiers (``cycles`` for ``cycles/period=5/P``,
    ``cpu_core/cycles/`` and ``cycles:P``) or an alias (``cpu-cycles``), a glob, or, for one of several events of the
    same name, the name and a number (``cpu-clock#2``).
    """
    unmatched, rows, names = unmatched or UnmatchedFilters(), set[int](), numbered_names(profile.events)
    for text in patterns:
        found = {row for row, name in enumerate(names) if names_event(text, name)}
        unmatched.record("event", text, found, names)
        rows |= found
    kept = keep_samples(profile, flatnonzero(np.isin(profile.samples.event, sorted(rows))))
    first = int(kept.samples.event.min()) if len(kept.samples) else min(rows, default=profile.default_event)
    return replace(kept, default_event=first)


def names_event(pattern: str, name: str) -> bool:
    """Return whether a pattern of `keep_events` matches an event by its name, which may end in a number."""
    plain = name.partition("#")[0]
    return pattern in (name, _DECORATION.sub("", plain)) or means(pattern, plain) or fnmatchcase(plain, pattern)


def keep_comms(profile: Profile, patterns: tuple[str, ...], unmatched: UnmatchedFilters | None = None) -> Profile:
    """Keep samples of threads whose name, at the time of the sample, matches a pattern."""
    comms = profile.threads.comm
    used = unique(comms)
    names = Names("thread called", [profile.strings[row] for row in used.tolist()])
    kept = used[sorted(names.matching(patterns, unmatched))]
    return keep_samples(profile, flatnonzero(np.isin(comms, kept)[profile.samples.thread]))


def keep_objects(profile: Profile, patterns: tuple[str, ...], unmatched: UnmatchedFilters | None = None) -> Profile:
    """Keep samples whose innermost frame is in a matching object, named with or without its folder."""
    leaf = _leaf_locations(profile)
    mapping = as_int64(np.append(profile.locations.mapping, -1)[leaf])
    rows = _heaviest_first(sum_at(mapping, profile.samples.count, len(profile.mappings) + 1)[:-1])
    texts = [profile.strings[profile.mappings.filename[row]] for row in rows.tolist()]
    aliases = [_object_names(text) for text in texts]
    found = Names("object", [names[0] for names in aliases], aliases).matching(patterns, unmatched)
    return keep_samples(profile, flatnonzero(np.isin(mapping, rows[sorted(found)])))


def keep_functions(profile: Profile, patterns: tuple[str, ...], unmatched: UnmatchedFilters | None = None) -> Profile:
    """Keep samples taken in matching functions or in code inlined into them.

    A pattern is a function's shown, linked or full name; for code without a name, the name that outputs give it
    (``[libc.so.6]``); or recorded addresses, ``0x7f01…`` or ``0x7f01…-0x7f02…``, both ends included.
    """
    unmatched, leaf = unmatched or UnmatchedFilters(), _leaf_locations(profile)
    weight = sum_at(leaf, profile.samples.count, len(profile.locations) + 1)
    chosen = falses(len(profile.locations) + 1)
    for span in filter(None, map(_address_span, patterns)):
        chosen |= _at_addresses(profile, span, weight, unmatched)
    names = tuple(text for text in patterns if _address_span(text) is None)
    if names:
        chosen |= _called(profile, names, weight, unmatched)
    return keep_samples(profile, flatnonzero(chosen[leaf]))


def _called(profile: Profile, patterns: tuple[str, ...], weight: I64, unmatched: UnmatchedFilters) -> Bools:
    """Return which locations have a frame whose name matches.

    Shapes: ``weight`` (locations + 1,), the number of samples at each location; returns (locations + 1,). The last
    entry stands for samples without a location.
    """
    locations, functions = profile.locations, profile.functions
    owner = row_numbers(np.diff(locations.line_offsets))  # (lines,)
    costly = weight[owner] > 0
    total = sum_at(locations.line_function[costly], weight[owner[costly]], len(functions))
    rows = _heaviest_first(total)
    shown = [profile.strings[functions.name[row]] for row in rows.tolist()]
    linked = [_other_names(profile, profile.strings[functions.system_name[row]]) for row in rows.tolist()]
    nameless, places = _nameless(profile, weight)
    names = Names("function", [*shown, *nameless], [*linked, *([name] for name in nameless)])
    found = names.matching(patterns, unmatched)
    kept = rows[sorted(row for row in found if row < len(rows))]
    chosen = falses(len(locations) + 1)
    chosen[owner[np.isin(locations.line_function, kept)]] = True
    for row in found:
        if row >= len(rows):
            chosen[places[row - len(rows)]] = True
    return chosen


def _other_names(profile: Profile, system_name: str) -> list[str]:
    """Return a function's name as linked, and its full name if known."""
    full = profile.full_names.get(system_name)
    return [system_name] if full is None else [system_name, full]


def _at_addresses(profile: Profile, span: tuple[int, int], weight: I64, unmatched: UnmatchedFilters) -> Bools:
    """Return (locations + 1,) True where the recorded address is in the range ``span``.

    The range counts as unmatched if no sample was taken in it.
    """
    first, last = span
    address = profile.locations.address
    within = np.append((address >= np.uint64(first)) & (address <= np.uint64(last)), False)
    if (weight[within] > 0).any():
        unmatched.matched("address", span)
    else:
        words = f"no sample at {first:#x}" + (f" to {last:#x}" if last > first else "")
        unmatched.failed("address", span, lambda: OptionError(words))
    return within


def _address_span(text: str) -> tuple[int, int] | None:
    """Parse ``0x1000`` or ``0x1000-0x1fff``; None for names."""
    found = _ADDRESSES.fullmatch(text)
    if found is None:
        return None
    first = int(found.group(1), 16)
    return first, int(found.group(2), 16) if found.group(2) else first


def _nameless(profile: Profile, weight: I64) -> tuple[list[str], list[I64]]:
    """Return the names that outputs give to code without symbols, and the sampled locations of each."""
    locations = profile.locations
    bare = (np.diff(locations.line_offsets) == 0) & ~locations.synthetic & (weight[:-1] > 0)
    places: dict[str, list[I64]] = {}
    for mapping in unique(locations.mapping[bare]).tolist():
        text = profile.strings[profile.mappings.filename[mapping]] if mapping >= 0 else ""
        plain = _object_names(text)[0] or "unknown"
        name = plain if plain.startswith("[") else f"[{plain}]"
        places.setdefault(name, []).append(flatnonzero(bare & (locations.mapping == mapping)))
    return list(places), [np.concatenate(rows) for rows in places.values()]


def keep_frames(profile: Profile, kind: str, _: UnmatchedFilters | None = None) -> Profile:
    """Remove kernel frames, or user frames, from every stack; drop samples without remaining frames."""
    if kind not in _LEFT_OUT:
        raise SettingError("", "frames", f" {kind}: it must be user or kernel")
    keep = ~np.isin(profile.locations.mode, list(_LEFT_OUT[kind]))
    if kind == "kernel":
        keep &= ~profile.locations.synthetic  # synthetic frames stand in for missing user frames
    cut = rewrite_stacks(profile, lambda rows: select_entries(rows, keep[rows.values]))
    return keep_samples(cut, flatnonzero(cut.samples.stack >= 0))


def innermost(profile: Profile, frames: int) -> Profile:
    """Cut every stack to its innermost frames; 0 keeps none."""

    def cut(rows: ListArray) -> ListArray:
        lengths = np.minimum(rows.lengths, frames)
        return ListArray.of(rows.values, rows.offsets[1:] - lengths, lengths)

    return rewrite_stacks(profile, cut)


def _leaf_locations(profile: Profile) -> I64:
    """Return the location of each sample's innermost frame, −1 for empty stacks."""
    return as_int64(np.append(profile.stacks.location, -1)[profile.samples.stack])


def _heaviest_first(total: I64) -> I64:
    """Return the rows that have samples, most samples first; ``total`` (rows,) is each row's number of samples."""
    used = flatnonzero(total)
    return used[argsort(-total[used])]


def _object_names(filename: str) -> list[str]:
    """Return the names of an object: libc.so.6 and /lib/libc.so.6; of [kernel.kallsyms]_text also [kernel.kallsyms]."""
    plain = filename.partition("]")[0] + "]" if filename.startswith("[") and "]" in filename else filename
    return list(dict.fromkeys([plain.rpartition("/")[2] or plain, plain, filename]))


FILTERS: dict[str, Callable[..., Profile]] = {
    "comms": keep_comms,
    "frames": keep_frames,
    "dsos": keep_objects,
    "symbols": keep_functions,
    "ignore": frame_filters.ignore,
    "focus": frame_filters.focus,
    "skip_after": frame_filters.skip_after,
    "hide": frame_filters.hide,
    "keep": frame_filters.keep,
    "collapse": frame_filters.collapse,
    "rename": frame_filters.rename,
    "max_stack": lambda profile, frames, _: innermost(profile, frames),
}
"""Filters on the finished profile by field, in the order in which they are applied.

Each is called with the profile, the field's value, and the UnmatchedFilters that collect patterns without a match.
"""
BEFORE_SYMBOLS = frozenset({"comms", "frames", "dsos"})
"""Filters that need no function names."""
