"""Merges the results of several recordings into one; transform/merge_profiles.py merges the profiles themselves."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from perf2x.pipeline.result import Loaded, event_counts
from perf2x.symbolize.symbol_report import ObjectReport, SymbolReport, sorted_report
from perf2x.tables.value_limits import check_total
from perf2x.transform.merge_profiles import merge_profiles
from perf2x.transform.pair_report import PairReport

Report = TypeVar("Report", bound=Struct)


def merge_results(parts: Sequence[Loaded], tags: Sequence[Mapping[str, str]]) -> Loaded:
    """One result for several recordings, whose samples get labels for the tags that not all of them share.

    Raises FormatError when the values together do not fit into 64 bits.
    """
    check_total("these recordings together", *(part.profile.samples.value for part in parts))
    labels = common_tags(tags)
    own_labels = [{key: value for key, value in tag.items() if key not in labels} for tag in tags]
    profile = replace(merge_profiles([part.profile for part in parts], own_labels), labels=labels)
    return replace(
        parts[0],
        profile=profile,
        others=tuple(part.recording for part in parts[1:]),
        recorded_samples=sum(part.recorded_samples for part in parts),
        events=event_counts(profile),
        deferred=sum_reports([part.deferred for part in parts]),
        unwound=sum_reports([part.unwound for part in parts]),
        symbols=merge_symbol_reports([part.symbols for part in parts]),
        pairs=_sum_pairs([row for part in parts for row in part.pairs]),
        waits=sum_reports(waits) if (waits := [part.waits for part in parts if part.waits]) else None,
    )


def _sum_pairs(rows: Sequence[PairReport]) -> tuple[PairReport, ...]:
    """Add the figures of equal pairs."""
    names = dict.fromkeys(row.name for row in rows)
    return tuple(replace(sum_reports([row for row in rows if row.name == name]), name=name) for name in names)


def common_tags(tags: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """The tags that all inputs share."""
    first = tags[0] if tags else {}
    return {key: value for key, value in first.items() if all(other.get(key) == value for other in tags)}


def sum_reports(reports: Sequence[Report]) -> Report:
    """Add numbers, and mappings of numbers key by key; take the largest of sizes (``asked``, ``near_ns``)."""
    merged = {
        field: _add_values([getattr(report, field) for report in reports], field)
        for field in reports[0].__struct_fields__
    }
    return replace(reports[0], **merged)


def merge_symbol_reports(reports: Sequence[SymbolReport | None]) -> SymbolReport | None:
    """One row for each object, however many inputs it is in; None when no names were looked up."""
    rows: dict[tuple[str, str], ObjectReport] = {}
    known = [report for report in reports if report is not None]
    for row in (row for report in known for row in report.objects):
        old = rows.get((row.name, row.build_id))
        rows[row.name, row.build_id] = row if old is None else _add_objects(old, row)
    return sorted_report(list(rows.values())) if known else None


def _add_objects(old: ObjectReport, new: ObjectReport) -> ObjectReport:
    return replace(old, named=old.named + new.named, unnamed=old.unnamed + new.unnamed, reason=old.reason or new.reason)


def _add_values(values: Sequence[Any], name: str) -> Any:
    if isinstance(values[0], dict):
        total: Counter[Any] = Counter()
        for value in values:
            total.update(value)
        return dict(total)
    return max(values) if name in ("asked", "near_ns") else sum(values)
