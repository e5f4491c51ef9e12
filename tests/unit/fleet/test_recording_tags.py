"""Labels and dates of single recordings, by name, by files beside them, and by their control groups."""

import os
from pathlib import Path

import numpy as np
import pytest

from perf2x.errors import FormatError, OptionError
from perf2x.fleet.recording_tags import (
    check_name_pattern,
    start_from_name,
    tags_from_cgroups,
    tags_from_environment,
    tags_of,
)
from tests.support.command import perf2x
from tests.support.datasets import rows
from tests.support.fleets import recording_of

fsspec = pytest.importorskip("fsspec")

POD = "0b1a6a3f_1234_4321_aaaa_0123456789ab"
IN_POD = f"/kubepods.slice/kubepods-burstable-pod{POD}.slice/cri-containerd-{'ab' * 32}.scope"


@pytest.mark.parametrize(
    ("source", "pattern", "tags"),
    [
        ("/x/profiles/web/1.2/a.data", "profiles/{service}/{version}/{host}.data",
         {"service": "web", "version": "1.2", "host": "a"}),
        ("s3://b/web/20.1.data", "s3://b/{service}/*.data", {"service": "web"}),
        ("/web.data", "{service}.data", {"service": "web"}),
        ("/x/my-profiles/web/1/a.data", "profiles/{service}/{version}/{host}.data", {}),
        ("/x/profiles/web/a/b/c.data", "profiles/{service}/*.data", {}),
    ],
)  # fmt: skip
def test_parts_of_a_path(source: str, pattern: str, tags: dict[str, str]) -> None:
    assert tags_of(source, [pattern]) == (tags, not tags)


@pytest.mark.parametrize("text", ["{a}{a}", "{a-b}/x", "{", "a}/{b}", "x", ""])
def test_a_source_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(OptionError, match="tag_from"):
        tags_from_environment([text])


def test_tables_and_files_beside(tmp_path: Path) -> None:
    table, one = tmp_path / "all.csv", tmp_path / "a.data"
    table.write_text(f"recording,service,zone\nb.data,db,\n{one},web,eu\n")
    Path(f"{one}.json").write_text('{"service": "shop", "shard": 3, "gone": null}')
    asked = [str(table), ".json"]
    assert tags_of(str(one), asked) == ({"service": "shop", "zone": "eu", "shard": "3"}, False)
    assert tags_of(str(one), asked[::-1]) == ({"service": "web", "zone": "eu", "shard": "3"}, False)
    assert tags_of("/elsewhere/b.data", asked[:1]) == ({"service": "db"}, False)
    assert tags_of("/elsewhere/b.data", asked) == ({"service": "db"}, True)
    Path(f"{one}.json").write_text('{"service": ["a"]}')
    with pytest.raises(FormatError, match=r"a\.data\.json: Expected"):
        tags_of(str(one), asked)
    table.write_text("service\nweb\n")
    with pytest.raises(FormatError, match="names no column recording"):
        tags_from_environment(asked)
    with pytest.raises(FormatError, match="No such file"):
        tags_from_environment([str(tmp_path / "none.csv")])


def test_a_recording_at_a_url_may_lack_a_file_of_tags() -> None:
    memory = fsspec.filesystem("memory")
    memory.pipe_file("/tags/a.data.json", b'{"service": "shop"}')
    memory.pipe_file("/tags/b.data.json", b"[]")
    assert tags_of("memory://tags/a.data", [".json"]) == ({"service": "shop"}, False)
    assert tags_of("memory://tags/c.data", [".json"]) == ({}, True)
    with pytest.raises(FormatError, match=r"b\.data\.json: Expected"):
        tags_of("memory://tags/b.data", [".json"])


def test_a_variable_is_that_of_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "service.name=web, zone=a%20b")
    assert tags_from_environment(["env:OTEL_RESOURCE_ATTRIBUTES", "cgroup"]) == {"service.name": "web", "zone": "a b"}
    assert tags_of("x", ["env:OTEL_RESOURCE_ATTRIBUTES", "cgroup"]) == ({}, False)
    monkeypatch.setenv("WRONG", "a=1,b")
    with pytest.raises(OptionError, match="'b' is not KEY=VALUE"):
        tags_from_environment(["env:WRONG"])


def test_control_groups_of_one_container() -> None:
    ids = {"container": "ab" * 32, "pod": POD.replace("_", "-")}
    assert tags_from_cgroups([IN_POD, ""]) == ids
    assert tags_from_cgroups([IN_POD, IN_POD.replace("ab" * 32, "cd" * 32)]) == {"pod": ids["pod"]}
    assert tags_from_cgroups([f"/docker/{'ab' * 32}"]) == {"container": ids["container"]}
    assert tags_from_cgroups([IN_POD, "/system.slice"]) == tags_from_cgroups(["/", ""]) == tags_from_cgroups([]) == {}


def test_dates_of_names() -> None:
    second = 1795451134 * 10**9
    assert start_from_name("/x/perf.data.2026112316253412", "perf.data.%Y%m%d%H%M%S%f") == second + 120_000_000
    assert start_from_name("s3://x/2026-11-23T18:25:34+0200", "%Y-%m-%dT%H:%M:%S%z") == second
    assert start_from_name("/x/perf.data", "perf-%Y.data") is start_from_name("1969", "%Y") is None
    for wrong in ("perf.data", "%Q", "%"):
        with pytest.raises(OptionError, match="start_time"):
            check_name_pattern(wrong, ["/a/perf-20261122.data"])


def test_ingest_labels_each_recording(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    for number, name in enumerate(("web/1/a-20261123.data", "db/2/b-20261122.data", "other.data")):
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).write_bytes(recording_of(number))
    words = ("--tag", "service=none", "--tag-from", "in/{service}/{version}/*.data", "--workers", "1")
    dated = ("--start-time", "a-%Y%m%d.data")
    ran = perf2x("fleet", "ingest", str(tmp_path / "in/**/*.data"), "-o", tmp_path / "ds", *words, *dated)
    assert (
        "hint: 2 recordings without wall-clock time. Record with perf record -k mono, or pass --start-time" in ran.said
    )
    assert "1 recording without some tags (--tag-from)" in ran.said
    found = {Path(row["source"]).name: row for row in rows(tmp_path / "ds", "recordings")}
    assert {name: dict(row["tags"]) for name, row in found.items()} == {
        "a-20261123.data": {"service": "web", "version": "1"},
        "b-20261122.data": {"service": "db", "version": "2"},
        "other.data": {"service": "none"},
    }
    assert found["a-20261123.data"]["start_ns"] == 1795392000 * 10**9


def test_dates_of_files(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    file = tmp_path / "a.data"
    file.write_bytes(recording_of(1, 40))
    os.utime(file, ns=(0, 1795392000 * 10**9))
    ran = perf2x("fleet", "ingest", file, "-o", tmp_path / "ds", "--start-time", "file", "--workers", "1")
    assert (ran.code, "time of day" in ran.said) == (0, False)
    (row,) = rows(tmp_path / "ds", "recordings")
    assert row["start_ns"] == 1795392000 * 10**9 - row["duration_ns"] and row["duration_ns"] == 39


@pytest.mark.parametrize(
    "name, pattern, moment",
    [
        ("web1-20261122-101500.data", "{host}-%Y%m%d-%H%M%S.data", "2026-11-22T10:15:00"),
        ("web-1-20261122-101500.data", "*-%Y%m%d-%H%M%S.data", "2026-11-22T10:15:00"),
        ("perf.data.20261122101500123456", "perf.data.%Y%m%d%H%M%S%f", "2026-11-22T10:15:00.123456"),
        ("a+b(1) 2026-11-22T10.data", "a+b({n}) %Y-%m-%dT%H.data", "2026-11-22T10:00:00"),
        ("x-20261122.data.old", "*-%Y%m%d.data", None),
        ("x-20261322.data", "*-%Y%m%d.data", None),
    ],
)
def test_patterns_skip_what_is_no_time(name: str, pattern: str, moment: str | None) -> None:
    found = start_from_name(f"/some/where/{name}", pattern)
    expected = None if moment is None else int(np.datetime64(moment, "ns").astype(int))
    assert found == expected


def test_a_pattern_of_no_name_stops_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / "a.data").write_bytes(recording_of(1))
    ran = perf2x("fleet", "ingest", tmp_path / "a.data", "-o", tmp_path / "ds", "--start-time", "*-%Y.data")
    assert (ran.code, (tmp_path / "ds").exists()) == (2, False)
    assert "--start-time *-%Y.data: a.data does not match it" in ran.err
