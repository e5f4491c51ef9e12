"""Recordings with every field and record that ``perf script`` prints, and what perf 7.2 printed of them (``data/``).

``python -m tests.support.every_field FOLDER`` writes them; ``perf script --no-inline -f -i FILE`` with the
words of ``ANSWERS`` and ``PLACES`` made the answers.
"""

import sys
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
ANSWERS = {
    "usual": "",
    "memory": "-F raw:+pid,+misc,+cgroup --ns",
    "flags": "-F +flags",
    "alone": "-F ip,sym,brstack",
    "misc": "-F +misc -G",
    "pid": "-F raw:pid,addr,weight,phys_addr",
    "less": "-F -comm,-cpu,-dso,-time",
    "named": "-F hw:+brstacksym",
    "objects": "-F hw:brstack,dsoff",
}
PLACES = {"addr": "-F sw:+addr", "dsoff": "-F sw:addr,ip,dsoff", "nowhere": "-F hw:ip,sym,dso,brstacksym"}
"""Of data and of branches, some of them to nowhere."""
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


if __name__ == "__main__":
    for make in (recording, places):
        (Path(sys.argv[1]) / f"{make.__name__}.data").write_bytes(make())
