"""Separates changes from differences between hosts, if both sides of a comparison are recordings of several hosts.

The cost of a line (function, object) is a sum over hosts. Hosts are treated as a random sample, and the share of a line
as the ratio of two sums over hosts, whose error follows from how far each host is from the common share (linearization;
Cochran, Sampling Techniques, 1977, chapter 6). A host that is on both sides is compared with itself::

    d(host) = after(host) − share of after · whole of after(host)  −  the same of before
    error²  = n / (n − 1) · Σ d²
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import F64, I64, Frozen, arange, as_int32, as_int64, as_intp, sum_of, unique_inverse, zeros
from perf2x.model.profile import Profile, sum_samples
from perf2x.model.totals.totals import group_costs

HOST = ""
"""The tag key of a sample's host while two profiles are compared; users cannot set it."""


class Hosts(Frozen):
    """A profile with the host of each sample."""

    profile: Profile
    names: tuple[str, ...]
    of_sample: I64
    """(samples,) index into ``names``."""


def split_hosts(profile: Profile) -> tuple[Profile, Hosts | None]:
    """Return the profile without its tag HOST, and the hosts of its samples; None if unknown or only one."""
    sets, rows = profile.tag_sets, profile.samples.tags
    labels = {key: value for key, value in profile.labels.items() if key != HOST}
    plain = replace(profile, labels=labels)
    names = tuple(sorted({tags[HOST] for tags in sets if HOST in tags}))
    if rows is None or not names:
        return plain, None
    hosts = Hosts(profile, names, as_int64([names.index(tags[HOST]) for tags in sets])[rows])
    kept = [tuple((key, value) for key, value in tags.items() if key != HOST) for tags in sets]
    distinct = sorted(set(kept))
    number = as_int32([distinct.index(one) for one in kept])[rows] if any(distinct) else None
    samples = replace(profile.samples, tags=number)
    plain = replace(plain, samples=samples, tag_sets=tuple(map(dict, distinct)) if any(distinct) else ())
    return sum_samples(plain), hosts if len(names) > 1 else None


class HostSpread(Frozen):
    """Standard errors of changes due to hosts, in the unit of the event before."""

    errors: Mapping[tuple[str, str], tuple[float, float]]
    """By name and object: errors of the self and the total cost."""
    whole: float
    freedom: int
    """Degrees of freedom: one less than the smaller number of hosts on either side."""


def host_spread(
    before: Hosts, after: Hosts, event: str, by: str, value: str, scale: float, *, are_shares: bool
) -> HostSpread:
    """Compute the errors of all lines; ``scale`` multiplies the costs after."""
    names = sorted({*before.names, *after.names})
    sides = []
    for hosts in (before, after):
        number = as_int64([names.index(name) for name in hosts.names])
        sides.append(group_costs(hosts.profile, number[hosts.of_sample], len(names), event, by, value))
    parts = [
        side.wholes / max(sum_of(side.wholes), 1) if are_shares
        else np.isin(names, hosts.names) / len(hosts.names) for side, hosts in zip(sides, (before, after), strict=True)
    ]  # fmt: skip
    lines: dict[tuple[str, str], int] = {}
    rows = [as_int64([lines.setdefault(name, len(lines)) for name in side.names]) for side in sides]
    least = min(len(before.names), len(after.names))
    factor = math.sqrt(least / (least - 1))
    own, total = (
        factor * _errors([getattr(side, kind) for side in sides], rows, parts, scale, len(lines))
        for kind in ("own", "total")
    )
    whole = [(arange(len(names)), side.wholes) for side in sides]
    (error,) = factor * _errors(whole, [zeros(1)] * 2, parts, scale, 1)
    errors = dict(zip(lines, zip(own.tolist(), total.tolist(), strict=True), strict=True))
    return HostSpread(errors, float(error), least - 1)


def _errors(
    costs: Sequence[tuple[I64, I64]], rows: Sequence[I64], parts: Sequence[F64], scale: float, count: int
) -> F64:
    """Return (lines,) the root of Σ d² over all hosts (see the module), for each line.

    ``costs`` of a side: the keys ``line · hosts + host``, and the cost of each key. ``rows`` map each side's lines to
    common ones; ``parts`` (hosts,) is each host's share of its side.
    """
    hosts = len(parts[0])
    weighted = [costs[0][1] * -1.0, costs[1][1] * scale]
    keys = [row[key // hosts] * hosts + key % hosts for row, (key, _) in zip(rows, costs, strict=True)]
    key, place = unique_inverse(np.concatenate(keys))
    change = np.bincount(as_intp(place), np.concatenate(weighted), len(key))
    line, host = np.divmod(key, hosts)
    squares: F64 = np.bincount(as_intp(line), change**2, count).astype(np.float64)
    sums = [np.bincount(as_intp(one // hosts), cost, count) for one, cost in zip(keys, weighted, strict=True)]
    for mine, own in zip(sums, parts, strict=True):
        squares -= 2 * mine * np.bincount(as_intp(line), change * own[host], count)
        for other, theirs in zip(sums, parts, strict=True):
            squares += mine * other * (own @ theirs)
    found: F64 = np.sqrt(np.maximum(squares, 0))
    return found
