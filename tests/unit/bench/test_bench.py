"""The benchmark's inputs and its memory: what is measured is what was recorded, and what moved is told."""

from pathlib import Path

import numpy as np
import pytest

from perf2x.kernel.load import load
from perf2x.kernel.load_options import LoadOptions
from perf2x.reader import open_recording
from tests import forge
from tests.bench import peers
from tests.bench.measure import Cost
from tests.bench.results import load_results, moved, save_results
from tests.bench.scaled import write_scaled


def written(path: Path) -> Path:
    """Write a recording of two processes, one of them forked."""
    stamp = forge.Stamp(7, 7, 1000)
    records: list[forge.Record] = [
        forge.ThreadMap(threads=((7, "one"),)),
        forge.Mmap(pid=7, tid=7, addr=0x1000, len=0x2000, stamp=stamp),
        forge.Comm(pid=7, tid=7, comm="one", stamp=stamp),
        forge.Fork(pid=8, ppid=7, tid=8, ptid=7, time=1500, stamp=forge.Stamp(8, 8, 1500)),
        forge.Comm(pid=8, tid=8, comm="two", stamp=forge.Stamp(8, 8, 1500)),
    ]
    for pid, time in ((7, 2000), (8, 3000), (7, 4000)):
        records.append(forge.Sample(pid=pid, tid=pid, time=time, ip=0x1100, chain=(0x1100, 0x1200 + pid)))
    records.append(forge.FinishedRound())
    path.write_bytes(forge.write_file(forge.Session(features=forge.Features(arch="x86_64")), records))
    return path


def test_copies_have_the_same_stacks_later_and_in_other_processes(tmp_path: Path) -> None:
    source, path = written(tmp_path / "one"), tmp_path / "three"
    write_scaled(source, path, 3)
    options = LoadOptions(symbols=None, timeline=True)
    one, three = (load([str(file)], options).profile for file in (source, path))
    assert three.meta.arch == one.meta.arch == "x86_64"
    assert three.threads.pid.tolist() == [7, 8, 16, 17, 25, 26]
    assert [three.strings[row] for row in three.threads.comm.tolist()] == ["one", "two"] * 3
    assert len(three.stacks) == len(one.stacks) and np.array_equal(three.locations.address, one.locations.address)
    assert np.array_equal(three.samples.stack, np.tile(one.samples.stack, 3))
    assert one.samples.time is not None and three.samples.time is not None
    assert np.all(np.diff(three.samples.time.astype(np.int64)) > 0)
    assert three.samples.time[3:6].tolist() == (one.samples.time + (three.samples.time[3] - 2000)).tolist()
    counts = open_recording(path).sideband.record_counts
    assert (counts["THREAD_MAP"], counts["COMM"], counts["FINISHED_ROUND"]) == (1, 6, 3)


def test_one_copy_is_the_recording(tmp_path: Path) -> None:
    source, path = written(tmp_path / "one"), tmp_path / "same"
    write_scaled(source, path, 1)
    assert path.read_bytes() == source.read_bytes()


def test_what_moved_is_told_and_kept(tmp_path: Path) -> None:
    kept = tmp_path / "new" / "results"
    assert load_results(kept) == {}
    before = {"a chrome": {"cpu s": 1.0, "MiB": 100.0}, "a pprof": {"cpu s": 1.0, "cpu/perf": 0.5, "calls": 1000}}
    save_results(kept, before)
    now = {"a chrome": {"cpu s": 1.05, "MiB": 106.0}, "a pprof": {"cpu s": 3.0, "cpu/perf": 0.51, "calls": 900}}
    assert [line.split() for line in moved(load_results(kept), now)] == [
        ["a", "pprof", "calls", "1000", "→", "900", "-10%"],
        ["a", "chrome", "MiB", "100", "→", "106", "+6%"],
    ]
    assert list(moved(before, before)) == []
    save_results(kept, {"a chrome": now["a chrome"]})
    assert load_results(kept) == before | {"a chrome": now["a chrome"]}
    kept.write_text("{")
    assert load_results(kept) == {}


def test_peers_are_compared_round_by_round() -> None:
    costs = {"perf": [Cost(2, 2, 30), Cost(4, 2, 30), Cost(2, 2, 31)], "ours": [Cost(1, 1.5, 60)] * 3}
    assert list(peers.table(costs, "perf"))[2:] == [
        "| perf | 2.00 (2.00–4.00) | 2.00 (2.00–2.00) | 30 | 1.00 | 1.00 |",
        "| ours | 1.00 (1.00–1.00) | 1.50 (1.50–1.50) | 60 | 0.50 | 0.75 |",
    ]


@pytest.mark.slow
def test_peers_say_what_is_missing_and_what_cannot_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refusing = tmp_path / "perf"
    refusing.write_text(
        "#!/bin/sh\nif [ $1 = --version ]; then echo perf version 9.9; else echo no thanks >&2; exit 1; fi\n"
    )
    refusing.chmod(0o755)
    words = ["--perf", str(refusing), "--samply", "no-samply", "--runs", "1", "--formats", "collapsed", "pprof", "--"]
    peers.main([*words, str(written(tmp_path / "one"))])
    said = capsys.readouterr().out
    assert "not installed: no-samply" in said and "perf 9.9, script cannot read it: " in said and "no thanks" in said
    assert "one, 0.0 MB, 3 samples" in said and said.count("| perf2x, ") == 3
