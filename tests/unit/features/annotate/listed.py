"""Listings of the program in ``data``, and of profiles made here."""

from pathlib import Path

from perf2x.base.diagnostics import Diagnostics
from perf2x.features.annotate.make_listings import make_listings
from perf2x.kernel.load import load
from perf2x.kernel.load_options import load_options
from perf2x.kernel.registry import load_symbol_sources
from perf2x.model.annotate_options import ListingOptions
from perf2x.model.profile.listings import FunctionListing, Listings
from perf2x.model.profile.profile import Profile
from perf2x.model.recording.events import Session
from perf2x.symbolizer.make_object_finder import make_context, make_finder
from perf2x.symbolizer.symbol_options import SymbolOptions
from perf2x.symbolizer.symbolize import symbolize

DATA = Path(__file__).parent / "data"
RECORDING = DATA / "inlines.data"
SCRAMBLE = "(anonymous namespace)::scramble"
"""The program's inlined function; pprof and perf call it by its plain name."""


def listed(recording: Path = RECORDING, *, symfs: Path | None = DATA, inline: bool = True, **options) -> Profile:
    """A recording with listings."""
    symbols = SymbolOptions(symfs=symfs, inline=inline)
    profile = load(
        str(recording), load_options(symbols=symbols, listings=ListingOptions(**{"source": True} | options))
    ).profile
    assert profile.listings is not None
    return profile


def function(profile: Profile, name: str) -> FunctionListing:
    assert profile.listings is not None
    return next(one for one in profile.listings.functions if one.name == name)


def listings_of(profile: Profile, session: Session, options: SymbolOptions, **wanted) -> Listings:
    """Listings of a profile without names."""
    diagnostics, sources = Diagnostics(), load_symbol_sources()
    finder = make_finder(options, diagnostics)
    named, _ = symbolize(profile, session, options, diagnostics, sources, finder)
    context = make_context(named, session, options, diagnostics, finder)
    return make_listings(named, context, sources, ListingOptions(**{"source": True} | wanted))
