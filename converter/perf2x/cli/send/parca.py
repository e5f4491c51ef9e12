"""A pprof as Parca takes it over HTTP: WriteRawRequest in JSON.

Source of truth: proto/parca/profilestore/v1alpha1/profilestore.proto and pkg/normalizer of parca-dev/parca. A request
has series of profiles; of labels it keeps those of series alone, and ``__name__`` begins the profile's type::

    {"series":[{"labels":{"labels":[{"name":"__name__","value":"perf"}]},"samples":[{"rawProfile":"H4sI…"}]}]}
"""

import json
import re
from base64 import b64encode
from collections.abc import Mapping

from perf2x.base.errors import OptionError
from perf2x.model.profile.profile import Profile

_NAME = "__name__"


def write_raw_request(pprof: bytes, profile: Profile) -> bytes:
    """Return the request's body; OptionError where the profile has no time of day, by which Parca files it."""
    if not profile.meta.wall_start_ns:
        raise OptionError(
            "Parca files profiles by their time of day, which the recording does not tell: "
            "add --start-time TIME, or --start-time file"
        )
    labels = [{"name": name, "value": value} for name, value in sorted(series_labels(profile.labels).items())]
    series = {"labels": {"labels": labels}, "samples": [{"rawProfile": b64encode(pprof).decode()}]}
    return json.dumps({"series": [series]}, separators=(",", ":")).encode()


def series_labels(tags: Mapping[str, str]) -> dict[str, str]:
    """Return labels by names that Parca takes: a letter or ``_``, then digits, too."""
    named = {re.sub(r"\W|^(?=\d)", "_", name, flags=re.ASCII): value for name, value in sorted(tags.items())}
    return {_NAME: "perf", **named}
