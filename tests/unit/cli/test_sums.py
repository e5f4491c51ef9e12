"""A dataset as ``fleet ingest`` makes it, of sums without times, with every format, command and option."""

from pathlib import Path

import pytest

from tests.support.command import perf2x, recording
from tests.support.option_pairs import pairs
from tests.support.sums_pairs import FORMATS, NONE, SUMS, TIMED, SumsPlace

pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def sums(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("sums") / "sums"
    assert perf2x("fleet", "ingest", recording("calls"), "-o", folder, "-q").code == 0
    return str(folder)


@pytest.mark.parametrize("name", SUMS)
def test_formats_without_times_show_sums(name: str, sums: str, tmp_path: Path) -> None:
    ran = perf2x("convert", sums, "-t", name, "-o", tmp_path / "out", "-q")
    assert (ran.code, ran.said) == (0, "")
    assert (tmp_path / "out").stat().st_size


@pytest.mark.parametrize("name", [name for name in FORMATS if name not in SUMS])
def test_formats_that_cannot_say_why(name: str, sums: str, tmp_path: Path) -> None:
    ran = perf2x("convert", sums, "-t", name, "-o", tmp_path / "out")
    words = "has sums without times and CPUs; fleet ingest --timeline" if name in TIMED else "dataset"
    assert (ran.code, words in ran.said) == (2, True), ran.said
    assert not (tmp_path / "out").exists()


def test_each_format_is_one_of_them() -> None:
    assert {*FORMATS} == {*SUMS, *NONE, *TIMED}


@pytest.mark.parametrize(
    "words",
    [
        ("view", "SUMS"), ("diff", "SUMS", "SUMS", "-o", "diff.html"), ("convert", "SUMS", "RECORDING", "-o", "x.html"),
        ("top", "SUMS"), ("report", "SUMS"), ("top", "--by", "object", "SUMS"),
    ],
)  # fmt: skip
def test_commands_show_sums(words: tuple[str, ...], sums: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    two = recording("zstd")
    ran = perf2x(*({"SUMS": sums, "RECORDING": two}.get(word, word) for word in words), "-q")
    assert (ran.code, "perf2x: " in ran.said) == (0, False), ran.said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--label", "time"), "has sums without times and CPUs; fleet ingest --timeline keeps"),
        (("--label", "cpu"), "has sums without times and CPUs; fleet ingest --timeline keeps"),
        (("--root", "cpu"), "--root cpu: "),
        (("--time", "10%-20%"), "--time: "),
        (("--value", "weight"), "is a dataset, which does not keep the data that --value needs"),
        (("--no-merge-callchains",), "is a dataset; --no-merge-callchains applies when a recording is added"),
    ],
)
def test_what_sums_cannot_tell_is_refused(words: tuple[str, ...], said: str, sums: str, tmp_path: Path) -> None:
    ran = perf2x("convert", sums, "-t", "pprof", "-o", tmp_path / "out", *words)
    assert (ran.code, said in ran.said) == (2, True), ran.said


def test_shares_of_a_timeline_can_be_chosen(tmp_path: Path) -> None:
    whole, half = tmp_path / "whole.folded", tmp_path / "half.folded"
    kept = tmp_path / "kept"
    ran = perf2x("fleet", "ingest", recording("calls"), "-o", kept, "--timeline", "-q")
    assert ran.code == 0
    for out, words in ((whole, ()), (half, ("--time", "0%-50%"))):
        assert perf2x("convert", kept, "-o", out, "-q", *words).code == 0
    counts = [sum(int(line.rpartition(" ")[2]) for line in out.read_text().splitlines()) for out in (whole, half)]
    assert 0.3 < counts[1] / counts[0] < 0.7


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> SumsPlace:
    return SumsPlace(tmp_path_factory.mktemp("pairs"))


@pytest.mark.slow
@pytest.mark.parametrize("name", SUMS)
def test_no_option_is_dropped(name: str, place: SumsPlace, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("capstone")
    pytest.importorskip("duckdb")
    monkeypatch.chdir(place.folder)
    assert [(words, found) for _, words, found in pairs(place, (name,)) if found.startswith("DROPPED")] == []
