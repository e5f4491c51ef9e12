"""Matches the events of two recordings, and objects that differ only in name or version."""

import re
from collections.abc import Iterator, Mapping

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import I32, sum_at, unique
from perf2x.errors import OptionError
from perf2x.model.filters.unmatched_filters import no_such_message
from perf2x.model.printable_text import base_name
from perf2x.model.profile import Profile
from perf2x.model.recording import parse_event_name
from perf2x.model.totals.totals import totals


def with_matching_events(before: Profile, after: Profile) -> tuple[Profile, list[str]]:
    """Return ``after`` with events named as in ``before``, and notes on the pair with its default event.

    Pairs have the same unit, and count the same event (`EventName.counts_like`) or are cpu-clock and task-clock. The
    most similar come first: equal names, equal modes (user, kernel …), equal PMUs, then the two clocks. Ties go to the
    default event of ``before``, then to the events with most samples.
    """
    pairs, paired_rows = dict[int, int](), set[int]()
    for _, old, new in sorted(_candidates(before, after)):
        if old not in pairs and new not in paired_rows:
            pairs[old] = new
            paired_rows.add(new)
    events = list(after.events)
    for old, new in pairs.items():
        events[new] = replace(events[new], name=before.events[old].name)
    notes = list(_notes_on_default_event(before, after, pairs)) if before.events else []
    return replace(after, events=tuple(events)), notes


def _candidates(
    before: Profile, after: Profile
) -> Iterator[tuple[tuple[bool, bool, bool, bool, bool, int, int], int, int]]:
    """Yield (sort key, row before, row after); the most similar pair of events has the smallest key."""
    olds, news = ([parse_event_name(event.name) for event in profile.events] for profile in (before, after))
    old_samples, new_samples = _samples_by_event(before), _samples_by_event(after)
    for old_row, old in enumerate(olds):
        for new_row, new in enumerate(news):
            first, second = before.events[old_row], after.events[new_row]
            are_clocks = {old.canonical, new.canonical} == _CLOCKS
            if (old.counts_like(new) or are_clocks) and first.unit == second.unit:
                differences = (are_clocks, first.name != second.name, old.modes != new.modes, old.pmu != new.pmu)
                rank = (old_row != before.default_event, -old_samples[old_row], -new_samples[new_row])
                yield (*differences, *rank), old_row, new_row


# Both measure CPU time; the default depends on the version of perf and the kernel.
_CLOCKS = {"cpu-clock", "task-clock"}


def _samples_by_event(profile: Profile) -> list[int]:
    count: list[int] = sum_at(profile.samples.event, profile.samples.count, len(profile.events)).tolist()
    return count


def _notes_on_default_event(before: Profile, after: Profile, pairs: dict[int, int]) -> Iterator[str]:
    """``pairs`` are rows in ``after`` by rows in ``before``."""
    old_row = before.default_event
    if old_row not in pairs:
        return
    new_row = pairs[old_row]
    old, new = before.events[old_row].name, after.events[new_row].name
    sampled = [_samples_by_event(before), _samples_by_event(after)]
    possible = [(row, other) for _, row, other in _candidates(before, after) if sampled[0][row] and sampled[1][other]]
    others = [before.events[row].name for row, other in possible if other == new_row and row != old_row]
    others += [after.events[other].name for row, other in possible if row == old_row and other != new_row]
    if {parse_event_name(name).canonical for name in (old, new)} == _CLOCKS:
        yield f"comparing {old} with {new}: both measure CPU time"
    if old != new and others:
        yield f"comparing {old} with {new}; {', '.join(others)} could be meant, too (select with --event)"
    modes = [parse_event_name(name).modes for name in (old, new)]
    if modes[0] != modes[1]:
        yield f"comparing {old} with {new}, which count in different modes; record both alike to compare totals"


# The kernel truncates the names of threads to this many bytes.
_COMM_BYTES = 15
# Objects with dissimilar names are paired if functions of both make up at least this share of each one's cost.
_MIN_COMMON_SHARE = 0.5
# They also need this many functions in common, because any two programs have a ``main``.
_MIN_COMMON_FUNCTIONS = 3
# Maximum number of objects of each side, because all pairs are compared.
_MAX_OBJECTS = 300


def match_objects(before: Profile, after: Profile, typed: dict[str, str]) -> tuple[Profile, list[tuple[str, str]]]:
    """Return ``after`` with objects named as in ``before``, and the renamed pairs (old name, new name).

    Only objects whose base names the other recording lacks are paired, the most similar ones first. Two objects match

    - if their names differ only in the version, and they have a function in common, or neither has named functions;
    - or if `_MIN_COMMON_FUNCTIONS` common functions make up `_MIN_COMMON_SHARE` of the cost of each object.

    ``typed`` (new name to old name) are the user's pairs; a pair of equal names excludes an object. Threads named after
    a program are renamed with it. Raises OptionError for a name that no object has.
    """
    olds, news = (_objects(profile) for profile in (before, after))
    for side, existing, names in (("before", olds, typed.values()), ("after", news, typed)):
        for name in names:
            if name not in (olds | news if typed.get(name) == name else existing):
                raise OptionError(no_such_message("object", name, sorted(existing), f"the recording {side} has"))
    unpaired = (olds - news - {*typed.values()}, news - olds - typed.keys())
    similar = dict(_similar_pairs(before, after, unpaired)) if all(unpaired) else {}
    names = {new: old for new, old in (typed | similar).items() if new != old}
    return _with_names(after, before, names), sorted((old, new) for new, old in names.items())


def _objects(profile: Profile) -> set[str]:
    return {base_name(profile.strings[row]) for row in profile.mappings.filename.tolist()} - {""}


def _similar_pairs(before: Profile, after: Profile, unpaired: tuple[set[str], set[str]]) -> Iterator[tuple[str, str]]:
    costs = [_costs(profile, names) for profile, names in zip((before, after), unpaired, strict=True)]
    candidates = sorted(
        (not same_stem, -share, old, new)
        for old, old_costs in costs[0].items()
        for new, new_costs in costs[1].items()
        for same_stem, share in [(_stem(old) == _stem(new), _share_in_common(old_costs, new_costs))]
        if (same_stem and (share or not (old_costs or new_costs)))
        or (share >= _MIN_COMMON_SHARE and len(old_costs.keys() & new_costs.keys()) >= _MIN_COMMON_FUNCTIONS)
    )
    paired: set[tuple[int, str]] = set()
    for _, _, old, new in candidates:
        if not paired & {(0, old), (1, new)}:
            paired |= {(0, old), (1, new)}
            yield new, old


def _costs(profile: Profile, objects: set[str]) -> dict[str, dict[str, int]]:
    """Return self costs by object and function; costs of 0 count as 1, so that these functions are compared, too."""
    costs_by_object: dict[str, dict[str, int]] = {}
    for row in totals(profile).rows:
        if row.object in objects:
            functions = costs_by_object.setdefault(row.object, {})
            if not row.name.startswith("["):
                functions[row.name] = max(row.self, 1)
    return dict(sorted(costs_by_object.items(), key=lambda item: (-sum(item[1].values()), item[0]))[:_MAX_OBJECTS])


def _share_in_common(old: Mapping[str, int], new: Mapping[str, int]) -> float:
    both = old.keys() & new.keys()
    return min(sum(cost[name] for name in both) / sum(cost.values()) if both else 0.0 for cost in (old, new))


def _stem(name: str) -> str:
    """Remove the version: ``libfoo-1.2.so`` and ``libfoo.so.1.3`` give ``libfoo.so``, ``app-3f2a9c`` gives ``app``."""
    first, *rest = re.split(r"[-._+~]", name)
    return ".".join([first.rstrip("0123456789"), *(part for part in rest if not re.search(r"\d", part))])


def _with_names(after: Profile, before: Profile, names: Mapping[str, str]) -> Profile:
    if not names:
        return after
    paths = {base_name(path): path for path in (before.strings[row] for row in before.mappings.filename.tolist())}
    string_numbers = {text: number for number, text in enumerate(after.strings)}

    def renumbered(column: I32, new_names: Mapping[str, str]) -> I32:
        new_number = np.arange(len(after.strings), dtype=np.int32)
        for number in unique(column).tolist():
            if (name := new_names.get(base_name(after.strings[number]))) is not None:
                new_number[number] = string_numbers.setdefault(name, len(string_numbers))
        return new_number[column]

    files, comms = (
        {new: paths[old] for new, old in names.items()},
        {new[:_COMM_BYTES]: old[:_COMM_BYTES] for new, old in names.items()},
    )
    mappings = replace(after.mappings, filename=renumbered(after.mappings.filename, files))
    threads = replace(
        after.threads, comm=renumbered(after.threads.comm, comms), process=renumbered(after.threads.process, comms)
    )
    return replace(after, strings=tuple(string_numbers), mappings=mappings, threads=threads)
