"""Forged recordings that hold at least one record of every kind, with every field of a sample."""

from collections.abc import Iterator

from tests import forge
from tests.forge import kernel as k
from tests.forge.features import Features

WIDE = forge.Event(
    sample_type=2**25 - 1 & ~k.WEIGHT & ~k.AUX, read_format=k.READ_ID | k.READ_GROUP | k.READ_LOST, ids=(7, 8),
    branch_sample_type=k.BRANCH_HW_INDEX, sample_regs_user=7, sample_regs_intr=3, sample_stack_user=64,
)  # fmt: skip
NARROW = forge.Event(name="narrow", sample_type=k.IDENTIFIER | k.IP | k.TID | k.TIME | k.CPU | k.CALLCHAIN, ids=(9,))
FEATURES = Features(
    hostname="host", command_line=("perf", "record"), build_ids=(("/bin/x", bytes(20)),), pmus=((1, "software"),),
    groups=(("g", 0, 2),), clock=(1, 2, 3), extra={13: bytes(64), 25: bytes(40)},
)  # fmt: skip
EVENTS = (WIDE, NARROW)
SESSIONS = {
    "file": forge.Session(events=EVENTS, features=FEATURES),
    "big-endian file": forge.Session(events=EVENTS, features=FEATURES, order=">"),
    "pipe": forge.Session(events=EVENTS, features=FEATURES, pipe=True),
    "zstd file": forge.Session(events=EVENTS, features=FEATURES, zstd=600),
    "zstd pipe": forge.Session(events=EVENTS, features=FEATURES, zstd=300, pipe=True, legacy_zstd=True),
    "unfinished": forge.Session(events=EVENTS, unfinished=True),
}
USER, DEFERRED = 2**64 - 512, 2**64 - 640


def records() -> Iterator[forge.Record]:
    """Return side-band records of every kind, then samples of two events with every field."""
    stamp = forge.Stamp(pid=1, tid=1, time=1, id=7)
    yield forge.Mmap2(pid=1, tid=1, addr=4096, len=4096, filename="/bin/x", build_id=bytes(20), stamp=stamp)
    yield forge.Mmap(pid=1, tid=1, addr=8192, len=4096, filename="/bin/y", stamp=stamp)
    yield forge.Comm(pid=1, tid=1, comm="comm", stamp=stamp)
    yield forge.Fork(pid=2, ppid=1, tid=2, ptid=1, time=2, stamp=stamp)
    yield forge.Namespaces(pid=1, tid=1, links=((1, 2),) * 3, stamp=stamp)
    yield forge.Cgroup(id=1, path="/slice", stamp=stamp)
    yield forge.Ksymbol(addr=2**63, len=64, name="bpf_prog", stamp=stamp)
    yield forge.IdIndex(entries=((7, 0, 0, 0),))
    yield forge.EventUpdate(kind=2, id=9, value="renamed")
    yield forge.BuildId(build_id=bytes(20), filename="/bin/y")
    for time in range(3, 40, 4):
        yield from _round(time)
    yield forge.TracingData(blob=b"\x17\x08\x44tracing0.6\0" + bytes(50))
    yield forge.Lost(lost=3, stamp=stamp)
    yield forge.LostSamples(lost=2, stamp=stamp)
    yield forge.Exit(pid=2, ppid=1, tid=2, ptid=1, time=50, stamp=stamp)


def _round(time: int) -> Iterator[forge.Record]:
    stamp = forge.Stamp(pid=1, tid=1, time=time, id=7)
    read = forge.GroupRead((forge.ReadValue(time, 7), forge.ReadValue(2 * time, 8)))
    yield forge.Switch(stamp=stamp)
    yield forge.Sample(
        time=time, id=7, chain=(USER, 4100, 4200), read=read, raw=b"raw!", branches=(forge.Branch(1, 2),),
        regs_user=forge.Registers(6, (1, 2, 3), ((1, 2),) * 2, ((3,),)), stack=bytes(64),
        regs_intr=forge.Registers(1, (4, 5)),
    )  # fmt: skip
    yield forge.Sample(event=1, id=9, time=time + 1, ip=2**63 + 5, chain=(2**64 - 128, 2**63 + 5, DEFERRED, time))
    yield forge.CallchainDeferred(cookie=time, ips=(USER, 4104), stamp=stamp)
    yield forge.Switch(misc=1 << 13, stamp=stamp)
