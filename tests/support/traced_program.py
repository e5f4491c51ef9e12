"""Recordings of traced programs (tests/unit/symbolizer/data/autofdo): the branches that they took as branch stacks.

``python -m tests.support.traced_program NAME`` writes one to standard output.
"""

import sys

from tests.forge import Branch, Comm, Event, Mmap2, Sample, Stamp, spe, write_file
from tests.forge import kernel as k
from tests.forge.features import Features
from tests.forge.records import Record
from tests.forge.session import Session
from tests.support.recordings import ROOT

FOLDER = ROOT / "tests" / "unit" / "symbolizer" / "data" / "autofdo"
START, SIZE, OFFSET, DEPTH, EVERY, PID = 0x401000, 0x1000, 0x1000, 16, 11, 100
KERNEL = 0xFFFFFFFF81A00123
FIELDS = k.IP | k.TID | k.TIME | k.PERIOD
NAMES = ("hot-clang", "hot-gcc")
EVENT = Event("cycles:u", 0, 0, 1, FIELDS | k.BRANCH_STACK, branch_sample_type=9)


def taken(name: str) -> list[Branch]:
    """The branches in order; those at odd lines of the file in sevens are mispredicted."""
    lines = (FOLDER / f"{name}.taken").read_text().splitlines()
    pairs = [[int(text, 16) for text in line.split()] for line in lines]
    return [Branch(*pair, mispred=int(at % 7 == 1), predicted=int(at % 7 != 1)) for at, pair in enumerate(pairs)]


def samples(branches: list[Branch]) -> list[Sample]:
    """A sample every few branches; some were interrupted, so that the kernel's return stands among the branches."""
    found = []
    for number, at in enumerate(range(DEPTH, len(branches), EVERY)):
        stack = branches[at - DEPTH : at][::-1]
        if number % 5 == 0:
            stack[4:4] = [Branch(KERNEL, stack[3].from_ip, predicted=1)]
        time = 1000 * (number + 1)
        found.append(Sample(ip=branches[at].from_ip, pid=PID, tid=PID, time=time, branches=tuple(stack)))
    return found


def recording(name: str, event: Event = EVENT) -> bytes:
    begin = Stamp(pid=PID, tid=PID, time=1)
    sideband: list[Record] = [
        Comm(pid=PID, tid=PID, comm="hot", is_exec=True, stamp=begin),
        Mmap2(pid=PID, tid=PID, addr=START, len=SIZE, pgoff=OFFSET, filename=f"/src/{name}", misc=2, stamp=begin),
    ]
    session = Session(events=(event,), features=Features(arch="x86_64", os_release="6.18.0", version="7.2"))
    return write_file(session, [*sideband, *samples(taken(name))])


def spe_recording(name: str) -> bytes:
    """The branches as Arm SPE traces them, every third of a program that also accessed memory; some not taken."""
    data = b""
    for at, one in enumerate(taken(name)[::3]):
        jump = spe.target(one.to_ip) + spe.events(1, *([7] if one.mispred else []))
        memory = spe.data(0x7F00 + 8 * at) + spe.events(1, 2) + spe.source(at % 8 * 2)
        ran = spe.operation(2, 0) + jump if at % 4 else spe.operation(1, at % 3 % 2) + memory
        data += spe.instruction(one.from_ip) + spe.context(PID) + ran + spe.counter(0, 5 + at % 9)
        data += spe.timestamp(30 + at)
        if at % 5 == 0:
            data += spe.instruction(one.from_ip) + spe.operation(2, 1) + spe.events(6) + spe.target(one.from_ip + 4)
            data += spe.context(PID) + spe.timestamp(30 + at)
    place = Mmap2(pid=PID, tid=PID, addr=START, len=SIZE, pgoff=OFFSET, filename=f"/src/{name}", misc=2, event=1)
    return write_file(spe.spe_session(), spe.spe_records([spe.Buffer(data)], [place]))


if __name__ == "__main__":
    sys.stdout.buffer.write(recording(sys.argv[1]))
