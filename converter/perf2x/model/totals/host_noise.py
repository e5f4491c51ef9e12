"""Estimates how much of a change may be due to differences between hosts, if both sides have several hosts.

The sides are the recordings before the change and those after it. A row's cost is a sum over the hosts of a side, which
are treated as a random sample of all hosts. Its error follows from how far each host is from its expected part of the
cost (linearization of a ratio; Cochran, Sampling Techniques, 1977, chapter 6). If shares are compared, this part is the
host's share of its side's total cost; otherwise, all hosts have equal parts. A host that is on both sides is compared
with itself. With n hosts on the side that has fewer::

    deviation(host) = cost of the row on the host − part of the host · cost of the row on all hosts
    d(host)         = deviation(host) after − deviation(host) before
    error²          = n / (n − 1) · Σ d(host)²
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import F64, I64, Frozen, arange, as_int32, as_int64, as_intp, sum_of, unique_inverse, zeros
from perf2x.model.profile import Profile, sum_samples
from perf2x.model.totals.totals import Key, group_costs

# Key of the tag with a sample's host while two profiles are compared; users cannot set a tag with an empty key.
HOST = ""


class Hosts(Frozen):
    """A profile with the host of each of its samples."""

    profile: Profile
    names: tuple[str, ...]
    of_sample: I64
    """(samples,) index into ``names``."""


def split_hosts(profile: Profile) -> tuple[Profile, Hosts | None]:
    """Return the profile without the tag HOST, and the hosts of its samples; None if there are fewer than two."""
    tag_sets, rows = profile.tag_sets, profile.samples.tags
    labels = {key: value for key, value in profile.labels.items() if key != HOST}
    without_host = replace(profile, labels=labels)
    names = tuple(sorted({tags[HOST] for tags in tag_sets if HOST in tags}))
    if rows is None or not names:
        return without_host, None
    hosts = Hosts(profile, names, as_int64([names.index(tags[HOST]) for tags in tag_sets])[rows])
    other_tags = [tuple((key, value) for key, value in tags.items() if key != HOST) for tags in tag_sets]
    distinct = sorted(set(other_tags))
    new_rows = as_int32([distinct.index(tags) for tags in other_tags])[rows] if any(distinct) else None
    samples = replace(profile.samples, tags=new_rows)
    other_sets = tuple(map(dict, distinct)) if any(distinct) else ()
    without_host = replace(without_host, samples=samples, tag_sets=other_sets)
    return sum_samples(without_host), hosts if len(names) > 1 else None


class HostErrors(Frozen):
    """Standard errors of changes of costs, in the unit of the event."""

    errors: Mapping[tuple[str, str], tuple[float, float]]
    """Errors of the self and the total cost of each row, by the row's name and object."""
    whole_error: float
    """Error of the cost of all samples together."""
    degrees_of_freedom: int
    """One less than the number of hosts of the side with fewer hosts."""


def host_errors(
    before: Hosts, after: Hosts, event: str, by: str, value: str, scale: float, *, are_shares: bool
) -> HostErrors:
    """Estimate the errors of all rows; ``event``, ``by`` and ``value`` select the costs as in `totals`.

    The costs of the side ``after`` are multiplied by ``scale``. With ``are_shares``, shares of the total are compared.
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
    row_of_key: dict[Key, int] = {}
    new_rows = [as_int64([row_of_key.setdefault(key, len(row_of_key)) for key in side.keys]) for side in sides]
    host_count = min(len(before.names), len(after.names))
    factor = math.sqrt(host_count / (host_count - 1))
    self_errors, total_errors = (
        factor * _errors([getattr(side, kind) for side in sides], new_rows, parts, scale, len(row_of_key))
        for kind in ("self_costs", "total_costs")
    )
    # all samples are a single row, number 0
    whole_costs = [(arange(len(names)), side.group_totals) for side in sides]
    (whole_error,) = factor * _errors(whole_costs, [zeros(1)] * 2, parts, scale, 1)
    errors = dict(zip(row_of_key, zip(self_errors.tolist(), total_errors.tolist(), strict=True), strict=True))
    return HostErrors(errors, float(whole_error), host_count - 1)


def _errors(
    costs: Sequence[tuple[I64, I64]], new_rows: Sequence[I64], parts: Sequence[F64], scale: float, count: int
) -> F64:
    """(``count``,) the root of Σ d² over all hosts for each row (see the module docstring).

    Each sequence has two entries, for the sides before and after:

    - ``costs``: keys, ``row · hosts + host``, and the cost of each key;
    - ``new_rows``: (rows of the side,) the common number of each row;
    - ``parts``: (hosts,) the part of each host.

    Costs before count as negative, so d = Σ over the sides of (cost on the host − part · cost on all hosts). The square
    is multiplied out, so that only hosts on which a row has costs are visited.
    """
    hosts = len(parts[0])
    signed_costs = [costs[0][1] * -1.0, costs[1][1] * scale]
    keys = [new_row[key // hosts] * hosts + key % hosts for new_row, (key, _) in zip(new_rows, costs, strict=True)]
    key, key_index = unique_inverse(np.concatenate(keys))
    change = np.bincount(as_intp(key_index), np.concatenate(signed_costs), len(key))
    row, host = np.divmod(key, hosts)
    squares: F64 = np.bincount(as_intp(row), change**2, count).astype(np.float64)
    row_costs = [
        np.bincount(as_intp(side_keys // hosts), cost, count)
        for side_keys, cost in zip(keys, signed_costs, strict=True)
    ]
    for row_cost, part in zip(row_costs, parts, strict=True):
        squares -= 2 * row_cost * np.bincount(as_intp(row), change * part[host], count)
        for other_cost, other_part in zip(row_costs, parts, strict=True):
            squares += row_cost * other_cost * (part @ other_part)
    errors: F64 = np.sqrt(np.maximum(squares, 0))
    return errors
