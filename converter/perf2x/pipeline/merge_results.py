"""Several loaded recordings as one: the profile, and everything that there is to say about it.

Beside the pipeline, which it serves; the profiles themselves are merged by transform/merge.py.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from perf2x.symbolize.report import ObjectReport, SymbolReport, in_order
from perf2x.tables.errors import OptionError

Report = TypeVar("Report", bound=Struct)


def tags_of_inputs(texts: Sequence[str], inputs: int) -> list[dict[str, str]]:
    """``--tag key=value`` as one mapping for each input.

    A key given once holds for all inputs; given once for each input, the values go to them in order. OptionError for
    anything else.
    """
    values: dict[str, list[str]] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key or not value:
            raise OptionError(f"--tag {text}: expected KEY=VALUE")
        values.setdefault(key, []).append(value)
    for key, given in values.items():
        if len(given) not in (1, inputs):
            raise OptionError(f"--tag {key}=…: given {len(given)} times for {inputs} inputs; say it once, or for each")
    return [{key: given[row % len(given)] for key, given in values.items()} for row in range(inputs)]


def common(tags: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """The tags that all inputs share."""
    first = tags[0] if tags else {}
    return {key: value for key, value in first.items() if all(other.get(key) == value for other in tags)}


def summed_reports(reports: Sequence[Report]) -> Report:
    """Numbers added, mappings of numbers added key by key, sizes (``asked``) at their largest."""
    merged = {
        field: _sum([getattr(report, field) for report in reports], field) for field in reports[0].__struct_fields__
    }
    return replace(reports[0], **merged)


def merged_symbols(reports: Sequence[SymbolReport | None]) -> SymbolReport | None:
    """One row for each object, whatever inputs it is in; None when no names were looked up."""
    rows: dict[tuple[str, str], ObjectReport] = {}
    known = [report for report in reports if report is not None]
    for row in (row for report in known for row in report.objects):
        old = rows.get((row.name, row.build_id))
        rows[row.name, row.build_id] = row if old is None else _both(old, row)
    return in_order(list(rows.values())) if known else None


def _both(old: ObjectReport, new: ObjectReport) -> ObjectReport:
    return replace(old, named=old.named + new.named, unnamed=old.unnamed + new.unnamed, reason=old.reason or new.reason)


def _sum(values: Sequence[Any], name: str) -> Any:
    if isinstance(values[0], dict):
        total: Counter[Any] = Counter()
        for value in values:
            total.update(value)
        return dict(total)
    return max(values) if name == "asked" else sum(values)
