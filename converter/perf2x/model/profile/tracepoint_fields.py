"""Fields of tracepoints as columns, to which ``Profile.samples.fields`` refers."""

from collections.abc import Sequence

from perf2x.base.columnar import AnyArray, Frozen


class FieldColumn(Frozen):
    """One field of all samples of a tracepoint."""

    name: str
    kind: str
    """``integer`` or ``text``."""
    values: AnyArray
    """(n,) int64 or uint64 numbers; for texts, rows of ``texts``."""
    texts: Sequence[str] = ()


class TracepointFields(Frozen):
    """Fields of the samples of one event of one recording; all columns have ``count`` rows."""

    count: int
    columns: tuple[FieldColumn, ...]
