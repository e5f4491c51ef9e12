"""Recordings are taken when they are finished, once, and again when they change."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from perf2x.base.errors import FormatError
from perf2x.cli.commands.fleet.fleet_watch import _pause, _watch
from perf2x.fleet.finished_files import FinishedFiles
from tests.support.command import perf2x
from tests.support.datasets import rows
from tests.support.fleets import recording_of

fsspec = pytest.importorskip("fsspec")

MINUTE = 60 * 10**9


def age(path: Path, seconds: float) -> str:
    moment = time.time() - seconds
    os.utime(path, (moment, moment))
    return str(path)


def test_a_file_is_taken_when_it_is_quiet(tmp_path: Path) -> None:
    files, one = FinishedFiles([str(tmp_path)], MINUTE), tmp_path / "sub/web.data"
    one.parent.mkdir()
    one.write_bytes(b"1")
    (tmp_path / "web.data.json").write_text("{}")
    assert files.new() == []
    assert files.new() == [] == FinishedFiles([str(tmp_path / "*.data")], 0).new()
    name = age(one, 61)
    assert files.new() == [name] == files.new()
    files.take([name])
    assert files.new() == []
    one.write_bytes(b"12")
    assert files.new() == []
    age(one, 61)
    assert files.new() == [name]


def test_a_file_is_taken_when_it_was_renamed(tmp_path: Path) -> None:
    """As by perf record --switch-output, and as by whoever writes under another name first."""
    files, growing = FinishedFiles([str(tmp_path)], MINUTE), tmp_path / "perf.data"
    growing.write_bytes(b"1")
    assert files.new() == []
    done = growing.rename(tmp_path / "perf.data.2026112316253412")
    growing.write_bytes(b"2")
    assert files.new() == [str(done)]
    files.take([str(done)])
    assert files.new() == []
    growing.rename(done)
    assert files.new() == []  # under a name that was there


def test_places_are_patterns_and_addresses(tmp_path: Path) -> None:
    for name in ("a.data", "b.data", "c.rec"):
        age_of = tmp_path / name
        age_of.write_bytes(b"1")
        age(age_of, 61)
    assert FinishedFiles([str(tmp_path / "*.rec")], MINUTE).new() == [str(tmp_path / "c.rec")]
    system = fsspec.filesystem("memory")
    system.pipe("/perf/web/a.data", b"1")
    system.pipe("/perf/b.data", b"1")
    try:
        assert FinishedFiles(["memory://perf"], 0).new() == ["memory:///perf/b.data", "memory:///perf/web/a.data"]
        assert FinishedFiles(["memory://perf"], MINUTE).new() == []
        known = ["memory:///perf/b.data"]
        assert FinishedFiles(["memory://perf/*.data"], 0, known).new() == []
    finally:
        system.rm("/perf", recursive=True)


def test_failures_are_tried_again_ever_more_rarely(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr(time, "sleep", pause)
    for number in range(3):
        (tmp_path / f"{number}.data").write_bytes(b"1")
    taken: list[list[str]] = []

    def take(names: list[str]) -> None:
        if len(pauses) < 2:
            raise FormatError("the store is away")
        taken.append([Path(name).name for name in names])

    with pytest.raises(KeyboardInterrupt):
        _watch(FinishedFiles([str(tmp_path)], 0), take, 2, 10, False)
    assert pauses == [20, 40, 10, 10]
    assert taken == [["0.data", "1.data"], ["2.data"]]
    assert "the store is away; tried again in 40 s" in capsys.readouterr().err
    assert _pause(10, 30) == 900
    assert _pause(3600, 3) == 3600
    with pytest.raises(FormatError):
        _watch(FinishedFiles([str(tmp_path)], 0), lambda _: take([]) if pauses.clear() is None else None, 2, 10, True)


@pytest.mark.slow
def test_once(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    for number in range(3):
        (tmp_path / f"{number}.data").write_bytes(recording_of(number) if number else b"none")
    words = ("-o", tmp_path / "ds", "--once", "--settled", "0s", "--batch", "2", "--workers", "1", "--tag", "a=b")
    ran = perf2x("fleet", "watch", tmp_path, *words)
    assert (ran.code, ran.said.count("added with")) == (0, 2), ran.said
    assert sorted(row["error"] is None for row in rows(tmp_path / "ds", "recordings")) == [False, True, True]
    assert "/none: No such file or directory" in perf2x("fleet", "watch", tmp_path / "none", *words).said
    assert perf2x("fleet", "watch", tmp_path, *words, "--every", "0s").said.startswith("perf2x: --every 0s")


@pytest.mark.slow
def test_sigterm_ends_it_cleanly(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    words = ["fleet", "watch", str(tmp_path / "in"), "-o", str(tmp_path / "ds"), "--settled", "1s", "--every", "1s"]
    words += ["--start-time", "file"]  # no hint
    (tmp_path / "in").mkdir()
    command = subprocess.Popen([sys.executable, "-m", "perf2x", *words], stderr=subprocess.PIPE, text=True)
    try:
        for number in range(2):
            (tmp_path / f"in/{number}.data").write_bytes(recording_of(number))
            assert command.stderr is not None
            assert "1 recording added with 40 samples" in command.stderr.readline()
        command.send_signal(signal.SIGTERM)
        assert command.wait(60) == 0
        assert "stopped" in command.stderr.read()
    finally:
        command.kill()
        command.wait()
    assert len(rows(tmp_path / "ds", "recordings")) == 2
