"""Recordings whose end is missing: rows that say so, left while they grow, and replaced by what is more of them."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from perf2x.fleet.ingest import Job, Outcome, Totals
from perf2x.fleet.input_names import changed_ns
from perf2x.fleet.upkeep.compact_files import compact
from perf2x.pipeline.load_options import LoadOptions
from perf2x.storage.dataset.dataset_folder import storage_at
from tests import forge
from tests.support.command import perf2x
from tests.support.datasets import rows
from tests.support.extremes import EVENT, SAMPLE
from tests.support.fleets import ONE, files_of, ingest_one, recording_of

pytest.importorskip("pyarrow")
pytest.importorskip("fsspec")
pytest.importorskip("duckdb")

WHOLE = recording_of(1)
FACTS = "SELECT source, samples, lost, unfinished, missing_bytes, error IS NULL AS is_read FROM recordings ORDER BY ALL"


def add(file: Path, content: bytes, data: Path, run: str, leave_ns: int = 0) -> Outcome:
    """Write a recording and add it; its file is an hour old."""
    file.write_bytes(content)
    os.utime(file, (changed_ns(str(file)) // 10**9 - 3600,) * 2)
    return ingest_one(str(file), Job(str(data), LoadOptions(by_cgroup=True), {}, ("date",), run, leave_ns=leave_ns))


def asked(data: Path, sql: str) -> str:
    ran = perf2x("fleet", "query", data, sql, "--format", "csv")
    assert ran.code == 0, ran.err
    return ran.out


def killed(samples: int, end: int = 0) -> bytes:
    """What is there of the whole recording while perf record runs, without its last bytes."""
    records = [replace(SAMPLE, time=row, period=2, ip=0x1000 + row % 5) for row in range(samples)]
    content = forge.write_file(forge.Session((EVENT,), unfinished=samples < 40), records)
    return content[: len(content) - end]


def test_a_cut_recording_is_a_row_that_says_so(tmp_path: Path) -> None:
    cut = WHOLE[: len(WHOLE) // 2]
    assert add(tmp_path / "a.data", cut, tmp_path / "ds", "1").unfinished
    (row,) = rows(tmp_path / "ds", "recordings")
    assert (row["unfinished"], row["error"], row["session"] is None) == (True, None, False)
    (end,) = [count for count in _findings(cut, tmp_path) if count.endswith("missing at the end of the file")]
    assert end == f"{row['missing_bytes']:,} bytes missing at the end of the file"


def _findings(content: bytes, place: Path) -> list[str]:
    (place / "said.data").write_bytes(content)
    said = perf2x("convert", place / "said.data", "--to", "collapsed", "-o", place / "out", "--no-symbols").err
    (line,) = [line for line in said.splitlines() if line.startswith("lost: ")]
    return [part for part in line.removeprefix("lost: ").partition(";")[0].split(", ") if "section" not in part]


@pytest.mark.parametrize("step", [463, pytest.param(29, marks=pytest.mark.slow)])
def test_a_prefix_and_then_the_whole_are_the_whole_alone(tmp_path: Path, step: int) -> None:
    """Byte for byte, wherever the file was cut; meanwhile its row says that something is missing."""
    file = tmp_path / "a.data"
    add(file, WHOLE, tmp_path / "alone", "1")
    alone = files_of(tmp_path / "alone")
    for end in range(0, len(WHOLE), step):
        data = tmp_path / str(end)
        add(file, WHOLE[:end], data, f"{end}-1")
        (row,) = rows(data, "recordings")
        assert row["unfinished"] or row["error"], end
        assert add(file, WHOLE, data, f"{end}-2").state == "added"
        assert files_of(data) == alone, end


def test_the_whole_replaces_a_growing_one_and_is_never_added_to(tmp_path: Path) -> None:
    data = tmp_path / "ds"
    for run, (content, state) in enumerate(
        ((killed(10), "added"), (killed(10), "known"), (killed(30, end=5), "added"), (killed(20), "known"),
         (killed(40), "added"), (killed(40), "known"))
    ):  # fmt: skip
        assert add(tmp_path / "a.data", content, data, str(run)).state == state, run
        assert len(rows(data, "recordings")) == 1
    assert asked(data, "SELECT samples, unfinished FROM recordings").splitlines()[1:] == ["40,false"]


@pytest.mark.parametrize("parts", [(20, 40), (40, 20), (20, 30), (30, 20, 40, 10)])
def test_queries_see_the_last_state_whatever_came_first(tmp_path: Path, parts: tuple[int, ...]) -> None:
    """Also where two workers add them side by side: neither sees the other's row."""
    data = tmp_path / "ds"
    for samples in parts:
        add(tmp_path / f"{samples}.data", killed(samples), data, "one run")
    assert len(rows(data, "recordings")) == len(parts)
    assert asked(data, "SELECT samples FROM recordings").split()[1:] == [str(max(parts))]
    assert asked(data, "SELECT sum(count)::BIGINT AS n FROM samples").split()[1:] == [str(max(parts))]
    stacks = perf2x("convert", data, "--to", "collapsed", "--value", "samples", "-o", "-", "--no-symbols").out
    assert sum(int(line.rpartition(" ")[2]) for line in stacks.splitlines()) == max(parts)
    for samples in parts:  # what is there is left alone
        assert add(tmp_path / f"{samples}.data", killed(samples), data, "two").state == "known"
    if max(parts) == 40:
        compact(storage_at(data))
        assert rows(data, "recordings")[0]["samples"] == 40


def test_another_recording_of_the_same_name_replaces_nothing(tmp_path: Path) -> None:
    data = tmp_path / "ds"
    add(tmp_path / "perf.data", killed(20), data, "1")
    add(tmp_path / "perf.data", recording_of(2), data, "2")
    assert asked(data, "SELECT samples FROM recordings ORDER BY 1").split()[1:] == ["20", "40"]


def test_what_changed_just_now_is_left(tmp_path: Path) -> None:
    file, data = tmp_path / "a.data", tmp_path / "ds"
    hours = 3600 * 10**9
    for content in (killed(20), killed(0), WHOLE[:-1]):
        assert add(file, content, data, "1", 2 * hours).state == "left"
        assert add(file, content, data, "1", -1).state != "left"
    assert add(file, WHOLE, tmp_path / "other", "1", 2 * hours).state == "added"
    totals = Totals(2)
    totals.add(Outcome("a", "left"))
    totals.add(Outcome("b", "added", 7, unfinished=True))
    assert (totals.done, totals.left, totals.unfinished) == (2, 1, 1)


def test_the_newest_file_of_a_directory_counts_and_stores_tell(tmp_path: Path) -> None:
    import fsspec

    (tmp_path / "dir").mkdir()
    for name, moment in (("data", 10), ("data.0", 30), ("data.1", 20)):
        (tmp_path / "dir" / name).write_bytes(b"")
        os.utime(tmp_path / "dir" / name, (moment, moment))
    os.utime(tmp_path / "dir", (5, 5))
    assert changed_ns(str(tmp_path / "dir")) == 30 * 10**9
    fsspec.filesystem("memory").pipe("/unfinished/a.data", killed(20))
    assert changed_ns("memory://unfinished/a.data") > 10**18
    job = Job(str(tmp_path / "ds"), LoadOptions(), {}, (), "1")
    assert ingest_one("memory://unfinished/a.data", job).state == "left"


def test_compressed_recordings_have_one_beginning(tmp_path: Path) -> None:
    records = [replace(SAMPLE, time=row, period=2, ip=0x1000 + row % 5) for row in range(400)]
    session = replace(ONE, zstd=1000)
    whole = forge.write_file(session, records)
    data = tmp_path / "ds"
    add(tmp_path / "z.data", whole[: len(whole) * 2 // 3], data, "1")
    add(tmp_path / "z.data", whole, data, "2")
    assert asked(data, "SELECT samples, unfinished FROM recordings").split()[1:] == ["400,false"]


def test_the_command_says_what_is_left_and_unfinished(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    file = tmp_path / "a.data"
    file.write_bytes(killed(20))
    ran = perf2x("fleet", "ingest", file, "-o", tmp_path / "ds", "--workers", 1)
    assert "left for a later run: 1 recording, unfinished" in ran.err
    ran = perf2x("fleet", "ingest", file, "-o", tmp_path / "ds", "--workers", 1, "--leave-unfinished", "0s")
    assert "1 recording added with 20 samples, 1 unfinished" in ran.err
    assert perf2x("fleet", "ingest", file, "-o", tmp_path / "ds", "--leave-unfinished", "soon").code == 2
