"""Merges the results of several recordings; model/transforms/incremental_merge.py merges the profiles themselves."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from perf2x.kernel.load_result import Loaded, event_counts
from perf2x.model.profile import CodeCounts, Profile, merged_code, view_of
from perf2x.model.step_report import StepReport
from perf2x.model.transforms.incremental_merge import ProfileFold
from perf2x.model.transforms.merge_profiles import with_tags
from perf2x.model.value_limits import check_total
from perf2x.symbolizer.symbol_report import ObjectReport, SymbolReport, sorted_report

Report = TypeVar("Report", bound=Struct)


class ResultFold:
    """Merges the results of independent recordings one by one; keeps only the first recording open."""

    def __init__(self, tags: Sequence[Mapping[str, str]]) -> None:
        """``tags`` are those of all recordings; samples get labels for tags that differ."""
        self._common = common_tags(tags)
        self._own = iter([{key: value for key, value in tag.items() if key not in self._common} for tag in tags])
        self._profiles = ProfileFold()
        self._codes: list[CodeCounts] = []
        self._value = 0.0
        self._first: Loaded | None = None

    def add(self, part: Loaded) -> None:
        """Add the next result. Raises FormatError if the summed values do not fit into 64 bits."""
        self._value = check_total("all these recordings", part.profile.samples.value, self._value)
        self._profiles.add(_labelled(part.profile, next(self._own)))
        self._codes += [] if part.profile.code is None else [part.profile.code]
        self._first = part if self._first is None else _add_reports(self._first, part)

    def finish(self) -> Loaded:
        """Return one result for all; at least one must have been added."""
        if self._first is None:
            raise ValueError("nothing was added")
        code = merged_code(self._codes) if self._codes else None
        profile = view_of(replace(self._profiles.finish(), labels=self._common), code)
        return replace(self._first, profile=profile, events=event_counts(profile))


def _labelled(profile: Profile, tags: Mapping[str, str]) -> Profile:
    """Return the profile with the tags of its session added to its own."""
    if profile.samples.tags is None:
        return with_tags(profile, tags)
    return replace(profile, tag_sets=tuple({**tags, **own} for own in profile.tag_sets))


def _add_reports(old: Loaded, new: Loaded) -> Loaded:
    """Return the first result with the reports of both, without its profile."""
    return replace(
        old,
        profile=new.profile,
        sources=old.sources + new.sources,
        record_counts=_add_values([old.record_counts, new.record_counts], "record_counts"),
        recorded_samples=old.recorded_samples + new.recorded_samples,
        deferred=sum_reports([old.deferred, new.deferred]),
        unwound=sum_reports([old.unwound, new.unwound]),
        symbols=_merge_symbol_reports([old.symbols, new.symbols]),
        reports=tuple(_sum_by_kind((*old.reports, *new.reports))),
    )


def _sum_by_kind(reports: Sequence[StepReport]) -> Iterator[StepReport]:
    """Yield one report per feature."""
    kinds = dict.fromkeys(type(report) for report in reports)
    return (sum_reports([report for report in reports if type(report) is kind]) for kind in kinds)


def common_tags(tags: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return the tags that all inputs share."""
    first = tags[0] if tags else {}
    return {key: value for key, value in first.items() if all(other.get(key) == value for other in tags)}


def sum_reports(reports: Sequence[Report]) -> Report:
    """Add numbers, and mappings of numbers key by key; sizes (``requested``, ``near_ns``) become their maximum."""
    merged = {
        field: _add_values([getattr(report, field) for report in reports], field)
        for field in reports[0].__struct_fields__
    }
    return replace(reports[0], **merged)


def _merge_symbol_reports(reports: Sequence[SymbolReport | None]) -> SymbolReport | None:
    """Merge to one row per object, however many inputs have it; None if nothing was symbolized."""
    rows: dict[tuple[str, str], ObjectReport] = {}
    known = [report for report in reports if report is not None]
    for row in (row for report in known for row in report.objects):
        old = rows.get((row.name, row.build_id))
        rows[row.name, row.build_id] = row if old is None else _add_objects(old, row)
    return sorted_report(list(rows.values())) if known else None


def _add_objects(old: ObjectReport, new: ObjectReport) -> ObjectReport:
    numbers = ("named", "unnamed", "samples", "unnamed_samples")
    sums = {field: getattr(old, field) + getattr(new, field) for field in numbers}
    return replace(old, reason=old.reason or new.reason, **sums)


def _add_values(values: Sequence[Any], name: str) -> Any:
    if isinstance(values[0], dict):
        total: Counter[Any] = Counter()
        for value in values:
            total.update(value)
        return dict(total)
    return max(values) if name in ("requested", "near_ns") else sum(values)
