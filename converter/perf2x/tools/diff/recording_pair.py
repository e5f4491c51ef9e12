"""The two recordings that ``perf2x diff`` compares, and the tables of their differences."""

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from functools import cache

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import flatnonzero, sum_of, sum_rows
from perf2x.errors import OptionError, SettingError
from perf2x.kernel.load_options import LoadOptions, Progress
from perf2x.kernel.load_result import Loaded
from perf2x.model.number_format import shortened_list
from perf2x.model.profile import Profile, find_event, sampled_event_names
from perf2x.model.totals.event_columns import EventColumn, event_columns
from perf2x.model.totals.host_noise import host_errors, split_hosts
from perf2x.model.totals.totals import Key, totals
from perf2x.tools.diff.changed_rows import ColumnChange, DiffTable, RowSelection
from perf2x.tools.diff.changes import Change, Comparison, scaled
from perf2x.tools.diff.matching_objects import match_objects, with_matching_events
from perf2x.tools.diff.moved_code import CostColumn
from perf2x.tools.diff.pair_options import PairOptions, Work
from perf2x.tools.tables.report_tables import call_tree

# Command lines are compared without the name of perf's output.
_OUTPUT_OPTION = re.compile(r" (-o|--output) ?\S+")
_MAX_NAMES = 8


class RecordingPair:
    """Two recordings, compared by one kind of value; events and objects are named as in the earlier one."""

    def __init__(
        self,
        sources: tuple[str, str],
        before: Loaded,
        after: Loaded,
        value: str,
        pair_options: PairOptions,
    ) -> None:
        profile, renamed_events = with_matching_events(before.profile, after.profile)
        profile, self.renamed_objects = match_objects(before.profile, profile, dict(pair_options.map))
        self.sources = sources
        merged, hosts = zip(*map(split_hosts, (before.profile, profile)), strict=True)
        self._hosts = hosts
        self.before = replace(before, profile=merged[0])
        self.after = replace(after, profile=merged[1])
        self.notes = [*renamed_events, *_object_notes(self.renamed_objects)]
        self.value = value
        """Period, samples, weight or mispredicts. For latencies it is period, because `pair_of` makes them periods."""
        self.normalize = pair_options.normalize
        self.work = pair_options.per
        """Units of work of both recordings; None: costs are compared as recorded, or as shares."""
        self.periods: RecordingPair | None = None
        """A comparison of these recordings by period, if values are latencies."""
        self.comparison_by = cache(self._compare)
        """Return the comparison by one kind of rows (row_kinds.py), or by ``share``: functions by their shares."""

    def callers(self, side: int, skipped: Set[Key], column: CostColumn) -> dict[Key, dict[Key, int]]:
        """Return the cost of each function by its caller: {function: {caller: cost}}.

        A caller in ``skipped``, or the function itself (recursion), is replaced by the nearest other one further out.
        The caller of outermost functions is ("", ""). ``side`` is 0 for the earlier recording, 1 for the later one.
        ``column`` is ``total`` or ``own`` (self costs). For self costs, the result is empty if the recording lacks
        callers of sampled functions (the advice ``missing_callers``).
        """
        profile = (self.before, self.after)[side].profile
        if column == "own" and any(advice.about == "missing_callers" for advice in profile.meta.advice):
            return {}
        event = find_event(profile, self.comparison_by("function").before.event)
        calls = call_tree(replace(profile, default_event=event), self.value)
        names, key = [*calls.names, ("", "")], calls.tree.key  # the last name is that of key −1
        is_skipped = np.array([name in skipped for name in names], np.bool_)
        caller_row = np.maximum(calls.tree.parent, 0)
        # go outwards from callers that are skipped or that are the function itself
        while len(rows := flatnonzero((key >= 0) & (is_skipped[key[caller_row]] | (key[caller_row] == key)))):
            caller_row[rows] = caller_row[caller_row[rows]]
        cost_by_caller: dict[Key, dict[Key, int]] = {}
        (function, caller), (cost,) = sum_rows([key, key[caller_row]], [getattr(calls, column)])
        for name, caller_name, value in zip(function.tolist(), caller.tolist(), cost.tolist(), strict=True):
            cost_by_caller.setdefault(names[name], {})[names[caller_name]] = value
        return cost_by_caller

    @property
    def factor(self) -> float:
        """The factor that scales the later recording's costs to the earlier one's work."""
        return self.work[0] / self.work[1] if self.work else 1.0

    def scaled_after(self) -> Profile:
        """The later recording's profile, scaled to the earlier one's work."""
        profile = self.after.profile
        return scaled(profile, [self.factor] * len(profile.events)) if self.work else profile

    def table(self, selection: RowSelection, changes: Iterable[Change], columns: Sequence[str] = ()) -> DiffTable:
        """Return a table of the ``changes`` to show, with columns of other events."""
        other_columns = list(self._columns(selection.by, columns))
        compared = self.comparison_by(selection.by)
        notes = [*self.notes, *self.left_out(other_columns)]
        return DiffTable(
            compared, changes, selection, self.sources, other_columns, notes, self.renamed_objects, self.work
        )

    def left_out(self, other_columns: Iterable[ColumnChange]) -> Iterator[str]:
        """Yield a sentence that lists the sampled events that neither the comparison nor a column shows."""
        profile = self.before.profile
        shown = {event.name for event in profile.events[profile.default_event :][:1]}  # empty without any event
        shown |= {part.event for column in other_columns for part in column.before.tables}
        events = [event for loaded in (self.before, self.after) for event in sampled_event_names(loaded.profile)]
        others = [name for name in dict.fromkeys(events) if name not in shown]
        if others:
            yield f"other events: {', '.join(others)} (select with --event)"

    def _columns(self, by: str, names: Sequence[str]) -> Iterator[ColumnChange]:
        """Yield the columns of other events; if latencies are compared, the periods come first."""
        if self.periods:
            periods = self.periods.comparison_by(by)
            sides = [EventColumn("period", (), tables=(table,)) for table in (periods.before, periods.after)]
            yield ColumnChange(sides[0], sides[1], periods.scale)
        value = "latency" if self.periods else self.value
        before = event_columns(self.before.profile, by, value, names)
        after = event_columns(self.after.profile, by, value, [column.name for column in before])
        for old, new in zip(before, after, strict=True):
            costs = Comparison(old.tables[0], new.tables[0], self.normalize, self.factor)
            yield ColumnChange(old, new, costs.scale)

    def _compare(self, by: str) -> Comparison:
        kind = "function" if by == "share" else by
        before = totals(self.before.profile, None, kind, self.value)
        try:
            after = totals(self.after.profile, before.event or None, kind, self.value)
        except OptionError as error:
            text = f"{self.sources[1]}: {error}; "
            raise SettingError(text, "events", " NAME selects one that both have") from None
        normalize = self.normalize or by == "share"
        # the first word is perf itself; perf 7.2 records nothing else, which says nothing about the arguments
        old_command, new_command = (
            _OUTPUT_OPTION.sub("", " ".join(loaded.profile.meta.command_line[1:]))
            for loaded in (self.before, self.after)
        )
        factor = 1.0 if normalize else self.factor
        comparison = Comparison(before, after, normalize, factor, old_command == new_command != "")
        old, new = self._hosts
        if old is None or new is None:
            return comparison
        spread = host_errors(old, new, before.event, kind, self.value, comparison.scale, are_shares=normalize)
        return replace(comparison, hosts=spread)


def _object_notes(pairs: Sequence[tuple[str, str]]) -> Iterator[str]:
    if pairs:
        named = shortened_list([f"{new} as the renamed {old}" for old, new in pairs], _MAX_NAMES)
        yield f"treating {named}; use --map OLD=NEW to override"


def load_pair(
    sources: tuple[str, str], options: LoadOptions, value: str, pair_options: PairOptions, progress: "Progress | None"
) -> RecordingPair:
    """Load both recordings with the same options, which request latencies if ``value`` is ``latency``."""
    from perf2x.kernel.load import load

    needed = pair_options.to_load(replace(options, keep=options.keep | {"host"}))
    before, after = (load(source, needed, progress) for source in sources)
    return pair_of(sources, (before, after), value, pair_options, () if options.keep_other_events else options.events)


def pair_of(
    sources: tuple[str, str],
    pair: tuple[Loaded, Loaded],
    value: str,
    pair_options: PairOptions,
    events: tuple[str, ...] = (),
) -> RecordingPair:
    """Pair recordings that were read with the same options.

    ``events`` are the events to compare if another one was read, too, to count work; empty: all.
    """
    counts = [len(loaded.sources) for loaded in pair]
    if counts[0] != counts[1] and pair_options == PairOptions(map=pair_options.map):
        # Parts of datasets may have different numbers of recordings, which only shares make comparable.
        pair_options = replace(pair_options, normalize=True)
    if pair_options.per_value:
        pair_options = replace(pair_options, per=_count_work(sources, pair, pair_options.per_value), per_value="")
        before, after = (
            (replace(loaded, profile=_with_events(loaded.profile, events)) for loaded in pair) if events else pair
        )
    else:
        before, after = pair
    if value != "latency":
        return RecordingPair(sources, before, after, value, pair_options)
    from perf2x.features.latency.divide_values import latency_as_value

    latencies = [replace(loaded, profile=latency_as_value(loaded.profile)) for loaded in (before, after)]
    by_latency = RecordingPair(sources, latencies[0], latencies[1], "period", pair_options)
    by_latency.periods = RecordingPair(sources, before, after, "period", pair_options)
    return by_latency


def _count_work(sources: tuple[str, str], pair: tuple[Loaded, Loaded], event: str) -> Work:
    """Return the sum of the event's periods in each recording. Raises SettingError if it has no samples."""
    work = []
    for source, loaded in zip(sources, pair, strict=True):
        try:
            row = find_event(loaded.profile, event)
        except OptionError as error:
            raise SettingError(f"{source}: ", "per_value", f": {error}") from None
        samples = loaded.profile.samples
        work.append(float(sum_of(samples.value[samples.event == row])))
        if not work[-1]:
            text = f": there are no samples of event {event!r} to compare by"
            raise SettingError(f"{source}: ", "per_value", text)
    return work[0], work[1]


def _with_events(profile: Profile, events: tuple[str, ...]) -> Profile:
    from perf2x.model.filters.profile_filters import keep_events

    return keep_events(profile, events)
