"""Fields of tracepoints as columns, to which ``Profile.samples.fields`` refers."""

from collections.abc import Sequence

from perf2x.base.columnar import AnyArray, Frozen


class FieldColumn(Frozen):
    """The values of one field in all samples of a tracepoint."""

    name: str
    kind: str
    """``integer`` or ``text``."""
    values: AnyArray
    """(n,) int64 or uint64: the field's numbers or, if ``kind`` is ``text``, indices into ``texts``."""
    texts: Sequence[str] = ()
    """Distinct texts; empty for integers."""


class TracepointFields(Frozen):
    """The fields of one tracepoint in one recording: a row for each sample, a column for each field."""

    count: int
    """Number of rows."""
    columns: tuple[FieldColumn, ...]
