"""Takes the part of a profile that was asked for; tables stay as they are, only rows of samples go."""

import dataclasses
import re
from fnmatch import fnmatchcase

import numpy as np

from perf2x.model.arrays import I64
from perf2x.model.errors import OptionError
from perf2x.model.profile import Profile

_DECORATION = re.compile(r"/[^/]*/[a-zA-Z]*$|:[ukhIGHpPSDWeb]+$")
"""Terms and modifiers that perf writes behind an event's name (tools/perf/util/parse-events.l)."""


def keep_events(profile: Profile, patterns: tuple[str, ...]) -> Profile:
    """Only samples of the events whose names match one of the patterns; OptionError names the events there are.

    A pattern is a name as recorded, the name without terms and modifiers (``cycles`` for ``cycles/period=5/P`` and
    ``cycles:P``), or a glob.
    """
    wanted = [row for row, event in enumerate(profile.events) if any(_matches(event.name, text) for text in patterns)]
    for text in patterns:
        if not any(_matches(event.name, text) for event in profile.events):
            names = ", ".join(event.name for event in profile.events)
            raise OptionError(f"no event {text!r}; the file has: {names}")
    kept = keep_samples(profile, np.flatnonzero(np.isin(profile.samples.event, wanted)))
    first = int(kept.samples.event.min()) if len(kept.samples) else wanted[0]
    return dataclasses.replace(kept, default_event=first)


def keep_samples(profile: Profile, rows: I64) -> Profile:
    """Only the named rows of samples, in the order given."""
    samples = profile.samples
    columns = {field.name: getattr(samples, field.name) for field in dataclasses.fields(samples)}
    kept = {name: column[rows] for name, column in columns.items() if column is not None}
    return dataclasses.replace(profile, samples=dataclasses.replace(samples, **kept))


def _matches(name: str, pattern: str) -> bool:
    return pattern in (name, _DECORATION.sub("", name)) or fnmatchcase(name, pattern)
