"""Inputs of a load: sources, found by what they begin with.

An entry point of the group ``perf2x.sources`` names a ``SourceKind``; what none of them takes is a perf.data file.
Every load imports all kinds, so they import what they need when they open something.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Protocol

from perf2x.base.frozen import Frozen
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
    from perf2x.symbolizer.known.place_names import LocationNames
    from perf2x.symbolizer.symbol_options import SymbolOptions

Lacks = Mapping[str, tuple[str, ...]]
"""Words that refuse what asks for something that an input does not tell (``Setting.asks``), before and behind the name
of the setting; and whole sentences, by fields of LoadOptions."""


class Stitched(Frozen):
    """A source's samples with whole stacks, without names of functions."""

    profile: "Profile"
    deferred: "DeferredReport"
    unwound: "UnwindReport"
    names: "Callable[[Profile, SymbolOptions], LocationNames] | None" = None
    """The names that the source has of a profile's locations; None: they are looked up."""
    sources: tuple[str, ...] = ()
    """Names of the recordings that it was made of; empty: its own."""


class Source(Protocol):
    """An opened input."""

    @property
    def recording(self) -> "Recording":
        """Facts, records and single samples, as far as it has them."""
        ...

    @property
    def lacks(self) -> Lacks:
        """Facts that it does not tell; an input without ``records`` is a session of its own."""
        ...

    def stitched(self, filters: "AppliedFilters", context: "LoadContext") -> Stitched:
        """Return the selected samples; the result does not depend on the number of processes."""
        ...


def _nothing(_: object) -> bool:
    return False


class SourceKind(Frozen):
    """One kind of input: a file or a pipe with one recording, or a folder or an address with many."""

    takes: Callable[[bytes], bool] = _nothing
    """Tells by the first bytes (``input_file.FIRST``) whether a file is of this kind."""
    open: "Callable[[InputFile, str, Diagnostics, Callable[[int, int], None] | None], Source] | None" = None
    """Opens the file of this name; the last argument is called with bytes done and of all. FormatError."""
    takes_path: Callable[[str], bool] = _nothing
    """Tells by the path whether an input holds many recordings of this kind."""
    sessions: "Callable[[Sequence[Input], LoadContext], Sequence[SessionInput]] | None" = None
    """Finds the recordings of all such inputs. FormatError, OptionError."""


@cache
def source_kinds() -> tuple[SourceKind, ...]:
    """All installed kinds, by the names of their entry points."""
    return tuple(point.load() for point in available("perf2x.sources").values())
