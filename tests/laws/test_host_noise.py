"""Intervals over hosts: they hold as often as they say although hosts differ, and are those of plain Python."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest
from msgspec.structs import replace

from perf2x.model.profile.profile import Profile
from perf2x.model.totals.host_noise import HOST, Hosts, host_errors, split_hosts
from perf2x.model.totals.totals import totals
from perf2x.testing import ProfileBuilder
from perf2x.tools.diff.changes import Change, Comparison

FUNCTIONS, HOSTS, TRIALS = 8, 8, 150
Counts = npt.NDArray[np.int64]


def profile_of(counts: Counts, names: Sequence[str]) -> Profile:
    """``counts`` (hosts, functions) of samples; every second one has a caller that is a function, too."""
    builder = ProfileBuilder()
    builder.event("cycles", "count", frequency=0)
    rows = [builder.function(f"f{number}") for number in range(counts.shape[1])]
    for host, of_host in enumerate(counts.tolist()):
        builder.thread("x", host)
        for number, count in enumerate(of_host):
            stack = [rows[number - 1], rows[number]] if number % 2 else [rows[number]]
            builder.sample(stack, thread=host, value=count, count=count)
    profile = builder.build()
    samples = replace(profile.samples, tags=profile.threads.pid[profile.samples.thread])
    return replace(profile, samples=samples, tag_sets=tuple({HOST: name} for name in names))


def changes(before: Profile, after: Profile, *, are_shares: bool = True, over_hosts: bool = True) -> list[Change]:
    (_, old), (_, new) = split_hosts(before), split_hosts(after)
    assert old is not None and new is not None
    found = Comparison(totals(before), totals(after), normalize=are_shares)
    if over_hosts:
        spread = host_errors(old, new, "cycles", "function", "period", found.scale, are_shares=are_shares)
        found = replace(found, hosts=spread)
    return found.changes(0.95)


def fleet(random: np.random.Generator, shares: npt.NDArray[np.float64]) -> Counts:
    """Samples of hosts, of which each has shares of its own and another load."""
    return np.array([random.multinomial(int(1000 * random.lognormal(0, 0.5)), own) for own in shares])


def shares_of(random: np.random.Generator, more: float = 0.0) -> npt.NDArray[np.float64]:
    """(hosts, functions), about alike but for the first function, and for how much hosts differ."""
    weight = np.exp(random.normal(0, 0.4, (HOSTS, FUNCTIONS)))
    weight[:, 0] *= 1 + more
    return weight / weight.sum(axis=1, keepdims=True)


A, B = [f"a{number}" for number in range(HOSTS)], [f"b{number}" for number in range(HOSTS)]


def told(trials: Sequence[list[Change]]) -> float:
    """Part of the trials in which any change counts as more than noise."""
    return sum(any(row.significant("self") for row in rows) for rows in trials) / len(trials)


def test_intervals_over_other_hosts_hold_and_those_of_samples_do_not() -> None:
    random = np.random.default_rng(5)
    pairs = [
        (profile_of(fleet(random, shares_of(random)), A), profile_of(fleet(random, shares_of(random)), B))
        for _ in range(TRIALS)
    ]
    assert told([changes(*pair) for pair in pairs]) <= 0.08
    assert told([changes(*pair, over_hosts=False) for pair in pairs]) > 0.9


@pytest.mark.parametrize(("more", "least", "most"), [(0.0, 0.0, 0.08), (1.2, 0.9, 1.0)])
def test_a_host_is_compared_with_itself(more: float, least: float, most: float) -> None:
    random = np.random.default_rng(6)
    trials = []
    for _ in range(TRIALS):
        shares = shares_of(random)
        later = shares * np.array([1 + more, *[1.0] * (FUNCTIONS - 1)])
        later /= later.sum(axis=1, keepdims=True)
        trials.append(changes(profile_of(fleet(random, shares), A), profile_of(fleet(random, later), A)))
    assert least <= told(trials) <= most
    if more:  # larger than what the same hosts differ by, smaller than what hosts differ by
        first = [next(row for row in rows if row.name == "f0") for rows in trials]
        assert sum(row.significant("self") for row in first) >= 0.9 * TRIALS


@pytest.mark.parametrize("are_shares", [True, False])
@pytest.mark.parametrize("names", [A[:3], B[:3], [A[2], A[0], B[0]]])
def test_errors_are_those_of_plain_python(names: list[str], *, are_shares: bool) -> None:
    random = np.random.default_rng(7)
    counts = [random.integers(1, 90, (3, 4)) for _ in range(2)]
    hosts = [split_hosts(profile_of(each, called))[1] for each, called in zip(counts, (A[:3], names), strict=True)]
    old, new = (one for one in hosts if isinstance(one, Hosts))
    wholes = [float(each.sum()) for each in counts]
    scale = wholes[0] / wholes[1] if are_shares else 1.0
    spread = host_errors(old, new, "cycles", "function", "period", scale, are_shares=are_shares)
    sides = [
        dict(zip(called, each, strict=True)) for called, each in ((A[:3], counts[0] * -1.0), (names, counts[1] * scale))
    ]
    for number in range(4):
        reaching = [number, number + 1] if number % 2 == 0 and number < 3 else [number]
        for kind, columns in enumerate(([number], reaching)):
            squares = 0.0
            for host in {*A[:3], *names}:
                off = 0.0
                for side in sides:
                    costs = {one: sum(row[column] for column in columns) for one, row in side.items()}
                    whole = sum(sum(row) for row in side.values())
                    part = (sum(side[host]) / whole if are_shares else 1 / 3) if host in side else 0.0
                    off += costs.get(host, 0.0) - sum(costs.values()) * part
                squares += off**2
            expected = math.sqrt(squares * 3 / 2)
            assert math.isclose(spread.errors[f"f{number}", ""][kind], expected, rel_tol=1e-9), (number, kind)


def test_what_is_written_has_no_hosts() -> None:
    profile = profile_of(np.ones((2, 3), np.int64), A[:2])
    plain, hosts = split_hosts(profile)
    assert hosts is not None and hosts.names == ("a0", "a1")
    assert plain.samples.tags is None and plain.tag_sets == () and HOST not in plain.labels
    assert totals(plain) == totals(profile)
    plain, hosts = split_hosts(replace(profile, tag_sets=({HOST: "a", "k": "v"}, {HOST: "a"})))
    assert hosts is None and plain.tag_sets == ({}, {"k": "v"}) and totals(plain) == totals(profile)
