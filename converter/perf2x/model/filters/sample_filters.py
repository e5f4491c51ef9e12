"""Filters on columns of samples (pid, tid, CPU, time), applied before anything is looked up."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct, field

from perf2x.base.abi import SampleType
from perf2x.base.columnar import U64, AnyArray, Bools, Frozen, sum_of, trues, unique
from perf2x.errors import OptionError, SettingError
from perf2x.model.filters.profile_filters import NUMBER_COLUMNS, SAMPLE_CONDITIONS
from perf2x.model.filters.time_ranges import Range
from perf2x.model.filters.unmatched_filters import UnmatchedFilters
from perf2x.model.profile import Profile
from perf2x.model.recording import Recording, Samples


class SampleFilter(Frozen):
    """Conditions on columns of samples; all of them must be met."""

    values: dict[str, Any] = field(default_factory=dict)
    """Values of the filters in NUMBER_COLUMNS and SAMPLE_CONDITIONS that are set, by field of Filters (``pids``)."""
    times: tuple[Range, ...] = ()
    """A sample's time must be in one of these ranges; empty: any time."""

    def passes(self, samples: Samples) -> Bools:
        """Return (n,) whether each sample meets all conditions. Raises OptionError for a missing column."""
        passes = self.passes_numbers(samples)
        if self.times:
            passes &= within(column_of(samples, "time"), self.times)
        for name in self.values.keys() & SAMPLE_CONDITIONS:
            passes &= SAMPLE_CONDITIONS[name](samples, self.values[name])
        return passes

    def passes_numbers(self, table: Any) -> Bools:
        """Return (n,) whether each row of a table passes the filters by pid, tid and CPU, if it has these columns."""
        passes = trues(len(table))
        for column, numbers in self.numbers():
            passes &= np.isin(column_of(table, column), numbers)
        return passes

    def numbers(self) -> list[tuple[str, tuple[int, ...]]]:
        """Pair each column that is filtered by number with the numbers that pass."""
        return [(NUMBER_COLUMNS[name], value) for name, value in self.values.items() if name in NUMBER_COLUMNS]


def within(time: U64, ranges: Sequence[Range]) -> Bools:
    """Return (n,) True for times in any of the ranges, or for all without ranges."""
    is_inside = np.full(len(time), not ranges, np.bool_)
    for first, last in ranges:
        is_inside |= (time >= np.uint64(first)) & (time <= np.uint64(last))
    return is_inside


class SeenValues(Struct):
    """The values that samples had in the filtered columns, for messages about filters without a match."""

    numbers: dict[str, set[int]] = field(default_factory=dict)
    """Distinct values of each column that is filtered by number."""
    first_ns: int = 2**64 - 1  # if times are filtered
    last_ns: int = 0
    """Times of the first and the last sample."""
    sample_count: int = 0
    passed_count: int = 0

    def add(self, samples: Samples, sample_filter: SampleFilter) -> Bools:
        """Record a batch; return (n,) which samples pass the filter."""
        passes = sample_filter.passes(samples)
        self.sample_count += len(samples)
        self.passed_count += sum_of(passes)
        for column, _ in sample_filter.numbers():
            self.numbers.setdefault(column, set()).update(unique(column_of(samples, column)).tolist())
        if sample_filter.times and samples.time is not None and len(samples):
            self.first_ns = min(self.first_ns, int(samples.time.min()))
            self.last_ns = max(self.last_ns, int(samples.time.max()))
        return passes

    def absorb(self, other: "SeenValues") -> None:
        """Add the values that another process has seen."""
        for column, numbers in other.numbers.items():
            self.numbers.setdefault(column, set()).update(numbers)
        self.first_ns, self.last_ns = min(self.first_ns, other.first_ns), max(self.last_ns, other.last_ns)
        self.sample_count += other.sample_count
        self.passed_count += other.passed_count

    def check(self, sample_filter: SampleFilter, unmatched: UnmatchedFilters) -> None:
        """Note typed numbers that no sample has, and times at which no sample was taken.

        Raises OptionError for them if there is only one recording. With other filters, times are not noted: another one
        may have dropped the samples.
        """
        if not self.sample_count:
            return
        for column, numbers in sample_filter.numbers():
            self._check_numbers(column, numbers, unmatched)
        if self.passed_count:
            unmatched.matched("time", sample_filter.times)
        elif sample_filter.times and not sample_filter.values:
            span = f"{format_seconds(self.first_ns)} to {format_seconds(self.last_ns)}"
            problem = f"no sample in that time; samples range from {span}"
            unmatched.missed_with_error("time", sample_filter.times, lambda: OptionError(problem))

    def _check_numbers(self, column: str, numbers: tuple[int, ...], unmatched: UnmatchedFilters) -> None:
        """Note numbers that no sample has; CPUs, which may be typed as a range, only if no sample has any of them."""
        seen = self.numbers[column]
        if column == "cpu" and not seen.isdisjoint(numbers):
            numbers = tuple(number for number in numbers if number in seen)
        for number in numbers:
            unmatched.record(column, number, number in seen, [str(value) for value in sorted(seen)])


def column_of(samples: Samples, name: str) -> AnyArray:
    """Return a column of samples. Raises OptionError if it was not recorded."""
    column: AnyArray | None = getattr(samples, name)
    if column is None:
        raise not_recorded(f"{name}s", name)  # ``cpu``: the setting ``cpus``
    return column


def check_has_times(setting: str, profile: Profile, recording: Recording) -> None:
    """Raise SettingError, which names the ``setting``, if samples have no times."""
    has_times = any(event.sample_type & SampleType.TIME for event in recording.session.events)
    if profile.samples.time is None or not has_times:
        raise not_recorded(setting)


def not_recorded(setting: str, column: str = "time") -> SettingError:
    """Make the error for a setting that needs a missing column: ``time``, ``cpu`` or ``cgroup``."""
    flag = {"time": "-T", "cpu": "--sample-cpu", "cgroup": "--all-cgroups"}[column]
    problem = f": the samples have no {column}; record with: perf record {flag}"
    return SettingError("", setting, problem)


def format_seconds(nanoseconds: int) -> str:
    """Format a time as ``perf script --ns`` prints it: ``1234.567890123``."""
    return f"{nanoseconds // 10**9}.{nanoseconds % 10**9:09d}"
