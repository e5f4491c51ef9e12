"""One task adds one recording, once, or the row that says why it cannot be read."""

import shutil
from pathlib import Path

import pytest

from perf2x.base.errors import OutputError
from perf2x.cli.fleet_progress import progress_line
from perf2x.fleet.ingest import Job, Totals, ingest, note_failure
from perf2x.fleet.local_processes import one_by_one
from perf2x.pipeline.load_options import LoadOptions
from perf2x.storage.dataset.content_ids import recording_id
from tests.support.command import perf2x
from tests.support.datasets import rows
from tests.support.fleets import files_of, ingest_one, recording_of

pytest.importorskip("pyarrow")
fsspec = pytest.importorskip("fsspec")


def job(folder: Path, run: str = "1", partition: tuple[str, ...] = ()) -> Job:
    return Job(str(folder), LoadOptions(by_cgroup=True), {"service": "web"}, partition, run)


def test_content_that_is_there_is_skipped(tmp_path: Path) -> None:
    first, copy, data = tmp_path / "a.data", tmp_path / "b.data", tmp_path / "profiles"
    first.write_bytes(recording_of(1))
    copy.write_bytes(first.read_bytes())
    added = ingest_one(str(first), job(data))
    assert (added.state, added.samples, added.error) == ("added", 40, "")
    before = files_of(data)
    assert ingest_one(str(first), job(data, "2")).state == "known"
    assert ingest_one(str(copy), job(data, "2")).state == "known"
    assert files_of(data) == before
    (row,) = rows(data, "recordings")
    assert (row["source"], row["host"], dict(row["tags"])) == (str(first), "host1", {"service": "web"})


def test_a_bundle_is_the_recording_in_it(tmp_path: Path) -> None:
    file, bundle, data = tmp_path / "a.data", tmp_path / "a.tar.gz", tmp_path / "profiles"
    file.write_bytes(recording_of(1))
    assert perf2x("bundle", file, "-o", bundle, "-q").code == 0
    for run, (first, second) in enumerate(((file, bundle), (bundle, file), (bundle, bundle))):
        folder = data / str(run)
        assert ingest_one(str(first), job(folder)).state == "added"
        assert ingest_one(str(second), job(folder, "2")).state == "known"
        assert [row["recording"] for row in rows(folder, "recordings")] == [recording_id([file]).hex()]
    assert perf2x("convert", bundle, "-t", "parquet", "-o", tmp_path / "converted", "-q").code == 0
    assert [row["recording"] for row in rows(tmp_path / "converted", "recordings")] == [recording_id([file]).hex()]


def test_other_tags_of_content_that_is_there_are_counted(tmp_path: Path) -> None:
    file, data = tmp_path / "a.data", tmp_path / "profiles"
    file.write_bytes(recording_of(1))
    words = ("fleet", "ingest", file, "-o", data, "--workers", "1")
    assert "other tags" not in perf2x(*words, "--tag", "service=web", "--tag", "version=1").said
    for same in ((), ("--tag", "service=web")):
        assert "other tags" not in perf2x(*words, *same).said
    for other in ("service=db", "region=eu"):
        said = f"not changed: 1 recording with other tags; perf2x fleet tag {data} KEY=VALUE changes them"
        assert said in perf2x(*words, "--tag", other).said
    assert dict(rows(data, "recordings")[0]["tags"]) == {"service": "web", "version": "1"}


def test_a_task_that_runs_twice_doubles_nothing(tmp_path: Path) -> None:
    file, data = tmp_path / "a.data", tmp_path / "profiles"
    file.write_bytes(recording_of(1))
    ingest_one(str(file), job(data))
    once = files_of(data)
    shutil.rmtree(data / "recordings" / "_delta_log")  # as if killed in front of the last commit
    assert ingest_one(str(file), job(data, "2")).state == "added"
    assert files_of(data) == once


def test_an_error_is_a_row_and_is_tried_again(tmp_path: Path) -> None:
    file, data = tmp_path / "a.data", tmp_path / "profiles"
    gone = ingest_one(str(file), job(data, partition=("service",)))
    assert (gone.state, gone.error) == ("failed", f"{file}: No such file or directory")
    file.write_bytes(b"PERFILE2 no more")
    for run in ("2", "3"):
        failed = ingest_one(str(file), job(data, run, ("service",)))
        assert failed.state == "failed"
        assert str(file) in failed.error
    assert [row["error"] for row in rows(data, "recordings")] == [failed.error]
    assert {name.partition("/")[0] for name in files_of(data)} == {"recordings"}  # no empty file of samples
    file.write_bytes(recording_of(2))
    assert ingest_one(str(file), job(data, "4", ("service",))).state == "added"
    assert [row["error"] for row in rows(data, "recordings")] == [None]
    assert len([name for name in files_of(data) if name.startswith("samples/service=web/")]) == 1


def test_a_damaged_row_is_written_again(tmp_path: Path) -> None:
    """Also where the damage is not in the column of errors: only readers of whole files notice."""
    file, data = tmp_path / "a.data", tmp_path / "profiles"
    file.write_bytes(recording_of(1))
    ingest_one(str(file), job(data))
    whole = files_of(data)
    (row,) = [data / name for name in whole if name.startswith("recordings/")]
    raw = row.read_bytes()
    row.write_bytes(raw[:4] + bytes([raw[4] ^ 1]) + raw[5:])
    assert ingest_one(str(file), job(data, "2")).state == "added"
    assert files_of(data) == whole
    assert ingest_one(str(file), job(data, "3")).state == "known"


def test_objects_of_a_store_keep_their_address(tmp_path: Path) -> None:
    fsspec.filesystem("memory").pipe("/fleet/a.data", recording_of(3))
    assert ingest_one("memory://fleet/a.data", job(tmp_path)).state == "added"
    assert ingest_one("memory://fleet/a.data", job(tmp_path, "2")).state == "known"
    assert [row["source"] for row in rows(tmp_path, "recordings")] == ["memory://fleet/a.data"]
    missing = ingest_one("memory://fleet/b.data", job(tmp_path, "3"))
    assert (missing.state, missing.error) == ("failed", "memory://fleet/b.data: /fleet/b.data")


def test_a_dataset_that_cannot_be_written_ends_the_run(tmp_path: Path) -> None:
    (tmp_path / "profiles").write_text("a file")
    (tmp_path / "a.data").write_bytes(recording_of(1))
    with pytest.raises(OutputError):
        ingest_one(str(tmp_path / "a.data"), job(tmp_path / "profiles"))


def test_totals_name_few_errors_and_estimate(tmp_path: Path) -> None:
    totals = Totals(1000)
    for number in range(30):
        totals.add(note_failure(str(number), f"{number}: broken", job(tmp_path)))
    assert (totals.failed, len(totals.errors)) == (30, 20)
    assert progress_line(totals, 60.0) == "30 of 1,000 recordings, 0.5/s, 1940 s left, 30 errors"
    assert progress_line(Totals(5), 0.0) == "0 of 5 recordings, 0.0/s"


def test_usage(tmp_path: Path) -> None:
    ran = perf2x("fleet", "ingest", "-o", tmp_path)
    assert (ran.code, ran.err) == (2, "perf2x: name recordings, or files that list them (--list)\n")
    assert perf2x("fleet", "ingest", "x", "-o", tmp_path, "--fail-above-errors", "many").code == 2
    assert perf2x("fleet").code == 2


GOOD = recording_of(1)
BAD = {
    "empty": b"", "text": b"hello", "magic": b"PERFILE2", "zeros": bytes(500), "head": GOOD[:104],
    "far": GOOD[:16] + b"\xff" * 88 + GOOD[104:], "gzip": b"\x1f\x8b\x08\0garbage", "zstd": b"\x28\xb5\x2f\xfdgarbage",
}  # fmt: skip


@pytest.mark.parametrize("name", [*BAD, "folder", "missing"])
def test_errors_are_worded_as_convert_words_them(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    if name in BAD:
        file.write_bytes(BAD[name])
    elif name == "folder":
        file.mkdir()
    ran = perf2x("convert", file, "-o", tmp_path / "x.pb.gz")
    assert ran.code == 1
    assert ran.err == f"perf2x: {ingest_one(str(file), job(tmp_path / 'profiles')).error}\n"


def test_errors_of_objects_name_their_address(tmp_path: Path) -> None:
    fsspec.filesystem("memory").pipe("/fleet/bad.data", b"hello")
    found = ingest_one("memory://fleet/bad.data", job(tmp_path))
    assert found.error == "memory://fleet/bad.data: not a perf.data file: 5 bytes are not a whole header"


def test_what_perf2x_stumbles_on_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stumble(*_: object) -> int:
        raise KeyError("attr")

    monkeypatch.setattr("perf2x.fleet.ingest._read", stumble)
    (tmp_path / "a.data").write_bytes(GOOD)
    totals = ingest(one_by_one, [str(tmp_path / "a.data")], job(tmp_path / "profiles"), lambda _: None)
    (row,) = rows(tmp_path / "profiles", "recordings")
    assert totals.errors == [row["error"]]
    assert row["error"] == (
        f"{tmp_path}/a.data: perf2x cannot read it, which is a mistake worth a report (KeyError: 'attr')"
    )
