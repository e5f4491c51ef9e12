"""Processes that fork over and over: what a descendant did not map itself is its ancestors'."""

import numpy as np
import pytest

from perf2x.kernel.load import load
from perf2x.kernel.load_options import LoadOptions
from perf2x.stitcher.history import address_spaces
from perf2x.stitcher.history import address_spaces as spaces
from perf2x.stitcher.history.ranges_over_time import OverlappingRanges
from tests import forge


def line_of_forks(count: int) -> list[forge.Record]:
    """Process 1 maps a program; 2, 3, … are each forked by the one before, and each is sampled in that program."""
    records: list[forge.Record] = [forge.Mmap(pid=1, tid=1, addr=0x1000, len=0x1000, stamp=forge.Stamp(1, 1, 1))]
    for pid in range(2, count + 2):
        stamp = forge.Stamp(pid, pid, 10 * pid)
        records.append(forge.Fork(pid=pid, ppid=pid - 1, tid=pid, ptid=pid - 1, time=10 * pid, stamp=stamp))
        if pid % 3:
            own = 0x100000 * pid
            records.append(forge.Mmap(pid=pid, tid=pid, addr=own, len=0x1000, filename=f"/bin/{pid}", stamp=stamp))
        chain = (0x1100 + pid, 0x100000 * (pid - 1) + 8, 0x100000 * pid + 8, 0x9000)
        records.append(forge.Sample(pid=pid, tid=pid, time=10 * pid + 5, ip=chain[0], chain=chain))
    return records


def test_long_chains_of_forks_are_looked_up_like_short_ones(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    """The generations that are asked one after the other are the oracle for those that are asked together."""
    path = tmp_path / "perf.data"
    path.write_bytes(forge.write_file(forge.Session(), line_of_forks(60)))

    def places(generations: int) -> list[tuple[int, str]]:
        monkeypatch.setattr(spaces, "_UNMERGED_GENERATIONS", generations)
        profile = load([str(path)], LoadOptions(symbols=None)).profile
        texts, mappings = profile.strings, profile.mappings
        names = [texts[mappings.filename[row]] if row >= 0 else "" for row in profile.locations.mapping.tolist()]
        return sorted(zip(profile.locations.address.tolist(), names, strict=True))

    one_by_one = places(1000)
    assert len([name for _, name in one_by_one if name == "/bin/prog"]) == 60
    assert len({name for _, name in one_by_one}) > 40
    assert places(0) == places(3) == one_by_one


def test_work_grows_with_the_number_of_forks(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    asked: list[int] = []
    find = OverlappingRanges.find

    def counted(self: OverlappingRanges, *columns: np.ndarray) -> np.ndarray:
        asked.append(len(columns[0]))
        return find(self, *columns)

    monkeypatch.setattr(OverlappingRanges, "find", counted)
    work = []
    for count in (200, 800):
        asked.clear()
        path = tmp_path / str(count)
        path.write_bytes(forge.write_file(forge.Session(), line_of_forks(count)))
        load([str(path)], LoadOptions(symbols=None))
        work.append(sum(asked))
    assert work[1] <= 5 * work[0]


def test_a_chain_of_forks_that_is_too_long_is_cut_and_counted(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    """Process 1 is no fork; 2 … 10 see what it mapped, 11 begins a line of its own, and so does 21."""
    monkeypatch.setattr(address_spaces, "MAX_FORK_DEPTH", 10)
    path = tmp_path / "perf.data"
    path.write_bytes(forge.write_file(forge.Session(), line_of_forks(25)))
    loaded = load([str(path)], LoadOptions(symbols=None))
    profile = loaded.profile
    names = [profile.strings[row] for row in profile.mappings.filename.tolist()]
    in_program = [row >= 0 and names[row] == "/bin/prog" for row in profile.locations.mapping.tolist()]
    seen = sorted(int(address) - 0x1100 for address in profile.locations.address[in_program])
    assert seen == list(range(2, 11))
    assert loaded.diagnostics["fork_lines_cut"] == 2
