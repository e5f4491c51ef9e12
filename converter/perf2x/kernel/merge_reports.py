"""Merges the results of loading several recordings: reports, counts and tags.

model/transforms/incremental_merge.py merges the profiles themselves.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from perf2x.kernel.load_result import Loaded, event_counts
from perf2x.model.profile import CodeCounts, Profile, merge_code_counts, profile_as_view
from perf2x.model.step_report import StepReport
from perf2x.model.transforms.incremental_merge import IncrementalMerge
from perf2x.model.transforms.merge_profiles import with_tags
from perf2x.model.value_limits import check_total
from perf2x.symbolizer.symbol_report import ObjectReport, SymbolReport, sorted_report

Report = TypeVar("Report", bound=Struct)

# Fields that are limits, not counts: a merged report has the largest value of all reports.
_MAXIMA = ("requested", "near_ns")


class ResultMerge:
    """Merges the results of independent recordings; the result has the ``recording`` of the first one."""

    def __init__(self, tags: Sequence[Mapping[str, str]]) -> None:
        """``tags`` has the tags of each recording, in order. Common tags become labels of the profile."""
        self._common_tags = common_tags(tags)
        self._differing_tags = iter(
            [{key: value for key, value in own.items() if key not in self._common_tags} for own in tags]
        )
        self._profiles = IncrementalMerge()
        self._code_counts: list[CodeCounts] = []
        self._total = 0.0
        # the first result, with the sum of all reports, and the profile of the latest result
        self._merged: Loaded | None = None

    def add(self, result: Loaded) -> None:
        """Add a result. Raises FormatError if its values make the sum too large."""
        self._total = check_total("all these recordings", result.profile.samples.value, self._total)
        self._profiles.add(_with_default_tags(result.profile, next(self._differing_tags)))
        self._code_counts += [] if result.profile.code is None else [result.profile.code]
        self._merged = result if self._merged is None else _add_reports(self._merged, result)

    def finish(self) -> Loaded:
        """Return the merged result. Raises ValueError if nothing was added."""
        if self._merged is None:
            raise ValueError("nothing was added")
        code = merge_code_counts(self._code_counts) if self._code_counts else None
        profile = profile_as_view(replace(self._profiles.finish(), labels=self._common_tags), code)
        return replace(self._merged, profile=profile, events=event_counts(profile))


def _with_default_tags(profile: Profile, tags: Mapping[str, str]) -> Profile:
    if profile.samples.tags is None:
        return with_tags(profile, tags)
    return replace(profile, tag_sets=tuple({**tags, **own} for own in profile.tag_sets))


def _add_reports(old: Loaded, new: Loaded) -> Loaded:
    return replace(
        old,
        profile=new.profile,  # so that the old one is freed
        sources=old.sources + new.sources,
        record_counts=_add_values([old.record_counts, new.record_counts], "record_counts"),
        recorded_samples=old.recorded_samples + new.recorded_samples,
        deferred=sum_reports([old.deferred, new.deferred]),
        unwound=sum_reports([old.unwound, new.unwound]),
        symbols=_merge_symbol_reports([old.symbols, new.symbols]),
        reports=tuple(_sum_by_class((*old.reports, *new.reports))),
    )


def _sum_by_class(reports: Sequence[StepReport]) -> Iterator[StepReport]:
    classes = dict.fromkeys(type(report) for report in reports)
    return (sum_reports([report for report in reports if type(report) is cls]) for cls in classes)


def common_tags(tags: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return the tags that have the same value in all inputs."""
    first = tags[0] if tags else {}
    return {key: value for key, value in first.items() if all(other.get(key) == value for other in tags)}


def sum_reports(reports: Sequence[Report]) -> Report:
    """Sum reports of one class: numbers and mappings of numbers; fields in ``_MAXIMA`` get the largest value."""
    merged = {
        field: _add_values([getattr(report, field) for report in reports], field)
        for field in reports[0].__struct_fields__
    }
    return replace(reports[0], **merged)


def _merge_symbol_reports(reports: Sequence[SymbolReport | None]) -> SymbolReport | None:
    rows: dict[tuple[str, str], ObjectReport] = {}
    symbol_reports = [report for report in reports if report is not None]
    for row in (row for report in symbol_reports for row in report.objects):
        old = rows.get((row.name, row.build_id))
        rows[row.name, row.build_id] = row if old is None else _add_objects(old, row)
    return sorted_report(list(rows.values())) if symbol_reports else None


def _add_objects(old: ObjectReport, new: ObjectReport) -> ObjectReport:
    counts = ("named", "unnamed", "samples", "unnamed_samples")
    sums = {field: getattr(old, field) + getattr(new, field) for field in counts}
    return replace(old, reason=old.reason or new.reason, **sums)


def _add_values(values: Sequence[Any], field: str) -> Any:
    if isinstance(values[0], dict):
        total: Counter[Any] = Counter()
        for value in values:
            total.update(value)
        return dict(total)
    return max(values) if field in _MAXIMA else sum(values)
