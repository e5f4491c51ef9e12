"""Stacks from branch records (``--call-graph lbr``) are what perf 7.2 printed for this forged recording.

In samples of the kernel perf repeats the kernel's own address where the user's should be; the user's is recorded.
"""

from perf2x.kernel.load import load
from perf2x.kernel.load_options import LoadOptions
from tests.forge import Branch, Comm, Event, Mmap2, Sample, Stamp, write_file
from tests.forge import kernel as k
from tests.forge.features import Features
from tests.forge.session import Session
from tests.support.product import stacks_of

USER, KERNEL = 2**64 - 512, 2**64 - 128
ENTRY = 0xFFFFFFFF81000010
BEGIN = Stamp(pid=7, tid=7, time=1)
LBR = Event(
    type=0,
    name="cycles",
    sample_type=k.IP | k.TID | k.TIME | k.PERIOD | k.CALLCHAIN | k.BRANCH_STACK,
    branch_sample_type=k.BRANCH_CALL_STACK | k.BRANCH_HW_INDEX | 1,
)
CALLS = (Branch(0x400105, 0x400200), Branch(0x400055, 0x400100))
RECORDS = [
    Comm(pid=7, tid=7, comm="prog", stamp=BEGIN),
    Mmap2(pid=7, tid=7, addr=0x400000, len=0x1000, filename="/bin/prog", stamp=BEGIN),
    # the interrupt came at 0x214, the precise address is one instruction before
    Sample(ip=0x400210, pid=7, tid=7, time=10_000, chain=(USER, 0x400214), branches=CALLS, hw_index=1),
    Sample(ip=0x400218, pid=7, tid=7, time=20_000, chain=(USER, 0x400218), branches=CALLS[:1], hw_index=0),
    Sample(ip=0x40021C, pid=7, tid=7, time=30_000, chain=(USER, 0x400220), branches=()),
    Sample(
        ip=ENTRY, mode=k.KERNEL, pid=7, tid=7, time=40_000, chain=(KERNEL, ENTRY, USER, 0x400230), branches=CALLS,
        hw_index=1,
    ),
]  # fmt: skip
ANSWER = [
    [0x400210, 0x400105, 0x400055],
    [0x400218, 0x400105],
    [0x40021C],
    [ENTRY, ENTRY, 0x400105, 0x400055],
]
"""Addresses that ``perf script -F ip`` of perf 7.2 printed, sample by sample, innermost first."""


def test_stacks_of_branch_records_equal_perfs(tmp_path) -> None:
    path = tmp_path / "perf.data"
    path.write_bytes(write_file(Session(events=(LBR,), features=Features(arch="x86_64")), RECORDS))
    profile = load(str(path), LoadOptions(timeline=True)).profile
    stacks = [stacks_of(profile)[row] for row in profile.samples.stack.tolist()]
    ours = [[address for address, _, _ in reversed(stack)] for stack in stacks]
    assert ours[:3] == ANSWER[:3]
    kernel, _, *callers = ANSWER[3]
    assert ours[3:] == [[kernel, 0x400230, *callers]]
