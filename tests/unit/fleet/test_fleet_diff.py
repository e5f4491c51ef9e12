"""Changes between two parts of a fleet: the largest certain one first, and few false alarms."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest

from perf2x.base.student import student
from perf2x.fleet.fleet_diff import compared_costs
from tests import forge
from tests.forge import kernel as k
from tests.support.command import perf2x
from tests.support.extremes import EVENT, SAMPLE, STAMP

pytest.importorskip("duckdb")
pa = pytest.importorskip("pyarrow")

TABLE = {(1, 0.95): 12.706, (2, 0.95): 4.303, (3, 0.99): 5.841, (9, 0.95): 2.262, (60, 0.99): 2.660}
"""Quantiles of Student's t."""


@pytest.mark.parametrize("freedom", [1, 2, 3, 9, 60])
def test_quantiles_are_those_of_the_tables(freedom: int) -> None:
    for (degrees, confidence), expected in TABLE.items():
        if degrees == freedom:
            assert student(confidence, 1, freedom) == pytest.approx(expected, abs=5e-4)
    assert student(0.95, 20, freedom) == pytest.approx(student(0.9975, 1, freedom))
    assert student(0.95, 1, 10**6) == pytest.approx(NormalDist().inv_cdf(0.975), abs=0.01)


def fleet(hosts: Sequence[int], shares: "np.typing.NDArray[np.float64]", seed: int) -> "pa.Table":
    """Costs of hosts whose shares vary by a third around those of the fleet."""
    random, rows = np.random.default_rng(seed), []
    for host in hosts:
        own = shares * np.exp(random.normal(0, 0.3, len(shares)))
        costs = random.multinomial(6000, own / own.sum())
        rows += [
            {"host": f"h{host}", "recording": f"{host}", "function": f"f{row}", "object": "o", "cost": float(cost)}
            for row, cost in enumerate(costs.tolist())
            if cost
        ]
    return pa.Table.from_pylist(rows)


BEFORE = np.concatenate([[0.24], 0.76 * np.random.default_rng(1).dirichlet(np.full(200, 0.3))])
AFTER = BEFORE * np.where(np.arange(len(BEFORE)) == 0, 2.5, 1)


@pytest.mark.parametrize("hosts", [range(10), range(10, 20)], ids=["same hosts", "others"])
def test_a_regression_of_one_function_comes_first(hosts: range) -> None:
    answer = compared_costs(fleet(range(10), BEFORE, 2), fleet(hosts, AFTER / AFTER.sum(), 3), 0.001, 0.95)
    first, second = [dict(zip(answer.names, row, strict=True)) for row in answer.first_rows(2)[0]]
    assert (first["function"], first["significant"]) == ("f0", True)
    assert 22 < first["before"] < 26 < 40 < first["after"] < 48
    assert first["low"] < 20 < first["high"] and first["high"] - first["low"] < 18
    assert abs(second["change"]) < 4


def test_equal_fleets_seldom_differ() -> None:
    alarms = 0
    for seed in range(20):
        answer = compared_costs(fleet(range(6), BEFORE, seed), fleet(range(6, 12), BEFORE, seed + 50), 0.001, 0.95)
        alarms += any(row[-1] for row in answer.first_rows(0)[0])
    assert alarms <= 3


def test_one_host_is_compared_by_recordings_and_one_recording_not_at_all() -> None:
    def one_host(recordings: int, shares: "np.typing.NDArray[np.float64]", seed: int) -> "pa.Table":
        table = fleet(range(recordings), shares, seed)
        return table.set_column(0, "host", pa.array(["h"] * len(table)))

    answer = compared_costs(one_host(8, BEFORE, 4), one_host(8, AFTER / AFTER.sum(), 5), 0.001, 0.95)
    assert answer.first_rows(1)[0][0][-1] is True
    ((function, *_, low, high, significant),) = compared_costs(
        one_host(1, BEFORE, 4), one_host(1, AFTER / AFTER.sum(), 5), 0.001, 0.95
    ).first_rows(1)[0]
    assert (function, low, high, significant) == ("f0", None, None, False)


def recording(host: str, cost: int, version: int) -> bytes:
    """A program whose first function takes 24 % in its first version, and 44 % with ``cost`` three times as high."""
    records: list[forge.Record] = [
        forge.Mmap(pid=10, tid=10, addr=0x1000 * row, len=0x1000, filename=f"/bin/f{row}", stamp=STAMP)
        for row in range(1, 5)
    ]
    for row, period in enumerate((cost, 30 + version, 28, 18), 1):
        chain = (k.CONTEXT_USER, 0x1000 * row)
        records.append(replace(SAMPLE, time=1000 + row, period=period, ip=0x1000 * row, chain=chain))
    session = forge.Session((EVENT,), features=forge.Features(hostname=host))
    return forge.write_file(session, records)


def test_the_command_finds_it_in_a_dataset(tmp_path: Path) -> None:
    pytest.importorskip("deltalake")
    for host in range(3):
        for version, cost in ((1, 24), (2, 72 + host)):
            file = tmp_path / f"{host}-{version}.data"
            file.write_bytes(recording(f"web{host}", cost + host, version))
            words = ("-t", "parquet", "-o", tmp_path / "ds", "-q", "--tag", f"version={version}")
            assert perf2x("convert", file, *words).code == 0
    ran = perf2x("fleet", "diff", tmp_path / "ds", "version=1", "version=2", "--format", "csv")
    assert (ran.code, ran.said) == (0, "")
    head, *rows = ran.out.splitlines()
    assert head == "function,object,before,after,change,low,high,significant"
    assert len(rows) == 4 and rows[0].startswith("[f1],f1,24")
    assert 40 < float(rows[0].split(",")[3]) < 50 and rows[0].endswith(",true")
    none = perf2x("fleet", "diff", tmp_path / "ds", "version=1", "version=3")
    assert (none.code, "version=3: no samples" in none.said) == (2, True)
