"""``perf2x diff`` of two parts of a dataset: shares where one has more recordings, and intervals over hosts."""

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests import forge
from tests.forge import kernel as k
from tests.support.command import perf2x
from tests.support.datasets import add_recordings, name_places, rows
from tests.support.extremes import SAMPLE, STAMP
from tests.support.fleets import ONE

pytest.importorskip("deltalake")


def recording(host: int, version: int, count: int) -> bytes:
    """A host's samples in two functions, at odd and at even addresses."""
    maps = forge.Mmap(pid=10, tid=10, addr=0x1000, len=0x10000, filename="/bin/x", stamp=replace(STAMP, time=1))
    at = [0x1000 + (row % (2 + version + host % 2) > 0) for row in range(count)]
    samples = [replace(SAMPLE, time=9 + row, chain=(k.CONTEXT_USER, one)) for row, one in enumerate(at)]
    return forge.write_file(replace(ONE, features=forge.Features(hostname=f"host{host}")), [maps, *samples])


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Five hosts of one version, and three of them of the next; one host of another service."""
    folder = tmp_path_factory.mktemp("parts")
    for service, version, hosts, samples in (
        ("web", "1", range(5), 40),
        ("web", "2", range(3), 70),
        ("db", "1", [7], 50),
    ):
        for host in hosts:
            path = folder / f"{service}{version}-{host}.data"
            path.write_bytes(recording(host, int(version), samples + host))
            add_recordings(folder / "profiles", [path], {"service": service, "version": version})
    places = [row for row in rows(folder / "profiles", "places") if row["file_offset"] % 2]
    name_places(folder / "profiles", places, [("odd", "odd", "a.c", 1)])
    return str(folder / "profiles")


def compared(before: str, after: str, *options: str) -> tuple[str, dict]:
    table = perf2x("diff", before, after, *options)
    assert table.code == 0, table.err
    return table.out + table.err, json.loads(perf2x("diff", before, after, "--format", "json", "--all", *options).out)


def test_parts_of_other_sizes_are_compared_by_shares_and_over_hosts(data: str, tmp_path: Path) -> None:
    text, facts = compared(f"{data}?service=web&version=1", f"{data}?service=web&version=2")
    assert "shares compared" in text and "among 3 hosts" in text
    one_host = compared(f"{data}?service=web&version=1", f"{data}?service=db")
    assert "shares compared" in one_host[0] and "hosts" not in one_host[0]
    plain = compared(f"{data}?service=web&version=1", f"{data}?service=web&version=2", "--normalize")
    assert plain[1] == facts
    assert any(row["interval"]["self"][1] > 0 > row["interval"]["self"][0] for row in facts["rows"])
    assert perf2x("diff", f"{data}?version=1", f"{data}?version=2", "-o", str(tmp_path / "d.pb.gz"), "-q").code == 0
    assert b"host1" not in gzip.decompress((tmp_path / "d.pb.gz").read_bytes())


def test_a_part_with_itself_has_no_change_and_sums_are_compared(data: str) -> None:
    text, facts = compared(f"{data}?version=1", f"{data}?version=1")
    assert "shares" not in text and not any(any(row["significant"].values()) for row in facts["rows"])


def test_a_limit_to_the_total_is_refused_where_shares_are_compared(data: str) -> None:
    refused = perf2x("diff", f"{data}?version=1", f"{data}?version=2", "--fail-above", "total=5%")
    assert refused.code == 2 and "total=… could never fail when shares are compared" in refused.said
    assert perf2x("diff", f"{data}?version=1", f"{data}?version=2", "--fail-above", "function=90%", "-q").code == 0
