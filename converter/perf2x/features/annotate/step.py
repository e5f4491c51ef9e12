"""Listings of functions with costs of lines and instructions."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from perf2x.errors import SettingError
from perf2x.kernel.feature import Feature, with_profile
from perf2x.model.format_features import ListingSettings

if TYPE_CHECKING:
    from perf2x.kernel.load_options import LoadContext, LoadOptions
    from perf2x.kernel.load_result import Loaded


def _list(loaded: "Loaded", context: "LoadContext") -> "Loaded":
    listing, symbols = context.options.of(ListingSettings).listings, context.options.symbols
    if listing is None or symbols is None:
        return loaded
    with context.stages.stage("list"):
        from perf2x.features.annotate.make_listings import make_listings
        from perf2x.kernel.registry import load_symbol_sources

        profile = loaded.profile
        facts = context.symbol_facts(profile, loaded.recording, symbols)
        listings = make_listings(profile, facts, load_symbol_sources(), listing)
    return with_profile(loaded, replace(profile, listings=listings))


def _check(options: "LoadOptions", files: Sequence[str]) -> None:
    hiding_setting = options.hiding_setting or ("symbols" if options.symbols is None else "")
    if options.of(ListingSettings).listings is not None and hiding_setting:
        raise SettingError("source lines and instructions reveal the names that ", hiding_setting, " hides")


FEATURE = Feature(settings=ListingSettings, finish=_list, check=_check)
