"""The time of day: from the recording's clock, from the user, from the date of its files, else not at all."""

import os
import shutil
import time
from pathlib import Path

import pytest

from perf2x.errors import OptionError
from perf2x.features.start_time import date_of, parse_start_time
from perf2x.kernel.load import load
from perf2x.kernel.load_options import load_options
from perf2x.model.profile.profile import Meta
from tests.forge import Event, Features, Sample, Session, write_file
from tests.support.recordings import CORPUS

MODIFIED = 1_795_255_205_250_000_000
SAMPLES = [Sample(ip=0x10, time=time, period=1000, chain=(0x10,)) for time in (5_000_000_000, 7_000_000_000)]


def forged(path: Path, **session: object) -> str:
    path.write_bytes(write_file(Session(**session), SAMPLES))  # type: ignore[arg-type]
    os.utime(path, ns=(MODIFIED, MODIFIED))
    return str(path)


def start_of(path: str | list[str], start_time: str | None = None, **options: object) -> Meta:
    start = None if start_time is None else parse_start_time("start_time", start_time)
    return load(path, load_options(start_time=start, **options)).profile.meta


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("0", 0),
        ("1795255205", 1_795_255_205_000_000_000),
        ("1795255205.000000007", 1_795_255_205_000_000_007),
        ("1795255205.25", MODIFIED),
        ("2026-11-21T10:00:05.25", MODIFIED),
        ("2026-11-21 10:00:05.25Z", MODIFIED),
        ("2026-11-21T12:00:05.25+02:00", MODIFIED),
        ("20261121T100005.25Z", MODIFIED),
        ("2026-11-21", 1_795_219_200_000_000_000),
        ("9999-12-31T23:59:59", 2**63 - 1),
    ],
)
def test_times_in_seconds_and_in_iso_8601(text: str, nanoseconds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "XYZ+5")
    time.tzset()
    assert parse_start_time("start_time", text) == nanoseconds
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize("text", ["", "soon", "-1", "1e9", "1969-12-31T23:59:59", "0001-01-01T00:00:00+14:00", "FILE"])
def test_other_texts_are_usage_errors(text: str) -> None:
    with pytest.raises(OptionError, match=r"start_time: .* is not a time; write 2026-11-21T10:00:05Z"):
        parse_start_time("start_time", text)


def test_without_the_option_a_recording_without_a_clock_has_no_start(tmp_path: Path) -> None:
    meta = start_of(forged(tmp_path / "perf.data"))
    assert meta.wall_start_ns == 0 and meta.comments == ()


def test_the_clock_data_of_the_file_tells(tmp_path: Path) -> None:
    path = forged(tmp_path / "perf.data", features=Features(clock=(1, 10**18, 4_000_000_000)))
    assert start_of(path).wall_start_ns == 10**18 + 1_000_000_000
    assert start_of(path, "file") == start_of(path)
    assert start_of(path, "77").wall_start_ns == 77 * 10**9


@pytest.mark.parametrize(
    ("clockid", "flag", "wall"), [(0, {"use_clockid"}, 5 * 10**9), (1, {"use_clockid"}, 0), (0, set(), 0)]
)
def test_the_realtime_clock_is_the_time_of_day(tmp_path: Path, clockid: int, flag: set[str], wall: int) -> None:
    event = Event(clockid=clockid, flags=frozenset({"sample_id_all", *flag}))
    assert start_of(forged(tmp_path / "perf.data", events=(event,))).wall_start_ns == wall


def test_the_date_of_the_file_is_that_of_its_end(tmp_path: Path) -> None:
    meta = start_of(forged(tmp_path / "perf.data"), "file")
    assert meta.wall_start_ns == MODIFIED - 2_000_000_000
    assert meta.comments == ("perf2x-start-time:file written until 2026-11-21T10:00:05Z",)


def test_the_end_is_that_of_the_recording_where_samples_are_left_out(tmp_path: Path) -> None:
    path = forged(tmp_path / "perf.data", features=Features(sample_time=(5_000_000_000, 9_000_000_000)))
    assert start_of(path, "file").wall_start_ns == MODIFIED - 4_000_000_000


def test_of_several_files_of_one_session_the_last_counts(tmp_path: Path) -> None:
    parts = sorted((CORPUS / "switch_output").glob("perf.data.*"))[:2]
    files = [shutil.copy(part, tmp_path) for part in parts]
    for file, date in zip(files, (MODIFIED, MODIFIED - 10**9), strict=True):
        os.utime(file, ns=(date, date))
    meta = start_of([str(file) for file in files], "file")
    assert meta.wall_start_ns == MODIFIED - meta.duration_ns


def test_of_a_directory_its_data_counts(tmp_path: Path) -> None:
    folder = tmp_path / "run.data"
    folder.mkdir()
    forged(folder / "data")
    os.utime(folder, ns=(5, 5))
    assert start_of(str(folder), "file").wall_start_ns == MODIFIED - 2_000_000_000


def test_a_time_is_said_to_be_given_and_holds_for_all_recordings(tmp_path: Path) -> None:
    paths = [forged(tmp_path / name, features=Features(hostname=name)) for name in ("a", "b")]
    meta = start_of(paths, "1795255205.25")
    assert meta.wall_start_ns == MODIFIED and "perf2x-start-time:given" in meta.comments


@pytest.mark.parametrize("path", ["-", os.devnull])
def test_what_is_no_file_has_no_date(path: str) -> None:
    with pytest.raises(OptionError, match="a pipe has no date; give the time itself"):
        date_of(path)
