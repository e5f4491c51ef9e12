"""Sources: the kinds of inputs, recognized by their first bytes.

An entry point of the group ``perf2x.sources`` names a ``SourceKind``; an input that none of them recognizes is read as
perf.data. Every load imports all kinds, so they import modules only when they open something.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Protocol

from perf2x.base.frozen_struct import Frozen
from perf2x.base.installed_packages import available

if TYPE_CHECKING:
    from perf2x.base.diagnostics import Diagnostics
    from perf2x.kernel.load_options import LoadContext
    from perf2x.kernel.open_sessions import Input, SessionInput
    from perf2x.model.filters.applied_filters import AppliedFilters
    from perf2x.model.profile import Profile
    from perf2x.model.recording import Recording
    from perf2x.reader.containers.input_file import InputFile
    from perf2x.stitcher.call_graphs import UnwindReport
    from perf2x.stitcher.deferred.deferred_join import DeferredReport
    from perf2x.symbolizer.known.location_names import LocationNames
    from perf2x.symbolizer.symbol_options import SymbolOptions

Lacks = Mapping[str, tuple[str, ...]]
"""Messages for missing data (``Setting.asks``), before and after the name of the setting that needs it.

By fields of LoadOptions: whole sentences.
"""


class Stitched(Frozen):
    """The samples of a source with complete stacks, without function names."""

    profile: "Profile"
    deferred: "DeferredReport"
    unwound: "UnwindReport"
    names: "Callable[[Profile, SymbolOptions], LocationNames] | None" = None
    """Returns the source's own names for a profile's locations; None: they are symbolized."""
    sources: tuple[str, ...] = ()
    """Names of the recordings that are merged in the source; empty: its own name."""


class Source(Protocol):
    """An opened input."""

    @property
    def recording(self) -> "Recording":
        """Session, records and single samples, as far as available."""
        ...

    @property
    def lacks(self) -> Lacks:
        """The kinds of missing data; an input that lacks records counts as one session."""
        ...

    def stitched(self, filters: "AppliedFilters", context: "LoadContext") -> Stitched:
        """Return the samples that pass the filters; the result does not depend on the number of processes."""
        ...


def _nothing(_: object) -> bool:
    return False


class SourceKind(Frozen):
    """One kind of input: a file or a pipe with one recording, or a folder or a URL with many."""

    takes: Callable[[bytes], bool] = _nothing
    """Returns whether a file is of this kind by its first bytes (``input_file.FIRST``)."""
    open: "Callable[[InputFile, str, Diagnostics, Callable[[int, int], None] | None], Source] | None" = None
    """Opens the named file; the last argument is called with the bytes done and the total. Raises FormatError."""
    takes_path: Callable[[str], bool] = _nothing
    """Returns whether a path contains many recordings of this kind."""
    sessions: "Callable[[Sequence[Input], LoadContext], Sequence[SessionInput]] | None" = None
    """Finds the recordings in all inputs of this kind. Raises FormatError or OptionError."""


@cache
def source_kinds() -> tuple[SourceKind, ...]:
    """Return all installed kinds, in the order of their entry points."""
    return tuple(point.load() for point in available("perf2x.sources").values())
