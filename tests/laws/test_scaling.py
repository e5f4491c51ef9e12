"""Four times as much of anything that a file can have many of takes at most five times as long."""

import gc
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from perf2x.model.filters.filter_options import Grouping
from perf2x.model.transforms.group_samples import grouped
from tests import forge
from tests.forge import kernel as k
from tests.support import outputs
from tests.support.extremes import BRANCHING, EVENT, SAMPLE, STAMP

pytestmark = pytest.mark.slow  # they take times, which tests beside them lengthen

MOST = 5.0
FIXED_S = 0.05
"""Cost that does not depend on the input, the rest of the machine included."""
TRIES = 8
"""Pairs of runs; one of them is enough, so that a machine busy with something else is no failure."""

Written = tuple[forge.Session, list[forge.Record]]
ONE = forge.Session((EVENT,))


def events(count: int) -> Written:
    described = [replace(EVENT, name=f"e{row}", config=row, ids=(row + 1,)) for row in range(count)]
    return forge.Session(tuple(described)), [replace(SAMPLE, event=row, id=row + 1) for row in range(count)]


def ids(count: int) -> Written:
    return forge.Session((replace(EVENT, ids=tuple(range(1, 8 * count))), BRANCHING)), [SAMPLE]


def groups(count: int) -> Written:
    described = tuple(replace(EVENT, name=f"e{row}", ids=(row + 1,)) for row in range(count))
    return forge.Session(described, features=forge.Features(groups=(("g", 0, count),) * count)), [SAMPLE]


def threads(count: int) -> Written:
    return ONE, [replace(SAMPLE, pid=row // 3 + 1, tid=row + 1, time=row) for row in range(count)]


def forks(count: int) -> Written:
    records: list[forge.Record] = [forge.Mmap(pid=1, tid=1, addr=0x1000, len=0x1000, stamp=STAMP)]
    for pid in range(2, count + 2):
        records.append(forge.Fork(pid=pid, ppid=pid - 1, tid=pid, ptid=pid - 1, time=pid, stamp=_at(10 * pid)))
        records.append(replace(SAMPLE, pid=pid, tid=pid, time=10 * pid + 5))
    return ONE, records


def execs(count: int) -> Written:
    records: list[forge.Record] = []
    for row in range(count):
        records.append(forge.Comm(pid=1, tid=1, comm=f"c{row % 50}", is_exec=True, stamp=_at(row)))
        records.append(replace(SAMPLE, pid=1, tid=1, time=row))
    return ONE, records


def mappings(count: int) -> Written:
    return ONE, [*(_map(0x1000 * row, 0x1000, row) for row in range(1, count)), SAMPLE]


def overlapping(count: int) -> Written:
    return ONE, [*(_map(0x1000, 0x1000 * (count - row), row) for row in range(count)), SAMPLE]


def kernel_mappings(count: int) -> Written:
    maps = [replace(_map(2**63 + row * 4096, 4096, row), filename=f"[kernel.kallsyms]{row}") for row in range(count)]
    return ONE, [*(replace(one, pid=2**32 - 1) for one in maps), SAMPLE]


def comms(count: int) -> Written:
    return ONE, [*(forge.Comm(pid=1, tid=row, comm=f"c{row}", stamp=_at(row)) for row in range(count)), SAMPLE]


def namespaces(count: int) -> Written:
    return ONE, [*(forge.Namespaces(pid=row, tid=row, links=((1, row),) * 7) for row in range(count)), SAMPLE]


def cgroups(count: int) -> Written:
    return ONE, [*(forge.Cgroup(id=row, path=f"/{row}") for row in range(count)), SAMPLE]


def cookies(count: int) -> Written:
    return ONE, [record for row in range(1, count + 1) for record in _deferred(row, row)]


def one_cookie(count: int) -> Written:
    return ONE, [record for row in range(1, count + 1) for record in _deferred(7, row)]


def stacks(count: int) -> Written:
    chains = [(k.CONTEXT_USER, 0x1000 + row, 0x90000 + row % 7, 0x1000 + row // 9) for row in range(count)]
    return ONE, [replace(SAMPLE, chain=chain, time=row) for row, chain in enumerate(chains)]


def frames(count: int) -> Written:
    return ONE, [replace(SAMPLE, chain=(k.CONTEXT_USER, *range(0x1000, 0x1000 + count)))] * 8


def build_ids(count: int) -> Written:
    named = tuple((f"/bin/{row}", bytes(20)) for row in range(count))
    return replace(ONE, features=forge.Features(build_ids=named)), [SAMPLE]


def one_by_one(count: int) -> Written:
    """Attributes and what is said of them, in turns, as a pipe may have them."""
    attrs = [replace(EVENT, name="", ids=(row + 1,)).encode("<") for row in range(count)]
    records: list[forge.Record] = []
    for row, attr in enumerate(attrs):
        records.append(forge.Raw(type=64, body=attr + (row + 2).to_bytes(8, "little")))
        records.append(forge.EventUpdate(kind=2, id=row + 2, value=f"e{row}"))
    return replace(ONE, pipe=True), [*records, SAMPLE]


def _at(when: int) -> forge.Stamp:
    return replace(STAMP, time=when)


def _map(addr: int, length: int, row: int) -> forge.Mmap:
    return forge.Mmap(pid=10, tid=10, addr=addr, len=length, filename=f"/bin/{row % 500}", stamp=_at(row))


def _deferred(cookie: int, row: int) -> list[forge.Record]:
    sample = replace(SAMPLE, time=10 * row, chain=(k.CONTEXT_USER_DEFERRED, cookie))
    chain = (0x1100 + row, 0x1200)
    return [sample, forge.CallchainDeferred(cookie=cookie, ips=chain, stamp=forge.Stamp(10, 11, 10 * row + 5, 1, 5))]


CONVERSIONS = {
    forks: 400, kernel_mappings: 1000, groups: 300, one_by_one: 500,
    events: 250, ids: 2000, threads: 4000, execs: 2000, mappings: 4000, overlapping: 2000, comms: 4000,
    namespaces: 4000, cgroups: 4000, cookies: 2000, one_cookie: 2000, stacks: 4000, frames: 1500, build_ids: 2000,
}  # fmt: skip


def seconds(work: Callable[[], object]) -> float:
    """Processor time of one run without the garbage collector, whose walks over all objects come in steps."""
    gc.collect()
    gc.disable()
    try:
        begin = time.process_time()
        work()
        return time.process_time() - begin
    finally:
        gc.enable()


def grows_no_faster(few: Callable[[], object], many: Callable[[], object]) -> None:
    """Compare runs side by side: a machine that slows down slows both, and quadratic work fails every time."""
    few()  # imports and caches
    pairs = []
    for _ in range(TRIES):
        short, long = seconds(few), seconds(many)
        if long <= MOST * short + FIXED_S:
            return
        pairs.append(f"{short:.3f} s, four times as much {long:.3f} s")
    pytest.fail("; ".join(pairs))


def _conversion(path: Path, written: Written) -> Callable[[], object]:
    path.write_bytes(forge.write_file(*written))

    def convert() -> None:
        outputs.emitted(outputs.profile_of(path), "collapsed")
        outputs.emitted(outputs.profile_of(path, timeline=True), "chrome")

    return convert


@pytest.mark.parametrize(
    ("make", "count"),
    CONVERSIONS.items(),
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_conversions(make: Callable[[int], Written], count: int, tmp_path: Path) -> None:
    few, many = (_conversion(tmp_path / f"{times}", make(times * count)) for times in (1, 4))
    grows_no_faster(few, many)


def test_roots(tmp_path: Path) -> None:
    def grouping(count: int) -> Callable[[], object]:
        path = tmp_path / f"{count}"
        path.write_bytes(forge.write_file(*threads(count)))
        profile = outputs.profile_of(path)
        return lambda: grouped(profile, Grouping(root="thread"))

    grows_no_faster(grouping(2000), grouping(8000))
