"""Threads are counted once, whatever they were called, and by one definition wherever a number of them is shown."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import forge
from tests.support.command import perf2x
from tests.support.timelines import page_data


def _named(tid: int, name: str, time: int) -> list[forge.Record]:
    return [
        forge.Comm(pid=7, tid=tid, comm=name, stamp=forge.Stamp(7, tid, time)),
        forge.Sample(pid=7, tid=tid, time=time + 1),
    ]


def _forked(tid: int, time: int) -> list[forge.Record]:
    return [
        forge.Fork(pid=7, ppid=7, tid=tid, ptid=7, time=time, stamp=forge.Stamp(7, 7, time)),
        forge.Sample(pid=7, tid=tid, time=time + 1),
    ]


def _exited(tid: int, time: int) -> list[forge.Record]:
    return [forge.Exit(pid=7, ppid=7, tid=tid, ptid=7, time=time, stamp=forge.Stamp(7, tid, time))]


RENAMED = [*_named(7, "main", 10), *_named(8, "starts", 20), *_named(8, "works", 30), *_named(8, "ends", 40)]
USED_AGAIN = [*RENAMED, *_exited(8, 45), *_forked(8, 50), *_named(8, "works", 55), *_exited(8, 60), *_forked(8, 70)]
HISTORIES = {"renamed": (RENAMED, 2), "used again": (USED_AGAIN, 4)}


def _written(folder: Path, records: list[forge.Record]) -> Path:
    path = folder / "perf.data"
    path.write_bytes(forge.write_file(forge.Session(), records))
    return path


def _counted(text: str) -> set[int]:
    return {int(number.replace(",", "")) for number in re.findall(r"([\d,]+) threads?\b", text)}


@pytest.mark.parametrize("case", HISTORIES)
def test_every_place_says_the_same(case: str, tmp_path: Path) -> None:
    records, threads = HISTORIES[case]
    path = _written(tmp_path, records)
    assert json.loads(perf2x("info", path, "--json").out)["threads"] == threads
    assert f"threads: {threads}\n" in perf2x("info", path).out
    assert json.loads(perf2x("report", path, "--format", "json").out)["recorded_threads"] == threads
    assert _counted(perf2x("top", path, "-v").err) == {threads}
    assert _counted(perf2x("top", path, "--by", "thread", "-q").out) == {threads}
    for name in ("html", "svg", "pprof", "collapsed", "perfetto"):
        ran = perf2x("convert", path, "--to", name, "-o", tmp_path / name)
        assert _counted(ran.err) == {threads}, name
    assert f"{threads} threads" in page_data((tmp_path / "html").read_text())["facts"]
    assert threads in _counted((tmp_path / "svg").read_text())


def test_recordings_of_the_same_threads_do_not_count_them_twice(tmp_path: Path) -> None:
    path = _written(tmp_path, USED_AGAIN)
    again = tmp_path / "again.data"
    again.write_bytes(forge.write_file(forge.Session(), [*USED_AGAIN, forge.Sample(pid=7, tid=9, time=80)]))
    assert _counted(perf2x("top", path, again, "-v").err) == {5}


def test_a_dataset_counts_renamed_threads_once(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path = _written(tmp_path, RENAMED)
    assert perf2x("fleet", "ingest", path, "-o", tmp_path / "set").code == 0
    assert json.loads(perf2x("info", tmp_path / "set", "--json").out)["threads"] == 2
    assert _counted(perf2x("top", tmp_path / "set", "-v").err) == {2}


RENAMING = """
import ctypes, threading
def work(number):
    for name in range(9):
        ctypes.CDLL(None).prctl(15, f"{number}-{name}".encode())  # PR_SET_NAME
        sum(range(1_000_000))
threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
[thread.start() for thread in threads], [thread.join() for thread in threads]
"""


@pytest.mark.slow
def test_perf_counts_the_same(tmp_path: Path) -> None:
    if not shutil.which("perf"):
        pytest.skip("there is no perf")
    path = tmp_path / "perf.data"
    command = ["perf", "record", "-q", "-e", "cpu-clock:u", "-o", path, "--", sys.executable, "-c", RENAMING]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("perf record is not allowed here")
    printed = subprocess.run(
        ["perf", "script", "-i", path, "-F", "pid,tid"], check=True, capture_output=True, text=True
    ).stdout
    threads = {line.strip() for line in printed.splitlines() if line.strip()}
    assert len(threads) == 5
    assert f"threads: {len(threads)}\n" in perf2x("info", path).out
