"""Tables of tracepoint fields, and the samples that have a row in each."""

from collections.abc import Iterator

from perf2x.base.columnar import I64, as_int64, flatnonzero
from perf2x.model.profile import Profile, TracepointFields


def field_tables(profile: Profile, rows: I64) -> Iterator[tuple[TracepointFields, I64, I64]]:
    """Yield each table of fields, the indices of ``rows`` (of samples) that have a row in it, and these rows."""
    if profile.samples.fields is None:
        return
    fields, base = as_int64(profile.samples.fields[rows]), 0
    for entry in profile.fields:
        part = flatnonzero((fields >= base) & (fields < base + entry.count))
        if len(part):
            yield entry, part, fields[part] - base
        base += entry.count
