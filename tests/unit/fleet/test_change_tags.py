"""Tags of recordings in a dataset change all at once; nothing else does, and later commands find what they found."""

from pathlib import Path

import pytest

from perf2x.base.errors import FormatError, OptionError, OutputError
from perf2x.fleet.upkeep import change_tags as module
from perf2x.fleet.upkeep.change_tags import change_tags
from perf2x.fleet.upkeep.compact_files import compact
from perf2x.fleet.upkeep.remove_recordings import collect
from perf2x.pipeline.load_options import LoadOptions
from perf2x.storage.dataset.dataset_folder import storage_at
from perf2x.storage.dataset.table_log import read_log
from tests.support.command import perf2x
from tests.support.datasets import rows
from tests.support.fleets import files_of, ingest_one, recording_of
from tests.unit.fleet.test_ingest_one import job

pytest.importorskip("duckdb")
pytest.importorskip("deltalake")


def tags(data: Path) -> dict[str, dict[str, str]]:
    return {Path(row["source"]).name: dict(row["tags"]) for row in rows(data, "recordings")}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Recordings of two services, each in its folder."""
    for number, service in enumerate(("web", "web", "db")):
        file = tmp_path / f"{number}.data"
        file.write_bytes(recording_of(number))
        words = ("-t", "parquet", "-o", tmp_path / "profiles", "-q", "--set", "partition=service")
        assert perf2x("convert", file, *words, "--tag", f"service={service}", "--tag", "version=1").code == 0
    return tmp_path / "profiles"


def test_tags_without_a_value_go_and_names_are_those_that_were_typed(data: Path) -> None:
    odd = data.parent / "a\x7f\udcff.data"
    odd.write_bytes(recording_of(7))
    assert ingest_one(str(odd), job(data)).state == "added"
    (source,) = (row["source"] for row in rows(data, "recordings") if "a" in Path(row["source"]).name.partition(".")[0])
    assert source != str(odd)
    for number, name in enumerate((str(odd), odd.name)):
        assert perf2x("fleet", "tag", data, f"version={number}", "service2=x", "--recording", name).code == 0
        assert dict(tags(data)[Path(source).name])["version"] == str(number)
    assert change_tags(storage_at(data), {"version": "", "none": ""}, {}) == (4, 4)
    assert change_tags(storage_at(data), {"version": "", "none": ""}, {}) == (4, 0)
    assert {name: own.keys() for name, own in tags(data).items() if name[0] in "012"} == {
        name: {"service"} for name in ("0.data", "1.data", "2.data")
    }
    assert "service2" in tags(data)[Path(source).name]


@pytest.mark.parametrize("is_merged", [False, True])
def test_one_commit_changes_the_chosen_and_nothing_else(data: Path, is_merged: bool) -> None:
    if is_merged:
        compact(storage_at(data))
    before, version = files_of(data), read_log(data / "recordings").version
    assert change_tags(storage_at(data), {"version": "2", "team": "é"}, {"service": "web"}) == (2, 2)
    assert change_tags(storage_at(data), {"version": "3"}, {}, ["1.data"]) == (1, 1)
    assert change_tags(storage_at(data), {"version": "3"}, {}, ["1.data"]) == (1, 0)
    assert read_log(data / "recordings").version == version + 2
    assert tags(data) == {
        "0.data": {"service": "web", "team": "é", "version": "2"},
        "1.data": {"service": "web", "team": "é", "version": "3"},
        "2.data": {"service": "db", "version": "1"},
    }
    after = files_of(data)
    assert {name for name in before if after.get(name) != before[name]} == {
        name for name in before if name.startswith("recordings/service=web/")
    }


def test_recordings_are_found_as_before(data: Path) -> None:
    whole = perf2x("convert", data, "-t", "collapsed", "-o", "-").out
    change_tags(storage_at(data), {"version": "2"}, {"service": "web"})
    for upkeep in (lambda: None, lambda: compact(storage_at(data)), lambda: collect(storage_at(data), 1, 10**20)):
        upkeep()
        assert perf2x("convert", data, "-t", "collapsed", "-o", "-").out == whole
        counted = perf2x("fleet", "query", f"{data}?version=2", "SELECT count(*) AS n FROM samples", "--format", "csv")
        assert int(counted.out.split()[1]) > 0, counted.said
        known = ingest_one(str(data.parent / "0.data"), job(data, str(upkeep)))
        assert (known.state, known.retagged) == ("known", False)


def test_an_unfinished_recording_is_replaced_by_the_finished_one(tmp_path: Path) -> None:
    file, data = tmp_path / "a.data", tmp_path / "profiles"
    whole = recording_of(1)
    file.write_bytes(whole[: len(whole) * 9 // 10])
    now = job(data)
    now = type(now)(now.folder, LoadOptions(by_cgroup=True), {}, (), "1", leave_ns=0)
    assert ingest_one(str(file), now).unfinished
    assert change_tags(storage_at(data), {"service": "db"}, {}) == (1, 1)
    file.write_bytes(whole)
    assert ingest_one(str(file), job(data, "2")).state == "added"
    assert tags(data) == {"a.data": {"service": "web"}}
    assert len(read_log(data / "samples").files) == 1


def test_a_recording_with_an_error_is_tried_again(tmp_path: Path) -> None:
    file, data = tmp_path / "a.data", tmp_path / "profiles"
    file.write_bytes(b"PERFILE2 no more")
    assert ingest_one(str(file), job(data)).state == "failed"
    assert change_tags(storage_at(data), {"service": "db"}, {}) == (1, 1)
    assert ingest_one(str(file), job(data, "2")).state == "failed"
    assert tags(data) == {"a.data": {"service": "web"}}
    file.write_bytes(recording_of(1))
    assert ingest_one(str(file), job(data, "3")).state == "added"
    assert [row["error"] for row in rows(data, "recordings")] == [None]


def test_what_cannot_be_is_refused_and_changes_nothing(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = files_of(data)
    with pytest.raises(OptionError, match="service=x: service names folders of this dataset"):
        change_tags(storage_at(data), {"service": "x"}, {})
    with pytest.raises(FormatError, match=r"no recording with none\.data is in this dataset"):
        change_tags(storage_at(data), {"version": "2"}, {}, ["0.data", "none.data"])
    with pytest.raises(FormatError, match="no recording with service=x is in this dataset"):
        change_tags(storage_at(data), {"version": "2"}, {"service": "x"})
    write = module.write_file

    def race(*words: object) -> object:
        monkeypatch.undo()
        compact(storage_at(data))
        return write(*words)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "write_file", race)
    with pytest.raises(OutputError, match="another command changed it meanwhile"):
        change_tags(storage_at(data), {"version": "2"}, {})
    assert set(tags(data)["0.data"]) == {"service", "version"} and before != files_of(data)
