"""Interfaces of inputs: `SourceKind` recognizes and opens a kind of input, `Source` is an opened input.

An entry point of the group ``perf2x.sources`` names a ``SourceKind``. An input that no kind recognizes is read as
perf.data. Every load imports the modules of all kinds, so these modules import others only when they open an input.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Protocol

from perf2x.base.frozen_struct import Frozen
from perf2x.base.installed_packages import entry_points_by_name

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
"""Things that an input may lack, with the parts of the error message for an option that needs it.

There are two kinds of keys:

- A kind of data, as in ``Setting.asks``, such as ``records``. Its value is what the message says before and after the
  name of the option.
- A field of LoadOptions or of a feature's settings, such as ``symbolize``. Its value is the arguments of the
  OptionError.
"""


class Stitched(Frozen):
    """Samples of a source, as a profile with complete stacks but without names; and reports on the stacks."""

    profile: "Profile"
    deferred: "DeferredReport"
    unwound: "UnwindReport"
    stored_names: "Callable[[Profile, SymbolOptions], LocationNames] | None" = None
    """Returns the names that the source itself stores for a profile's locations; None: it stores none."""
    recordings: tuple[str, ...] = ()
    """Names of the recordings that were merged in the source; empty: the source is a single recording."""


class Source(Protocol):
    """An opened input, from which samples come."""

    @property
    def recording(self) -> "Recording":
        """The session, the side-band tables and the samples, as far as the input has them."""
        ...

    @property
    def lacks(self) -> Lacks:
        """Data that the input lacks. An input that lacks ``records`` is not joined with other files of its session."""
        ...

    def stitched(self, filters: "AppliedFilters", context: "LoadContext") -> Stitched:
        """Return the samples that pass the filters. The result does not depend on ``LoadOptions.jobs``."""
        ...


def _never(_: object) -> bool:
    return False


class SourceKind(Frozen):
    """One kind of input.

    A file or a pipe with one recording sets ``recognizes`` and ``open``; a folder or a URL with many recordings sets
    ``recognizes_path`` and ``sessions``.
    """

    recognizes: Callable[[bytes], bool] = _never
    """Returns whether a file is of this kind by its first bytes (at most ``input_file.HEAD_SIZE``)."""
    open: "Callable[[InputFile, str, Diagnostics, Callable[[int, int], None] | None], Source] | None" = None
    """Opens a file; the second argument is its name in messages. Raises FormatError.

    The last argument reports progress: it is called with the number of bytes read and the total.
    """
    recognizes_path: Callable[[str], bool] = _never
    """Returns whether the path or URL of an input contains many recordings of this kind."""
    sessions: "Callable[[Sequence[Input], LoadContext], Sequence[SessionInput]] | None" = None
    """Finds the sessions in all inputs of this kind together. Raises FormatError or OptionError."""


@cache
def source_kinds() -> tuple[SourceKind, ...]:
    """Return all installed kinds, in the order of their entry points."""
    return tuple(point.load() for point in entry_points_by_name("perf2x.sources").values())
