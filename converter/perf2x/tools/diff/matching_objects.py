"""Matches the events of two recordings, and objects that differ only in name or version."""

import re
from collections.abc import Iterator, Mapping

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import I32, sum_at, unique
from perf2x.errors import OptionError
from perf2x.model.filters.unmatched_filters import no_such
from perf2x.model.printable_text import base_name
from perf2x.model.profile import Profile
from perf2x.model.recording import event_name
from perf2x.model.totals.totals import totals


def renamed(before: Profile, after: Profile) -> tuple[Profile, list[str]]:
    """Return ``after`` with events named as their counterparts in ``before``, and notes on differences.

    Names are compared without PMU prefix and modifiers. The most similar names are paired first: equal ones, then those
    that count in the same modes, then those of the same PMU. Among equally similar pairs, that of the default event of
    ``before`` comes first, then those with most samples.
    """
    pairs, taken = dict[int, int](), set[int]()
    for _, old, new in sorted(_candidates(before, after)):
        if old not in pairs and new not in taken:
            pairs[old] = new
            taken.add(new)
    events = list(after.events)
    for old, new in pairs.items():
        events[new] = replace(events[new], name=before.events[old].name)
    notes = list(_notes(before, after, pairs)) if before.events else []
    return replace(after, events=tuple(events)), notes


def _candidates(
    before: Profile, after: Profile
) -> Iterator[tuple[tuple[bool, bool, bool, bool, bool, int, int], int, int]]:
    """Yield (dissimilarity, row before, row after) of all pairs of events that may be the same."""
    olds, news = ([event_name(event.name) for event in profile.events] for profile in (before, after))
    sampled = [_samples_by_event(before), _samples_by_event(after)]
    for row, old in enumerate(olds):
        for other, new in enumerate(news):
            first, second = before.events[row], after.events[other]
            clocks = {old.canonical, new.canonical} == _CLOCKS
            if (old.counts_like(new) or clocks) and first.unit == second.unit:
                unlike = (clocks, first.name != second.name, old.modes != new.modes, old.pmu != new.pmu)
                yield (*unlike, row != before.default_event, -sampled[0][row], -sampled[1][other]), row, other


_CLOCKS = {"cpu-clock", "task-clock"}
"""Both measure the time that a thread was on a CPU; the default depends on the version of perf and the kernel."""


def _samples_by_event(profile: Profile) -> list[int]:
    """Return the number of samples of each event."""
    count: list[int] = sum_at(profile.samples.event, profile.samples.count, len(profile.events)).tolist()
    return count


def _notes(before: Profile, after: Profile, pairs: dict[int, int]) -> Iterator[str]:
    """Yield notes on the compared event: if others could be meant, and if its modes differ."""
    chosen = before.default_event
    if chosen not in pairs:
        return
    old, new = before.events[chosen].name, after.events[pairs[chosen]].name
    sampled = [_samples_by_event(before), _samples_by_event(after)]
    found = [(row, other) for _, row, other in _candidates(before, after) if sampled[0][row] and sampled[1][other]]
    others = [before.events[row].name for row, other in found if other == pairs[chosen] and row != chosen]
    others += [after.events[other].name for row, other in found if row == chosen and other != pairs[chosen]]
    if {event_name(name).canonical for name in (old, new)} == _CLOCKS:
        yield f"comparing {old} with {new}: both measure CPU time"
    if old != new and others:
        yield f"comparing {old} with {new}; {', '.join(others)} could be meant, too (select with --event)"
    modes = [event_name(name).modes for name in (old, new)]
    if modes[0] != modes[1]:
        yield f"comparing {old} with {new}, which count in different modes; record both alike to compare totals"


_COMM = 15
"""The kernel truncates the names of threads to this many bytes."""
_ALIKE = 0.5
"""Objects with dissimilar names are paired only if at least this share of each one's cost is in functions of both."""
_FEWEST = 3
"""Objects with dissimilar names must also share this many functions, because any two programs have a ``main``."""
_MOST = 300
"""Maximum number of objects of each side to compare, because all pairs are compared."""


def match_objects(before: Profile, after: Profile, typed: dict[str, str]) -> tuple[Profile, list[tuple[str, str]]]:
    """Return ``after`` with objects named as in ``before``, and the pairs (old, new) that were found.

    Only objects whose base names the other recording lacks are paired. Two objects match if their names differ in
    version alone, and they share a function or neither has named functions. They also match, whatever their names, if
    most of the cost of both is in functions of the same names. The most similar pairs win; only the _MOST costliest
    objects of each side are compared.

    An object in ``typed`` (new to old) is not paired with any other, so ``{"libb.so": "libb.so"}`` excludes it. Threads
    that are named after a program are renamed with it. Raises OptionError for a name that no object has.
    """
    olds, news = (_objects(profile) for profile in (before, after))
    for side, there, names in (("before", olds, typed.values()), ("after", news, typed)):
        for name in names:
            if name not in (olds | news if typed.get(name) == name else there):
                raise OptionError(no_such("object", name, sorted(there), f"the recording {side} has"))
    lone = (olds - news - {*typed.values()}, news - olds - typed.keys())
    found = dict(_paired(before, after, lone)) if all(lone) else {}
    names = {new: old for new, old in (typed | found).items() if new != old}
    return _called(after, before, names), sorted((old, new) for new, old in names.items())


def _objects(profile: Profile) -> set[str]:
    """Return the base names of all mappings."""
    return {base_name(profile.strings[row]) for row in profile.mappings.filename.tolist()} - {""}


def _paired(before: Profile, after: Profile, lone: tuple[set[str], set[str]]) -> Iterator[tuple[str, str]]:
    """Yield pairs (new, old), with each name at most once."""
    costs = [_costs(profile, names) for profile, names in zip((before, after), lone, strict=True)]
    alike = sorted(
        (not versions, -share, old, new)
        for old, was in costs[0].items()
        for new, now in costs[1].items()
        for versions, share in [(_stem(old) == _stem(new), _shared(was, now))]
        if (versions and (share or not (was or now))) or (share >= _ALIKE and len(was.keys() & now.keys()) >= _FEWEST)
    )
    taken: set[tuple[int, str]] = set()
    for _, _, old, new in alike:
        if not taken & {(0, old), (1, new)}:
            taken |= {(0, old), (1, new)}
            yield new, old


def _costs(profile: Profile, objects: set[str]) -> dict[str, dict[str, int]]:
    """Return the self cost of each function of those ``objects`` that have samples, by object.

    A cost is at least 1. Only the _MOST costliest objects are returned; frames without names are ignored.
    """
    found: dict[str, dict[str, int]] = {}
    for row in totals(profile).rows:
        if row.object in objects:
            functions = found.setdefault(row.object, {})
            if not row.name.startswith("["):
                functions[row.name] = max(row.self, 1)
    return dict(sorted(found.items(), key=lambda one: (-sum(one[1].values()), one[0]))[:_MOST])


def _shared(was: Mapping[str, int], now: Mapping[str, int]) -> float:
    """Return the share of an object's cost that is in functions of both objects: the smaller of the two shares."""
    both = was.keys() & now.keys()
    return min(sum(cost[name] for name in both) / sum(cost.values()) if both else 0.0 for cost in (was, now))


def _stem(name: str) -> str:
    """Return a name without its version.

    It is ``libfoo.so`` for ``libfoo-1.2.so`` and ``libfoo.so.1.3``, ``app`` for ``app2`` and ``app-3f2a9c``.
    """
    first, *rest = re.split(r"[-._+~]", name)
    return ".".join([first.rstrip("0123456789"), *(part for part in rest if not re.search(r"\d", part))])


def _called(after: Profile, before: Profile, names: Mapping[str, str]) -> Profile:
    """Rename mappings of ``after`` (new to old), and the threads that are named after them."""
    if not names:
        return after
    paths = {base_name(path): path for path in (before.strings[row] for row in before.mappings.filename.tolist())}
    place = {text: row for row, text in enumerate(after.strings)}

    def renumbered(column: I32, renamed: Mapping[str, str]) -> I32:
        row_of = np.arange(len(after.strings), dtype=np.int32)
        for row in unique(column).tolist():
            if (new := renamed.get(base_name(after.strings[row]))) is not None:
                row_of[row] = place.setdefault(new, len(place))
        return row_of[column]

    files, comms = (
        {new: paths[old] for new, old in names.items()},
        {new[:_COMM]: old[:_COMM] for new, old in names.items()},
    )
    mappings = replace(after.mappings, filename=renumbered(after.mappings.filename, files))
    threads = replace(
        after.threads, comm=renumbered(after.threads.comm, comms), process=renumbered(after.threads.process, comms)
    )
    return replace(after, strings=tuple(place), mappings=mappings, threads=threads)
