"""Counted branches of one object, from forged branch stacks; the scalar twin walks stacks one branch at a time."""

from collections import Counter
from pathlib import Path
from random import Random

import pytest

from perf2x.errors import OptionError
from perf2x.kernel.load import load
from perf2x.kernel.load_options import load_options
from perf2x.kernel.merge_reports import ResultMerge
from perf2x.model.filters.filter_options import Filters
from perf2x.model.format_features import CodeRequest
from perf2x.model.profile.code_counts import EXTERNAL, NOT_RECORDED, CodeCounts
from perf2x.model.profile.profile_view import View
from perf2x.symbolizer.symbol_options import SymbolOptions
from tests.forge import Branch, Comm, Event, Mmap2, Sample, Stamp, write_file
from tests.forge import kernel as k
from tests.forge.session import Session
from tests.support.tiny_elf import TinySection, tiny_elf

PROGRAM, LIBRARY, STATED, SIZE, OFFSET = 0x555500000000, 0x7F0000000000, 0x401000, 0x100, 0x80
KERNEL = 0xFFFFFFFF81000000
CODE = b"\x90" * SIZE
BRANCHES = k.IP | k.TID | k.TIME | k.PERIOD | k.BRANCH_STACK
EVENT = Event("cycles", 0, 0, 1, BRANCHES, branch_sample_type=9)
BUILD_ID = bytes(range(20))


def program(folder: Path) -> None:
    """Write a program whose code is at STATED and, as mapped here, at PROGRAM."""
    path = folder / "bin" / "prog"
    path.parent.mkdir()
    raw = tiny_elf([TinySection(".text", CODE, STATED, flags=6)])
    assert raw.index(CODE) == OFFSET
    path.write_bytes(raw)


def recorded(folder: Path, samples: list[Sample], events: tuple[Event, ...] = (EVENT,), library: str = "lib.so") -> str:
    begin = Stamp(pid=1, tid=1, time=1)
    sideband = [
        Comm(pid=1, tid=1, comm="prog", stamp=begin),
        Mmap2(pid=1, tid=1, addr=PROGRAM, len=SIZE, pgoff=OFFSET, filename="/bin/prog", stamp=begin),
        Mmap2(pid=2, tid=2, addr=LIBRARY, len=SIZE, pgoff=OFFSET, filename="/bin/prog", stamp=begin),
        Mmap2(pid=1, tid=1, addr=LIBRARY, len=SIZE, filename=f"/lib/{library}", build_id=BUILD_ID, stamp=begin),
    ]
    path = folder / "perf.data"
    path.write_bytes(write_file(Session(events=events), [*sideband, *samples]))
    return str(path)


def counted(folder: Path, path: str, request: CodeRequest, **options: object) -> CodeCounts:
    symbols = SymbolOptions(symfs=folder)
    code = load(path, load_options(symbols=symbols, symbolize=False, code=request, **options)).profile.code
    assert code is not None
    return code


def random_samples(random: Random, count: int) -> list[Sample]:
    """Samples of two processes that have the program at different addresses, with entries of all kinds."""
    samples = []
    for number in range(count):
        pid = random.choice((1, 2))
        own = PROGRAM if pid == 1 else LIBRARY
        places = [own + 8 * row for row in range(4)] * 3 + [LIBRARY + 8, PROGRAM + 24, KERNEL + 16, 0x1000]
        entries = tuple(
            Branch(random.choice(places), random.choice(places), mispred=random.randrange(2))
            for _ in range(random.randrange(6))
        )
        ip, at = random.choice(places), Stamp(time=10 + number)
        samples.append(Sample(ip=ip, pid=pid, tid=pid, time=at.time, branches=entries))
    return samples


def stated(pid: int, address: int) -> int:
    start = PROGRAM if pid == 1 else LIBRARY
    return address - start + STATED if start <= address < start + SIZE else int(EXTERNAL)


def walked(samples: list[Sample], skipped_branches: str) -> Counter[tuple[int, ...]]:
    """Count (source, target, next) and, behind a 1, its mispredictions."""
    found = Counter[tuple[int, ...]]()
    for sample in samples:
        newer = int(NOT_RECORDED)
        for entry in sample.branches:
            source, target = stated(sample.pid, entry.from_ip), stated(sample.pid, entry.to_ip)
            outside = source == EXTERNAL and target == EXTERNAL
            if skipped_branches == "kernel" and max(entry.from_ip, entry.to_ip) >= KERNEL:
                continue
            if skipped_branches == "external" and outside:
                continue
            known = EXTERNAL not in (newer, target)
            if not outside:
                key = (source, target, newer if known else int(NOT_RECORDED))
                found[key] += 1
                found[(*key, 1)] += entry.mispred
            newer = source
    return +found


@pytest.mark.parametrize("skipped_branches", ["kernel", "external"])
@pytest.mark.parametrize("seed", range(4))
def test_counts_are_those_of_a_walk(tmp_path: Path, seed: int, skipped_branches: str) -> None:
    program(tmp_path)
    samples = random_samples(Random(seed), 60)
    code = counted(tmp_path, recorded(tmp_path, samples), CodeRequest("prog", skipped_branches))
    table = code.branches
    found = Counter[tuple[int, ...]]()
    for *key, count, missed in zip(*(getattr(table, name).tolist() for name in table.__struct_fields__), strict=True):
        found[tuple(key)] = count
        found[(*key, 1)] = missed
    assert +found == walked(samples, skipped_branches)
    assert sum(table.count) > 50
    places = Counter(stated(sample.pid, sample.ip) for sample in samples)
    places.pop(int(EXTERNAL))
    assert dict(zip(code.samples.address.tolist(), code.samples.count.tolist(), strict=True)) == places


SAMPLES = [
    Sample(ip=PROGRAM + 8, pid=1, tid=1, time=10, branches=(Branch(PROGRAM + 16, PROGRAM + 4, mispred=1),)),
    Sample(ip=LIBRARY + 8, pid=1, tid=1, time=20, branches=(Branch(PROGRAM + 32, LIBRARY + 4),)),
    Sample(ip=LIBRARY + 8, pid=1, tid=1, time=30, branches=()),
]


def test_without_a_name_it_is_the_object_with_most_samples(tmp_path: Path) -> None:
    program(tmp_path)
    with pytest.raises(OptionError, match=r"/lib/lib\.so: file not found; this format needs its code"):
        counted(tmp_path, recorded(tmp_path, SAMPLES), CodeRequest())
    assert counted(tmp_path, recorded(tmp_path, SAMPLES[:1]), CodeRequest()).filename == "/bin/prog"


def test_the_file_may_be_in_a_running_container(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    note = b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0" + BUILD_ID
    sections = [TinySection(".text", CODE, STATED, flags=6), TinySection(".note.gnu.build-id", note, 0x300, "NOTE", 2)]
    library = tmp_path / "proc" / "1" / "root" / "lib" / "lib.so"
    library.parent.mkdir(parents=True)
    library.write_bytes(tiny_elf(sections))
    monkeypatch.setenv("PERF2X_SYSROOT", str(tmp_path))
    request = load_options(symbols=SymbolOptions(), symbolize=False, code=CodeRequest())
    code = load(recorded(tmp_path, SAMPLES), request).profile.code
    assert code is not None and code.filename == "/lib/lib.so" and len(code.branches)


def test_a_runtime_is_meant_only_where_the_program_has_no_sample(tmp_path: Path) -> None:
    program(tmp_path)
    assert counted(tmp_path, recorded(tmp_path, SAMPLES, library="libc.so.6"), CodeRequest()).filename == "/bin/prog"
    for samples, request in ((SAMPLES[1:], CodeRequest()), (SAMPLES, CodeRequest("libc.so.6"))):
        with pytest.raises(OptionError, match=r"/lib/libc\.so\.6: file not found"):
            counted(tmp_path, recorded(tmp_path, samples, library="libc.so.6"), request)


def test_objects_go_by_path_name_and_build_id(tmp_path: Path) -> None:
    program(tmp_path)
    (tmp_path / "lib").mkdir()
    path = recorded(tmp_path, SAMPLES)
    for name in ("prog", "/bin/prog"):
        assert counted(tmp_path, path, CodeRequest(name)).branches.count.sum() == 2
    with pytest.raises(OptionError, match=r"lib\.so: file not found"):
        counted(tmp_path, path, CodeRequest(BUILD_ID.hex()[:8]))
    with pytest.raises(
        OptionError, match=r"no object 'prig'; did you mean /bin/prog\? The file has: /lib/lib\.so, /bin/prog"
    ):
        counted(tmp_path, path, CodeRequest("prig"))


def test_filters_of_times_and_events_hold_for_branches(tmp_path: Path) -> None:
    program(tmp_path)
    request, path = CodeRequest("prog"), recorded(tmp_path, SAMPLES)
    assert counted(tmp_path, path, request, filters=Filters(times=("0,0.000000015",))).branches.count.tolist() == [1]
    assert counted(tmp_path, path, request, filters=Filters(pids=(1,))).branches.count.sum() == 2
    with pytest.raises(OptionError, match=r"code cannot take filters\.dsos: branches of one program are counted"):
        counted(tmp_path, path, request, filters=Filters(dsos=("prog",)))


def profile_of(folder: Path, path: str) -> View:
    options = load_options(symbols=SymbolOptions(symfs=folder), symbolize=False, code=CodeRequest("prog"))
    return load(path, options).profile


def test_recordings_of_one_object_are_added_up(tmp_path: Path) -> None:
    program(tmp_path)
    options = load_options(symbols=SymbolOptions(symfs=tmp_path), symbolize=False, code=CodeRequest("prog"))
    loaded, fold = load(recorded(tmp_path, SAMPLES), options), ResultMerge([{}, {}])
    for _ in range(2):
        fold.add(loaded)
    one, both = loaded.profile, fold.finish().profile.code
    assert one.code is not None and both is not None
    assert both.branches.count.tolist() == [2 * count for count in one.code.branches.count.tolist()]
    assert both.samples.count.sum() == 2 * one.code.samples.count.sum()
