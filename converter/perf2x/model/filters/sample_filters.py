"""Filters on columns of samples (pid, tid, CPU, time), applied to batches before anything is looked up."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct, field

from perf2x.base.abi import SampleType
from perf2x.base.columnar import U64, AnyArray, Bools, Frozen, sum_of, trues, unique
from perf2x.errors import OptionError, SettingError
from perf2x.model.filters.profile_filters import COLUMNS, ROWS
from perf2x.model.filters.time_ranges import Range
from perf2x.model.filters.unmatched_filters import UnmatchedFilters
from perf2x.model.profile import Profile
from perf2x.model.recording import Recording, Samples


class SampleFilter(Frozen):
    """Conditions that a sample must all meet to pass."""

    values: dict[str, Any] = field(default_factory=dict)
    """Values of COLUMNS and ROWS, by field of Filters."""
    times: tuple[Range, ...] = ()

    def passing(self, samples: Samples) -> Bools:
        """Return (n,) whether each sample meets all conditions. Raises OptionError if a needed column is missing."""
        passes = self.passing_numbers(samples)
        if self.times:
            passes &= within(column_of(samples, "time"), self.times)
        for name in self.values.keys() & ROWS:
            passes &= ROWS[name](samples, self.values[name])
        return passes

    def passing_numbers(self, table: Any) -> Bools:
        """Return (n,) whether each row passes the filters by number; ``table``: samples, or a table made from them."""
        passes = trues(len(table))
        for name, numbers in self.numbers():
            passes &= np.isin(column_of(table, name), numbers)
        return passes

    def numbers(self) -> list[tuple[str, tuple[int, ...]]]:
        """Return the filtered columns with the numbers that pass."""
        return [(COLUMNS[name], value) for name, value in self.values.items() if name in COLUMNS]


def within(time: U64, ranges: Sequence[Range]) -> Bools:
    """Return (n,) bool: whether each time lies in one of the ranges; True for all if there are none."""
    found = np.full(len(time), not ranges, np.bool_)
    for first, last in ranges:
        found |= (time >= np.uint64(first)) & (time <= np.uint64(last))
    return found


class Seen(Struct):
    """The values that samples had, for the message when no sample passes a filter."""

    numbers: dict[str, set[int]] = field(default_factory=dict)
    first_ns: int = 2**64 - 1
    last_ns: int = 0
    samples: int = 0
    passed: int = 0

    def look(self, samples: Samples, passing: SampleFilter) -> Bools:
        """Record the values of a batch, and return which of its samples pass."""
        passes = passing.passing(samples)
        self.samples += len(samples)
        self.passed += sum_of(passes)
        for name, _ in passing.numbers():
            self.numbers.setdefault(name, set()).update(unique(column_of(samples, name)).tolist())
        if passing.times and samples.time is not None and len(samples):
            self.first_ns = min(self.first_ns, int(samples.time.min()))
            self.last_ns = max(self.last_ns, int(samples.time.max()))
        return passes

    def absorb(self, other: "Seen") -> None:
        """Add the values of other samples."""
        for name, numbers in other.numbers.items():
            self.numbers.setdefault(name, set()).update(numbers)
        self.first_ns, self.last_ns = min(self.first_ns, other.first_ns), max(self.last_ns, other.last_ns)
        self.samples += other.samples
        self.passed += other.passed

    def check(self, passing: SampleFilter, unmatched: UnmatchedFilters) -> None:
        """Report numbers and times that no sample matched; nothing for an empty recording."""
        if not self.samples:
            return
        for name, numbers in passing.numbers():
            self._check_numbers(name, numbers, unmatched)
        if self.passed:
            unmatched.matched("time", passing.times)
        elif passing.times and not passing.values:
            span = f"{seconds(self.first_ns)} to {seconds(self.last_ns)}"
            words = f"no sample in that time; samples range from {span}"
            unmatched.failed("time", passing.times, lambda: OptionError(words))

    def _check_numbers(self, name: str, numbers: tuple[int, ...], unmatched: UnmatchedFilters) -> None:
        known = self.numbers[name]
        if name == "cpu" and not known.isdisjoint(numbers):
            numbers = tuple(number for number in numbers if number in known)  # of 0-7, only CPUs that exist
        for number in numbers:
            unmatched.record(name, number, number in known, [str(value) for value in sorted(known)])


def column_of(samples: Samples, name: str) -> AnyArray:
    """Return a column that filters need. Raises OptionError if it was not recorded."""
    column: AnyArray | None = getattr(samples, name)
    if column is None:
        raise not_recorded(f"{name}s", name)
    return column


def check_timed(setting: str, profile: Profile, recording: Recording) -> None:
    """Raise SettingError when samples have no times."""
    timed = any(event.sample_type & SampleType.TIME for event in recording.session.events)
    if profile.samples.time is None or not timed:
        raise not_recorded(setting)


def not_recorded(setting: str, what: str = "time") -> SettingError:
    """Return the error for a setting that needs the ``time``, ``cpu`` or ``cgroup`` of samples."""
    flag = {"time": "-T", "cpu": "--sample-cpu", "cgroup": "--all-cgroups"}[what]
    words = f": the samples have no {what}; record with: perf record {flag}"
    return SettingError("", setting, words)


def seconds(nanoseconds: int) -> str:
    """Format a time as perf prints it: ``1234.567890123``."""
    return f"{nanoseconds // 10**9}.{nanoseconds % 10**9:09d}"
