"""Finds the samples that have a row in each table of tracepoint fields.

``Profile.samples.fields`` counts rows as if all tables were concatenated.
"""

from collections.abc import Iterator

from perf2x.base.columnar import I64, as_int64, flatnonzero
from perf2x.model.profile import Profile, TracepointFields


def field_tables(profile: Profile, rows: I64) -> Iterator[tuple[TracepointFields, I64, I64]]:
    """Yield each table that some of these samples refer to: indices in ``rows``, and each one's row in the table."""
    if profile.samples.fields is None:
        return
    fields, first_row = as_int64(profile.samples.fields[rows]), 0
    for table in profile.fields:
        indices = flatnonzero((fields >= first_row) & (fields < first_row + table.count))
        if len(indices):
            yield table, indices, fields[indices] - first_row
        first_row += table.count
