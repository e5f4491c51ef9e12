"""Separates changes from differences between hosts, if both sides of a comparison are recordings of several hosts.

A side is the recordings before, or after, the change. The cost of a line (a function, an object) is a sum over the
hosts of a side, which are treated as a random sample of hosts. The error of this sum follows from how far each host is
from its expected part of the line's cost (linearization of a ratio; Cochran, Sampling Techniques, 1977, chapter 6). If
shares are compared, a host's part is its share of the total cost of its side; otherwise, all hosts have equal parts. A
host that is on both sides is compared with itself: its deviations before and after are subtracted. If n is the number
of hosts of the side with fewer hosts::

    deviation(host) = cost of the line on the host − part of the host · cost of the line on all hosts
    d(host)         = deviation(host) after − deviation(host) before
    error²          = n / (n − 1) · Σ d(host)²
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import F64, I64, Frozen, arange, as_int32, as_int64, as_intp, sum_of, unique_inverse, zeros
from perf2x.model.profile import Profile, sum_samples
from perf2x.model.totals.totals import group_costs

# The key of the tag that holds a sample's host while two profiles are compared; users cannot set it.
HOST = ""


class Hosts(Frozen):
    """A profile with the host of each sample."""

    profile: Profile
    names: tuple[str, ...]
    of_sample: I64
    """(samples,) index into ``names``."""


def split_hosts(profile: Profile) -> tuple[Profile, Hosts | None]:
    """Return the profile without the tag HOST, and the hosts of its samples; None if these are fewer than two."""
    sets, rows = profile.tag_sets, profile.samples.tags
    labels = {key: value for key, value in profile.labels.items() if key != HOST}
    without_host = replace(profile, labels=labels)
    names = tuple(sorted({tags[HOST] for tags in sets if HOST in tags}))
    if rows is None or not names:
        return without_host, None
    hosts = Hosts(profile, names, as_int64([names.index(tags[HOST]) for tags in sets])[rows])
    other_tags = [tuple((key, value) for key, value in tags.items() if key != HOST) for tags in sets]
    distinct = sorted(set(other_tags))
    new_rows = as_int32([distinct.index(tags) for tags in other_tags])[rows] if any(distinct) else None
    samples = replace(profile.samples, tags=new_rows)
    tag_sets = tuple(map(dict, distinct)) if any(distinct) else ()
    without_host = replace(without_host, samples=samples, tag_sets=tag_sets)
    return sum_samples(without_host), hosts if len(names) > 1 else None


class HostSpread(Frozen):
    """Standard errors of changes that are due to differences between hosts, in the unit of the event."""

    errors: Mapping[tuple[str, str], tuple[float, float]]
    """Errors of the self and the total cost of each line, by name and object."""
    whole: float
    """Error of the cost of all samples."""
    freedom: int
    """Degrees of freedom: one less than the number of hosts of the side with fewer hosts."""


def host_spread(
    before: Hosts, after: Hosts, event: str, by: str, value: str, scale: float, *, are_shares: bool
) -> HostSpread:
    """Compute the errors of all lines.

    ``event``, ``by`` and ``value`` select the costs as in `totals`. The costs of the side ``after`` are multiplied by
    ``scale`` before they are compared. ``are_shares``: shares of the total are compared; otherwise costs.
    """
    names = sorted({*before.names, *after.names})
    sides = []
    for hosts in (before, after):
        number = as_int64([names.index(name) for name in hosts.names])
        sides.append(group_costs(hosts.profile, number[hosts.of_sample], len(names), event, by, value))
    parts = [
        side.group_totals / max(sum_of(side.group_totals), 1) if are_shares
        else np.isin(names, hosts.names) / len(hosts.names) for side, hosts in zip(sides, (before, after), strict=True)
    ]  # fmt: skip
    # number the lines of both sides together
    lines: dict[tuple[str, str], int] = {}
    rows = [as_int64([lines.setdefault(name, len(lines)) for name in side.names]) for side in sides]
    host_count = min(len(before.names), len(after.names))
    factor = math.sqrt(host_count / (host_count - 1))
    own, total = (
        factor * _errors([getattr(side, kind) for side in sides], rows, parts, scale, len(lines))
        for kind in ("own", "total")
    )
    # the cost of all samples is that of a single line, number 0
    whole_costs = [(arange(len(names)), side.group_totals) for side in sides]
    (whole_error,) = factor * _errors(whole_costs, [zeros(1)] * 2, parts, scale, 1)
    errors = dict(zip(lines, zip(own.tolist(), total.tolist(), strict=True), strict=True))
    return HostSpread(errors, float(whole_error), host_count - 1)


def _errors(
    costs: Sequence[tuple[I64, I64]], rows: Sequence[I64], parts: Sequence[F64], scale: float, count: int
) -> F64:
    """Return (lines,) the root of Σ d² over all hosts (see the module), for each line.

    For each side, before and after: ``costs`` are keys, ``line · hosts + host``, and the cost of each; ``rows`` has the
    common number, below ``count``, of each of the side's lines; ``parts`` (hosts,) has the part of each host.

    Costs before count as negative here, so the sum of both sides' costs on a host is the change on this host, and
    d = change − Σ over the sides of (part · signed cost on all hosts). The square is multiplied out, so that only hosts
    on which a line has costs are visited.
    """
    hosts = len(parts[0])
    signed_costs = [costs[0][1] * -1.0, costs[1][1] * scale]
    keys = [row[key // hosts] * hosts + key % hosts for row, (key, _) in zip(rows, costs, strict=True)]
    key, place = unique_inverse(np.concatenate(keys))
    change = np.bincount(as_intp(place), np.concatenate(signed_costs), len(key))
    line, host = np.divmod(key, hosts)
    squares: F64 = np.bincount(as_intp(line), change**2, count).astype(np.float64)
    line_costs = [
        np.bincount(as_intp(side_keys // hosts), cost, count)
        for side_keys, cost in zip(keys, signed_costs, strict=True)
    ]
    for line_cost, part in zip(line_costs, parts, strict=True):
        squares -= 2 * line_cost * np.bincount(as_intp(line), change * part[host], count)
        for other_cost, other_part in zip(line_costs, parts, strict=True):
            squares += line_cost * other_cost * (part @ other_part)
    errors: F64 = np.sqrt(np.maximum(squares, 0))
    return errors
