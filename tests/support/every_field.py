"""Recordings with every field and record that ``perf script`` prints, and what perf 7.2 printed of them (``data/``).

``python -m tests.support.every_field FOLDER`` writes them; ``perf script --no-inline -f -i FILE`` with the
words of ``ANSWERS`` and ``PLACES`` made the answers.
"""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tests.forge import (
    Branch,
    Cgroup,
    Comm,
    Event,
    Exit,
    Features,
    Fork,
    Ksymbol,
    Lost,
    Mmap,
    Mmap2,
    Namespaces,
    Record,
    Sample,
    Session,
    Stamp,
    Switch,
    SwitchCpuWide,
    write_file,
)
from tests.forge import kernel as k

KIND = k.IP | k.TID | k.TIME | k.CPU | k.PERIOD | k.IDENTIFIER
MEMORY = KIND | k.ADDR | k.DATA_SRC | k.WEIGHT_STRUCT | k.PHYS_ADDR | k.DATA_PAGE_SIZE | k.CODE_PAGE_SIZE | k.CGROUP
SIDE_BAND = ("mmap", "task", "switch", "namespace", "cgroup", "lost", "bpf")
RECORDS = " ".join(f"--show-{name}-events" for name in SIDE_BAND)
ANSWERS = {
    "usual": "",
    "memory": "-F raw:+pid,+misc,+cgroup --ns",
    "flags": "-F +flags",
    "alone": "-F ip,sym,brstack",
    "records": f"{RECORDS} -F +misc -G",
    "chained": f"{RECORDS}",
    "pid": "-F raw:pid,addr,weight,phys_addr",
    "less": "-F -comm,-cpu,-dso,-time",
    "named": "-F hw:+brstacksym",
    "objects": "-F hw:brstack,dsoff",
}
PLACES = {"addr": "-F sw:+addr", "dsoff": "-F sw:addr,ip,dsoff", "nowhere": "-F hw:ip,sym,dso,brstacksym"}
"""Of data and of branches, some of them to nowhere."""
LISTINGS = {
    "insn": "-F ip,sym,brstackinsn", "insnlen": "-F -period,+brstackinsnlen", "insnline": "-F +brstackinsn,+srcline",
}  # fmt: skip
"""Of code between branches; perf got ``--symfs tests/corpus/common/symfs``."""
EVENTS = (
    Event(name="mem-loads", type=4, config=0x1CD, period=7, sample_type=MEMORY, ids=(1,)),
    Event(name="cycles", type=0, config=0, period=9, sample_type=KIND | k.BRANCH_STACK, branch_sample_type=8, ids=(2,)),
    Event(name="cpu-clock", type=1, config=0, period=5, sample_type=KIND | k.CALLCHAIN, ids=(3,)),
)
FEATURES = Features(hostname="host", os_release="6.18.0", version="7.2", arch="x86_64", cpus=(16, 16))
WORDS = (
    0, 1, 0x68100142, 0x68100144, 0x1068100442, 1 << 1 | 1 << 5 | 1 << 33, 1 << 1 | 1 << 6 | 13 << 33 | 1 << 37,
    2 << 1 | 1 << 6 | 1 << 8 | 1 << 19 | 1 << 24 | 1 << 26,
    3 << 1 | 1 << 7 | 2 << 8 | 2 << 19 | 2 << 24 | 6 << 26 | 1 << 40,
    4 << 1 | 9 << 33 | 1 << 38 | 5 << 26 | 2 << 40,
    8 << 1 | 3 << 5 | 15 << 33 | 2 << 38 | 4 << 40, 11 << 33 | 2 << 43 | 6 << 40,
)  # fmt: skip
"""Values of data_src: every operation, level, snoop and lock."""
BRANCHES = tuple(
    Branch(0x401000 + row, 0x401100 + row, mispred=row % 2, predicted=row // 2 % 2, in_tx=row % 3 == 0,
           abort=row % 5 == 0, cycles=row * 1000, type=row % 16, spec=row % 4, new_type=row % 8)
    for row in range(32)
)  # fmt: skip


def _side_band() -> list[Record]:
    def at(time: int, pid: int = 100, tid: int = 100) -> Stamp:
        return Stamp(pid=pid, tid=tid, time=time, cpu=1, id=3)

    return [
        Comm(pid=100, tid=100, comm="zufällig", misc=k.MISC_13, stamp=at(1000)),
        Mmap2(pid=100, tid=100, addr=0x400000, len=0x2000, pgoff=0, prot=5, flags=2, filename="/bin/prog", misc=2,
              stamp=at(1001)),
        Mmap2(pid=100, tid=100, addr=0x600000, len=0x1000, pgoff=0x1000, prot=3, flags=1, filename="/bin/da ta",
              misc=2 | k.MISC_13, stamp=at(1002)),
        Mmap(pid=100, tid=100, addr=0x700000, len=0x1000, pgoff=0x3000, filename="/lib/old.so", misc=2, stamp=at(1003)),
        Fork(pid=100, ppid=100, tid=101, ptid=100, time=1004, stamp=at(1004)),
        Comm(pid=100, tid=101, comm="worker", stamp=at(1005, 100, 101)),
        Namespaces(pid=100, tid=100, links=tuple((4, 0xEFFFFFF0 + row) for row in range(9)), stamp=at(1006)),
        Cgroup(id=77, path="/user.slice", stamp=at(1007)),
        Ksymbol(addr=0xFFFFFFFFC0000000, len=64, type=1, name="bpf_prog_x", stamp=at(1008)),
        Switch(misc=k.MISC_13, stamp=at(1009)),
        Switch(misc=k.MISC_13 | k.MISC_14, stamp=at(1010)),
        SwitchCpuWide(next_prev_pid=100, next_prev_tid=101, stamp=at(1011, 0, 0)),
        Lost(id=3, lost=12, stamp=at(1012)),
        Exit(pid=100, ppid=100, tid=101, ptid=100, time=6 * 10**9, stamp=at(6 * 10**9, 100, 101)),
    ]  # fmt: skip


def recording() -> bytes:
    """Bytes of the file."""
    records = _side_band()
    for row, word in enumerate(WORDS):
        records.append(
            Sample(event=0, id=1, mode=1 + row % 3, ip=0x401000 + row, pid=100, tid=100, cpu=row, time=2000 + row,
                   period=7, addr=0x600010 * row, data_src=word, weight=row * 3 << 32 | row << 48 | row * 5,
                   phys_addr=row << 12, cgroup=77 + row % 2, data_page_size=4096 << row,
                   code_page_size=row % 2 << 21)
        )  # fmt: skip
    for row in range(4):
        records.append(Sample(event=1, id=2, misc=2, ip=0x401000, pid=100, tid=101, cpu=1, time=5_123_456_789 - row,
                              period=1 << 10 * row, branches=BRANCHES[8 * row : 8 * row + 8]))  # fmt: skip
    chain = (k.CONTEXT_USER, 0x401010, 0x401234, 0x700008, 0x12345)
    records.append(
        Sample(event=2, id=3, misc=2, ip=0x401010, pid=100, tid=100, cpu=0, time=3000, period=5, chain=chain)
    )
    records.append(
        Sample(event=2, id=3, misc=2, ip=0x401010, pid=100, tid=100, cpu=0, time=2999, period=5, chain=chain[:2])
    )
    return write_file(Session(events=EVENTS, features=FEATURES), records)


def places() -> bytes:
    """Bytes of a file of page faults and branches, some of them nowhere."""
    faults = Event(name="page-faults", type=1, config=2, sample_type=KIND | k.ADDR, ids=(1,))
    cycles = Event(name="cycles", type=0, sample_type=KIND | k.BRANCH_STACK, branch_sample_type=8, ids=(2,))
    maps = (("/bin/prog", 0x400000, 0, 5), ("/bin/prog", 0x600000, 0x1000, 3), ("//anon", 0x700000, 0x700000, 3),
            ("//anon", 0x800000, 0x800000, 7), ("[heap]", 0x900000, 0, 3), ("[stack]", 0x7FF000, 0x7FFFF000, 3),
    )  # fmt: skip
    records: list[Record] = [
        Mmap2(pid=9, tid=9, addr=addr, len=0x1000, pgoff=offset, prot=prot, flags=2, filename=name,
              misc=2 if prot & 4 else 2 | k.MISC_13, stamp=Stamp(pid=9, tid=9, time=row, id=1))
        for row, (name, addr, offset, prot) in enumerate(maps)
    ]  # fmt: skip
    for row, (_, addr, _, _) in enumerate((*maps, ("", 0, 0, 0), ("", 0xFFFFFFFF81000000, 0, 0))):
        records.append(Sample(event=0, id=1, misc=2, ip=0x400010, pid=9, tid=9, time=100 + row, period=1,
                              addr=addr and addr + row))  # fmt: skip
    branches = (Branch(0, 0, cycles=1), Branch(0x400020, 0x10, predicted=1), Branch(0x12, 0x800004, not_taken=1))
    records.append(Sample(event=1, id=2, misc=2, ip=0x400010, pid=9, tid=9, time=200, period=1, branches=branches))
    return write_file(Session(events=(faults, cycles), features=FEATURES), records)


MAIN, DESCEND, CALL, KERNEL, GONE = 0x129F, 0x11B2, 0x12D8, 0xFFFFFFFF81000000, 0x700000
"""Two functions and a call of the corpus's program ``calls``, and places without code."""
STACKS = (
    (0x12E7, (Branch(0x11DA, 0x12DD, predicted=1, cycles=3), Branch(CALL, DESCEND, predicted=1, cycles=200),
              Branch(0x1315, 0x12B6, mispred=1, cycles=5), Branch(0x11C7, 0x130A))),
    (0x12A3, (Branch(CALL, MAIN),)),
    (CALL, (Branch(CALL, DESCEND, predicted=1),)),
    (0x12B0, (Branch(0x12AF, 0x1321, abort=1, in_tx=1),)),
    (0x1325, (Branch(0x12AF, 0x1321, cycles=7), Branch(0x1300, 0x12A1, cycles=1))),
    (0x1009, (Branch(0x12AF, 0x1321, cycles=7),)),
    (KERNEL + 5, (Branch(0x12AF, 0x1321, cycles=7),)),
    (0x11B3, (Branch(CALL, DESCEND, cycles=1), Branch(KERNEL, 0x1321), Branch(CALL, 0x12CB))),
    (0x12A3, (Branch(CALL, MAIN, cycles=2), Branch(0x12AF, KERNEL), Branch(0x1300, MAIN, cycles=1))),
    (0x12A3, (Branch(0x12AF, KERNEL), Branch(0x1300, MAIN, cycles=1))),
    (GONE + 16, (Branch(GONE + 8, GONE + 16), Branch(GONE, GONE + 4))),
    (0x12A3, (Branch(GONE + 8, MAIN), Branch(0, GONE + 4))),
    (0x11B8, (Branch(CALL, DESCEND - 8), Branch(0x11DB, 0x11D8), Branch(0x11DA, 0x11D0))),
    (0x134F, (Branch(0x134C, 0x1344),)),
    (MAIN, ()),
)  # fmt: skip
"""Where samples stand, and their branches, newest first; the file's addresses are moved to where it was loaded."""


def listings() -> bytes:
    """Bytes of a file whose branches lie in code that the corpus has."""
    load = 0x555555554000
    event = Event(name="cycles", type=0, sample_type=KIND | k.BRANCH_STACK, branch_sample_type=8, ids=(1,))
    maps = (("/demo/calls", load + 0x1000, 0x1000), ("/lib/gone.so", GONE, 0))
    records: list[Record] = [
        Mmap2(pid=9, tid=9, addr=addr, len=0x1000, pgoff=offset, prot=5, flags=2, filename=name, misc=2,
              stamp=Stamp(pid=9, tid=9, time=row, id=1))
        for row, (name, addr, offset) in enumerate(maps)
    ]  # fmt: skip

    def at(address: int) -> int:
        return address + load * (0 < address < GONE)

    for row, (ip, branches) in enumerate(STACKS):
        moved = tuple(replace(each, from_ip=at(each.from_ip), to_ip=at(each.to_ip)) for each in branches)
        records.append(Sample(event=0, id=1, misc=1 + (ip < KERNEL), ip=at(ip), pid=9, tid=9, time=100 + row, period=1,
                              branches=moved))  # fmt: skip
    return write_file(Session(events=(event,), features=FEATURES), records)


JIT, MAPPED_PID = 0x7F0000000000, 7777
MAP = "7f0000000100 100 jit_one\n7f0000000200 100 jit two(int)\n"
"""The map that perf found as /tmp/perf-7777.map."""


def _branched(
    maps: Sequence[tuple[str, int, int]], pid: int, stacks: Sequence[tuple[int, tuple[Branch, ...]]]
) -> bytes:
    event = Event(name="cycles", type=0, sample_type=KIND | k.BRANCH_STACK, branch_sample_type=8, ids=(1,))
    stamp = Stamp(pid=pid, tid=pid, time=0, id=1)
    records: list[Record] = [
        Mmap2(
            pid=pid, tid=pid, addr=addr, len=0x1000, pgoff=offset, prot=5, flags=2, filename=name, misc=2, stamp=stamp
        )
        for name, addr, offset in maps
    ]
    records += [
        Sample(event=0, id=1, misc=2, ip=ip, pid=pid, tid=pid, time=100 + row, period=1, branches=branches)
        for row, (ip, branches) in enumerate(stacks)
    ]
    return write_file(Session(events=(event,), features=FEATURES), records)


def compiled() -> bytes:
    """Bytes of a file whose branches lie in code of a just-in-time compiler, which has a map."""
    two = Branch(JIT + 0x120, JIT + 0x128, predicted=1, cycles=3), Branch(JIT + 0x110, JIT + 0x114, predicted=1)
    stacks = ((JIT + 0x130, two), (JIT + 0x230, (Branch(JIT + 0x120, JIT + 0x220),)),
              (JIT + 0x530, (Branch(JIT + 0x520, JIT + 0x510),)), (JIT + 0x230, ()))  # fmt: skip
    return _branched([("//anon", JIT, 0)], MAPPED_PID, stacks)


def narrow() -> bytes:
    """Bytes of a file whose branches lie in code of 32 bits: int $0x80, calls, and jumps of a loop."""
    blocks = ((0x8049000, 0x804900E), (0x8049010, 0x804902F), (0x8049050, 0x8049056), (0x8049060, 0x804909C))
    stacks = [
        (end, (Branch(end, start, predicted=1, cycles=4), Branch(other, start, predicted=1, cycles=2)))
        for start, end in blocks
        for _, other in blocks
    ]
    return _branched([("/t/tiny32", 0x8049000, 0x1000)], 9, stacks)


if __name__ == "__main__":
    for make in (recording, places, listings, compiled, narrow):
        (Path(sys.argv[1]) / f"{make.__name__}.data").write_bytes(make())
