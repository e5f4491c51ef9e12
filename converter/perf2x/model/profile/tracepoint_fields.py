"""Fields of tracepoints as columns: what ``Profile.samples.fields`` points into."""

from collections.abc import Sequence

from perf2x.base.columnar import AnyArray, Frozen


class FieldColumn(Frozen):
    """One field of all samples of a tracepoint."""

    name: str
    kind: str
    """``integer`` or ``text``."""
    values: AnyArray
    """(n,) int64 or uint64 numbers; of texts their rows in ``texts``."""
    texts: Sequence[str] = ()


class TracepointFields(Frozen):
    """Fields of the samples of one event of one recording; all columns have ``count`` rows."""

    count: int
    columns: tuple[FieldColumn, ...]
