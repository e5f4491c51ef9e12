"""The filters, on columns of samples or on the finished profile.

NUMBER_COLUMNS, SAMPLE_CONDITIONS or PROFILE_FILTERS has an entry for each field of Filters except time ranges.
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
from perf2x.model.recording import Samples, matches_event_name

_GLOB = re.compile(r"[*?[]")
# Terms and modifiers at the end of an event's name (tools/perf/util/parse-events.l).
_DECORATION = re.compile(r"/[^/]*/[a-zA-Z]*$|:[ukhIGHpPSDWeb]+$")

_ADDRESSES = re.compile(r"(0x[0-9a-fA-F]{1,16})(?:-(0x[0-9a-fA-F]{1,16}))?")

_KERNEL_MODES = frozenset({CpuMode.KERNEL, CpuMode.GUEST_KERNEL, CpuMode.HYPERVISOR})
_USER_MODES = frozenset({CpuMode.USER, CpuMode.GUEST_USER})
_REMOVED_MODES = {"user": _KERNEL_MODES, "kernel": _USER_MODES}


NUMBER_COLUMNS = {"pids": "pid", "tids": "tid", "cpus": "cpu"}
# Functions of samples and the filter's value: (n,) whether each sample passes.
SAMPLE_CONDITIONS: dict[str, Callable[[Samples, object], Bools]] = {"no_idle": lambda samples, _: samples.pid != 0}


class Names(Frozen):
    """Names that patterns are matched against, most important first, as error messages list them."""

    kind: str
    """Kind of the names, for error messages: ``object``."""
    names: Sequence[str]
    aliases: Sequence[Sequence[str]] = field(default=())
    """Other spellings of each name; empty: no name has any."""

    def matching(self, patterns: Iterable[str], unmatched: UnmatchedFilters | None = None) -> set[int]:
        """Return the rows of ``names`` that match any of the patterns, which are names or globs.

        If no function matches, a pattern is compared again with `means_function`. Patterns without a match are reported
        to ``unmatched``. Raises OptionError for them if ``unmatched`` is None.
        """
        unmatched = unmatched or UnmatchedFilters()
        rows: set[int] = set()
        rows_by_spelling: dict[str, set[int]] = {}
        for row in range(len(self.names)):
            for text in (self.names[row], *(self.aliases[row] if self.aliases else ())):
                rows_by_spelling.setdefault(text, set()).add(row)
        for pattern in patterns:
            found = set(rows_by_spelling.get(pattern, ()))
            if _GLOB.search(pattern):
                found.update(*(same for text, same in rows_by_spelling.items() if fnmatchcase(text, pattern)))
            if not found and self.kind == "function":
                found.update(*(same for text, same in rows_by_spelling.items() if means_function(pattern, text)))
            unmatched.record(self.kind, pattern, found, self.names)
            rows |= found
        return rows


def keep_events(profile: Profile, patterns: tuple[str, ...], unmatched: UnmatchedFilters | None = None) -> Profile:
    """Keep samples of events whose names match a pattern; the first such event with samples becomes the default.

    A pattern is one of:

    - a name as recorded, or a glob;
    - a name without PMU, terms and modifiers: ``cycles`` for ``cycles/period=5/P``, ``cpu_core/cycles/``, ``cycles:P``;
    - an alias: ``cpu-cycles``;
    - for one of several events of the same name, the name and a number: ``cpu-clock#2``.
    """
    unmatched, rows, names = unmatched or UnmatchedFilters(), set[int](), numbered_names(profile.events)
    for pattern in patterns:
        found = {row for row, name in enumerate(names) if matches_event_pattern(pattern, name)}
        unmatched.record("event", pattern, found, names)
        rows |= found
    kept = keep_samples(profile, flatnonzero(np.isin(profile.samples.event, sorted(rows))))
    first = int(kept.samples.event.min()) if len(kept.samples) else min(rows, default=profile.default_event)
    return replace(kept, default_event=first)


def matches_event_pattern(pattern: str, name: str) -> bool:
    """Match a pattern of `keep_events` and an event's numbered name, such as ``cpu-clock#2``."""
    unnumbered = name.partition("#")[0]
    if pattern in (name, _DECORATION.sub("", unnumbered)):
        return True
    return matches_event_name(pattern, unnumbered) or fnmatchcase(unnumbered, pattern)


def keep_comms(profile: Profile, patterns: tuple[str, ...], unmatched: UnmatchedFilters | None = None) -> Profile:
    """Keep samples of threads whose name, at the time of the sample, matches a pattern."""
    comms = profile.threads.comm
    used = unique(comms)
    names = Names("thread called", [profile.strings[row] for row in used.tolist()])
    kept = used[sorted(names.matching(patterns, unmatched))]
    return keep_samples(profile, flatnonzero(np.isin(comms, kept)[profile.samples.thread]))


def keep_objects(profile: Profile, patterns: tuple[str, ...], unmatched: UnmatchedFilters | None = None) -> Profile:
    """Keep samples whose innermost frame is in a matching object; patterns match base names or paths."""
    leaf = _leaf_locations(profile)
    mapping = as_int64(np.append(profile.locations.mapping, -1)[leaf])
    rows = _heaviest_first(sum_at(mapping, profile.samples.count, len(profile.mappings) + 1)[:-1])
    filenames = [profile.strings[profile.mappings.filename[row]] for row in rows.tolist()]
    aliases = [_object_names(filename) for filename in filenames]
    found = Names("object", [names[0] for names in aliases], aliases).matching(patterns, unmatched)
    return keep_samples(profile, flatnonzero(np.isin(mapping, rows[sorted(found)])))


def keep_functions(profile: Profile, patterns: tuple[str, ...], unmatched: UnmatchedFilters | None = None) -> Profile:
    """Keep samples taken in matching functions or in code inlined into them.

    A pattern is one of:

    - a function's display name, its name in the symbol table, or its full name;
    - for code without a name: ``[libc.so.6]``;
    - recorded addresses: ``0x7f01…`` or ``0x7f01…-0x7f02…``, both ends included.
    """
    unmatched, leaf = unmatched or UnmatchedFilters(), _leaf_locations(profile)
    weight = sum_at(leaf, profile.samples.count, len(profile.locations) + 1)
    chosen = falses(len(profile.locations) + 1)
    for first_and_last in filter(None, map(_address_range, patterns)):
        chosen |= _at_addresses(profile, first_and_last, weight, unmatched)
    names = tuple(text for text in patterns if _address_range(text) is None)
    if names:
        chosen |= _locations_named(profile, names, weight, unmatched)
    return keep_samples(profile, flatnonzero(chosen[leaf]))


def _locations_named(profile: Profile, patterns: tuple[str, ...], weight: I64, unmatched: UnmatchedFilters) -> Bools:
    """(locations + 1,) True for locations with a matching frame; the last entry is for samples without a location."""
    locations, functions = profile.locations, profile.functions
    location = row_numbers(np.diff(locations.line_offsets))
    has_samples = weight[location] > 0
    # (functions,) samples of each function, including those in functions that were inlined into it
    total = sum_at(locations.line_function[has_samples], weight[location[has_samples]], len(functions))
    rows = _heaviest_first(total)  # of functions
    displayed = [profile.strings[functions.name[row]] for row in rows.tolist()]
    other_names = [_other_names(profile, profile.strings[functions.system_name[row]]) for row in rows.tolist()]
    object_names, locations_of_objects = _code_without_symbols(profile, weight)
    # names of functions, then of objects that contain code in no known function
    aliases = [*other_names, *([name] for name in object_names)]
    found = Names("function", [*displayed, *object_names], aliases).matching(patterns, unmatched)
    chosen_functions = rows[sorted(row for row in found if row < len(rows))]
    chosen = falses(len(locations) + 1)
    chosen[location[np.isin(locations.line_function, chosen_functions)]] = True
    for row in found:
        if row >= len(rows):
            chosen[locations_of_objects[row - len(rows)]] = True
    return chosen


def _other_names(profile: Profile, system_name: str) -> list[str]:
    full_name = profile.full_names.get(system_name)
    return [system_name] if full_name is None else [system_name, full_name]


def _at_addresses(profile: Profile, first_and_last: tuple[int, int], weight: I64, unmatched: UnmatchedFilters) -> Bools:
    """(locations + 1,) True where the recorded address is in a range; both ends are included."""
    first, last = first_and_last
    address = profile.locations.address
    is_inside = np.append((address >= np.uint64(first)) & (address <= np.uint64(last)), False)
    if (weight[is_inside] > 0).any():
        unmatched.matched("address", first_and_last)
    else:
        problem = f"no sample at {first:#x}" + (f" to {last:#x}" if last > first else "")
        unmatched.missed_with_error("address", first_and_last, lambda: OptionError(problem))
    return is_inside


def _address_range(text: str) -> tuple[int, int] | None:
    """None for a name."""
    found = _ADDRESSES.fullmatch(text)
    if found is None:
        return None
    first = int(found.group(1), 16)
    return first, int(found.group(2), 16) if found.group(2) else first


def _code_without_symbols(profile: Profile, weight: I64) -> tuple[list[str], list[I64]]:
    """Names (``[libc.so.6]``) and locations of sampled code without symbols."""
    locations = profile.locations
    has_no_symbol = (np.diff(locations.line_offsets) == 0) & ~locations.synthetic & (weight[:-1] > 0)
    locations_by_name: dict[str, list[I64]] = {}
    for mapping in unique(locations.mapping[has_no_symbol]).tolist():
        filename = profile.strings[profile.mappings.filename[mapping]] if mapping >= 0 else ""
        object_name = _object_names(filename)[0] or "unknown"
        name = object_name if object_name.startswith("[") else f"[{object_name}]"
        locations_by_name.setdefault(name, []).append(flatnonzero(has_no_symbol & (locations.mapping == mapping)))
    return list(locations_by_name), [np.concatenate(rows) for rows in locations_by_name.values()]


def keep_frames(profile: Profile, kept: str, _: UnmatchedFilters | None = None) -> Profile:
    """Keep only ``user`` or only ``kernel`` frames; drop samples without remaining frames."""
    if kept not in _REMOVED_MODES:
        raise SettingError("", "frames", f" {kept}: it must be user or kernel")
    is_kept = ~np.isin(profile.locations.mode, list(_REMOVED_MODES[kept]))
    if kept == "kernel":
        is_kept &= ~profile.locations.synthetic  # synthetic frames stand for missing user frames
    remaining = rewrite_stacks(profile, lambda rows: select_entries(rows, is_kept[rows.values]))
    return keep_samples(remaining, flatnonzero(remaining.samples.stack >= 0))


def keep_innermost(profile: Profile, frames: int) -> Profile:
    """Keep the ``frames`` innermost frames of every stack; 0 leaves empty stacks."""

    def last_entries(rows: ListArray) -> ListArray:
        lengths = np.minimum(rows.lengths, frames)
        return ListArray.of(rows.values, rows.offsets[1:] - lengths, lengths)

    return rewrite_stacks(profile, last_entries)


def _leaf_locations(profile: Profile) -> I64:
    """(samples,) location of the innermost frame, −1 for empty stacks."""
    return as_int64(np.append(profile.stacks.location, -1)[profile.samples.stack])


def _heaviest_first(total: I64) -> I64:
    """Rows with samples, most samples first."""
    has_samples = flatnonzero(total)
    return has_samples[argsort(-total[has_samples])]


def _object_names(filename: str) -> list[str]:
    """The short name comes first."""
    path = filename.partition("]")[0] + "]" if filename.startswith("[") and "]" in filename else filename
    return list(dict.fromkeys([path.rpartition("/")[2] or path, path, filename]))


# In the order in which filters are applied.
PROFILE_FILTERS: dict[str, Callable[..., Profile]] = {
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
    "max_stack": lambda profile, frames, _: keep_innermost(profile, frames),
}
BEFORE_SYMBOLS = frozenset({"comms", "frames", "dsos"})
