"""The functions of a profile that listings are made of."""

import numpy as np

from perf2x.analysis.annotate.listing_options import ListingOptions
from perf2x.analysis.totals import Total, totals
from perf2x.base.columnar.arrays import I64
from perf2x.base.errors import OptionError
from perf2x.model.profile.listings import Measure
from perf2x.model.profile.profile import Profile
from perf2x.model.profile.shown_frames import LocationFrames
from perf2x.transforms.filters.choice import Names

FunctionKey = tuple[str, str]
"""Displayed name, and base name of the object."""
MOST = 100
"""Functions that one name or glob lists."""


def measures_of(profile: Profile, value: str) -> tuple[Measure, ...]:
    """The numbers to add up: ``value`` of the default event, or for "" both of all events with samples."""
    if not profile.events:
        return ()
    used = sorted(set(profile.samples.event.tolist())) if not value else [profile.default_event]
    values = (value,) if value else ("period", "samples")
    return tuple(
        Measure(event, one, "samples" if one == "samples" else profile.events[event].unit)
        for event in used
        for one in values
    )


def choose_functions(profile: Profile, options: ListingOptions) -> list[FunctionKey]:
    """Functions by name or glob, or the hottest ones; highest cost first. OptionError for a name that there is not."""
    rows = sorted(totals(profile, None, "function", options.value or "period").rows, key=_cost)
    named = [row for row in rows if not row.name.startswith("[") or options.function]
    if not options.function:
        return [(row.name, row.object) for row in named if row.own][: options.hottest]
    found = Names("function", [row.name for row in named]).matching([options.function])
    if len(found) > MOST:
        raise OptionError(f"{options.function}: {len(found):,} functions have such names; {MOST} are listed at most")
    return [(named[row].name, named[row].object) for row in sorted(found)]


def _cost(row: Total) -> tuple[int, int, str, str]:
    return -row.own, -row.total, row.name, row.object


def function_of_frame(frames: LocationFrames, functions: list[FunctionKey]) -> I64:
    """(frames,) the function that each frame is of, −1 for others."""
    number = {key: row for row, key in enumerate(functions)}
    keys = zip(frames.name, frames.object, strict=True)
    return np.fromiter((number.get(key, -1) for key in keys), np.int64, len(frames))
