"""Side-band records: each is forged and read back, in both byte orders."""

import struct
from dataclasses import replace
from pathlib import Path

import pytest

from perf2x.base.abi.perffile import UserRecordType
from perf2x.base.abi.uapi import RecordType
from perf2x.model.recording.sideband import Sideband
from perf2x.reader.records.record_decoders import DECODERS
from tests import forge
from tests.forge import kernel as k
from tests.forge.records import Stamp
from tests.forge.simpleperf import JIT_MAP
from tests.support.reading import reopened

BOTH = pytest.mark.parametrize("order", ["<", ">"])
EVENT = forge.Event(sample_type=k.IP | k.TID | k.TIME | k.CPU | k.IDENTIFIER, ids=(11, 12))
OTHER = forge.Event(name="page-faults", config=2, sample_type=EVENT.sample_type, ids=(21,))
STAMP = Stamp(pid=7, tid=8, time=900, cpu=3)
SESSION_TYPES = {
    UserRecordType.HEADER_ATTR, UserRecordType.HEADER_EVENT_TYPE, UserRecordType.HEADER_BUILD_ID,
    UserRecordType.EVENT_UPDATE, UserRecordType.HEADER_FEATURE, UserRecordType.AUXTRACE_INFO,
    UserRecordType.TIME_CONV,
    UserRecordType.THREAD_MAP, UserRecordType.STAT_CONFIG,
}  # fmt: skip


def _sideband(folder: Path, order: str, *records: forge.Record) -> Sideband:  # type: ignore[no-untyped-def]
    recording = reopened(folder, forge.Session(events=(EVENT, OTHER), order=order), records)
    return recording.sideband


SKIPPED: dict[int, str] = {
    RecordType.ITRACE_START: "hardware trace needs a decoder of its own",
    RecordType.BPF_EVENT: "KSYMBOL has the addresses of BPF programs, the header their names",
    RecordType.TEXT_POKE: "patched kernel instructions do not move functions",
    RecordType.AUX_OUTPUT_HW_ID: "hardware trace needs a decoder of its own",
    UserRecordType.HEADER_TRACING_DATA: "the data behind it becomes feature section tracing_data",
    UserRecordType.FINISHED_ROUND: "a hint for sorting a stream; the tables are sorted by time in any case",
    UserRecordType.FINISHED_INIT: "a hint for reading while recording",
    UserRecordType.ID_INDEX: "the attributes hold the ids as well",
    UserRecordType.AUXTRACE: "the trace behind it is read instead (Arm SPE), or needs a decoder of its own",
    UserRecordType.AUXTRACE_ERROR: "hardware trace needs a decoder of its own",
    UserRecordType.CPU_MAP: "requested CPUs",
    UserRecordType.COMPRESSED: "the records inside are read instead",
    UserRecordType.COMPRESSED2: "the records inside are read instead",
    UserRecordType.BPF_METADATA: "variables of BPF programs; they belong to no stack",
    UserRecordType.SCHEDSTAT_CPU: "perf sched stats counts; it takes no samples",
    UserRecordType.SCHEDSTAT_DOMAIN: "perf sched stats counts; it takes no samples",
}
"""Record types that become no table, with reasons."""


def test_every_type_is_decoded_or_skipped_with_a_reason() -> None:
    known = {int(kind) for family in (RecordType, UserRecordType) for kind in family}
    assert known == {*DECODERS, *SKIPPED, *map(int, SESSION_TYPES), int(RecordType.SAMPLE)}
    assert not DECODERS.keys() & SKIPPED.keys() and all(SKIPPED.values())


@BOTH
def test_mappings_are_read_back(tmp_path: Path, order: str) -> None:
    old = forge.Mmap(
        pid=2**32 - 1, tid=0, addr=2**63, len=2**40, pgoff=5, filename="[kernel]", misc=k.KERNEL, stamp=STAMP
    )
    new = forge.Mmap2(pid=1, tid=2, addr=16, len=32, pgoff=48, filename="/bin/ü", prot=4, flags=2, inode=9, stamp=STAMP)
    built = forge.Mmap2(pid=1, tid=2, addr=1, len=2, build_id=bytes(range(16)), filename=b"/\xff", misc=k.USER)
    mmaps = _sideband(tmp_path, order, old, new, built).mmaps
    assert mmaps.pid.tolist() == [-1, 1, 1] and mmaps.tid.tolist() == [0, 2, 2]
    assert mmaps.start.tolist() == [2**63, 16, 1] and mmaps.length.tolist() == [2**40, 32, 2]
    assert mmaps.pgoff.tolist() == [5, 48, 0] and mmaps.prot.tolist() == [-1, 4, 5]
    assert list(mmaps.filename) == ["[kernel]", "/bin/ü", "/\udcff"]
    assert list(mmaps.build_id) == [b"", b"", bytes(range(16))]
    assert mmaps.cpumode.tolist()[0] == k.KERNEL and mmaps.time.tolist()[:2] == [900, 900]


class Unprotected(forge.Mmap2):
    """As RHEL 7.0's kernel writes it: the name stands where prot and flags are later."""

    def payload(self, order: str) -> bytes:
        later = super().payload(order)
        return later[:56] + later[64:]


NAMES = ["//anon", "/bin/ü", "[vdso]", "/usr/lib64/ld-2.17.so", "/bin/sh", "/x/"]


@BOTH
@pytest.mark.parametrize("stamp", [STAMP, forge.Stamp()])
def test_mappings_of_kernels_that_write_no_protection(order: str, stamp: forge.Stamp, tmp_path: Path) -> None:
    new = forge.Mmap2(pid=1, tid=2, addr=1, len=2, inode=9, prot=JIT_MAP | 5, flags=2, filename="/new", stamp=stamp)
    old = [Unprotected(pid=1, tid=2, addr=1, len=2, inode=9, filename=name, stamp=stamp) for name in NAMES]
    mmaps = _sideband(tmp_path, order, *old, new, *old).mmaps
    assert list(mmaps.filename) == [*NAMES, "/new", *NAMES]
    unknown = [-1] * len(NAMES)
    assert mmaps.prot.tolist() == [*unknown, JIT_MAP | 5, *unknown] and mmaps.flags.tolist() == [*unknown, 2, *unknown]
    assert set(mmaps.inode.tolist()) == {9} and set(mmaps.time.tolist()) == {stamp.time}
    assert list(_sideband(tmp_path, order, *old).mmaps.filename) == NAMES


DEVICES = [
    (254, 0, 260689, 0),
    (8, 1, 1234, 0),
    (8, 17, 1 << 40, 77),
    (259, 3, 5, 0),
    (270, 1, 5, 0),
    (0, 45, 99, 0),
    (9, 0, 5, 9),
]
LONG = [bytes(range(200, 200 + size)) for size in (8, 16, 20)] + [bytes(4) + b"x" * 16]


@BOTH
def test_a_flag_of_a_build_id_that_another_perf_wanted(order: str, tmp_path: Path) -> None:
    """The kernel leaves it set for those that get device and inode."""
    at = forge.Mmap2(pid=1, tid=2, addr=1, len=2, misc=k.USER)
    flagged = [
        replace(at, misc=k.USER | k.MISC_14, major=major, minor=minor, inode=inode, inode_generation=generation)
        for major, minor, inode, generation in DEVICES
    ]
    mmaps = _sideband(tmp_path, order, *flagged, *(replace(at, build_id=one) for one in LONG)).mmaps
    assert list(mmaps.build_id) == [b""] * len(DEVICES) + LONG
    assert mmaps.inode.tolist() == [inode for _, _, inode, _ in DEVICES] + [0] * len(LONG)


@BOTH
def test_tasks_and_names_are_read_back(tmp_path: Path, order: str) -> None:
    sideband = _sideband(
        tmp_path, order,
        forge.Comm(pid=1, tid=2, comm="zufällig", is_exec=True, stamp=STAMP), forge.Comm(pid=3, tid=4, comm=b""),
        forge.Fork(pid=5, ppid=6, tid=7, ptid=8, time=1, stamp=STAMP),
        forge.Exit(pid=9, ppid=10, tid=11, ptid=12, time=2, stamp=STAMP),
    )  # fmt: skip
    assert list(sideband.comms.comm) == ["zufällig", ""] and sideband.comms.is_exec.tolist() == [True, False]
    fork, left = sideband.forks, sideband.exits
    assert [int(column[0]) for column in (fork.pid, fork.ppid, fork.tid, fork.ptid, fork.time)] == [5, 6, 7, 8, 900]
    assert [int(column[0]) for column in (left.pid, left.ppid, left.tid, left.ptid, left.time)] == [9, 10, 11, 12, 900]


@BOTH
def test_losses_belong_to_events(tmp_path: Path, order: str) -> None:
    records = (
        forge.Lost(id=21, lost=2**33, stamp=STAMP), forge.LostSamples(lost=5, event=1),
        forge.LostSamples(lost=99, misc=k.MISC_15), forge.Throttle(time=1, id=12, stamp=STAMP),
        forge.Throttle(time=2, id=21, lifted=True, stamp=STAMP),
    )  # fmt: skip
    recording = reopened(tmp_path, forge.Session(events=(EVENT, OTHER), order=order), records)
    losts, throttles = recording.sideband.losts, recording.sideband.throttles
    assert losts.event.tolist() == [1, 1, 0] and losts.lost.tolist() == [2**33, 5, 0]
    assert losts.samples_only.tolist() == [False, True, True]
    assert throttles.event.tolist() == [0, 1] and throttles.is_unthrottle.tolist() == [False, True]
    assert throttles.time.tolist() == [900, 900]
    assert recording.diagnostics["throttled"] == 1


@BOTH
def test_kernel_symbols_switches_cgroups_and_namespaces_are_read_back(tmp_path: Path, order: str) -> None:
    sideband = _sideband(
        tmp_path, order,
        forge.Ksymbol(addr=2**64 - 2**20, len=77, type=2, unregister=True, name="bpf_prog_x", stamp=STAMP),
        forge.Switch(is_out=True, preempted=True, stamp=STAMP), forge.SwitchCpuWide(next_prev_pid=1, stamp=STAMP),
        forge.Cgroup(id=2**40, path="/user.slice", stamp=STAMP),
        forge.Namespaces(pid=1, tid=2, links=((3, 4), (5, 6)), stamp=STAMP),
        forge.CallchainDeferred(cookie=2**40 + 1, ips=(2**63, 5), stamp=STAMP),
    )  # fmt: skip
    symbol, switches = sideband.ksymbols, sideband.switches
    assert (symbol.start[0], symbol.length[0], symbol.type[0]) == (2**64 - 2**20, 77, 2)
    assert list(symbol.name) == ["bpf_prog_x"] and bool(symbol.unregister[0])
    assert switches.is_out.tolist() == [True, False] and switches.preempted.tolist() == [True, False]
    assert switches.pid.tolist() == [7, 7] and switches.tid.tolist() == [8, 8] and switches.cpu.tolist() == [3, 3]
    assert sideband.cgroups.id.tolist() == [2**40] and list(sideband.cgroups.path) == ["/user.slice"]
    assert sideband.namespaces.links.row(0).tolist() == [3, 4, 5, 6]
    deferred = sideband.deferred
    assert deferred.cookie.tolist() == [2**40 + 1] and deferred.chain.table.row(0).tolist() == [2**63, 5]
    assert (deferred.pid[0], deferred.tid[0], deferred.time[0], deferred.cpu[0]) == (7, 8, 900, 3)


def test_unknown_types_are_counted(tmp_path: Path) -> None:
    records = (forge.Raw(type=99, body=bytes(16)), forge.Raw(type=2**31, body=b""), forge.Comm(pid=1, tid=1, comm="x"))
    recording = reopened(tmp_path, forge.Session(events=(EVENT,)), records)
    assert recording.sideband.record_counts["UNKNOWN_99"] == 1
    assert recording.diagnostics["records_of_unknown_type"] == 2
    assert list(recording.sideband.comms.comm) == ["x"]


@pytest.mark.parametrize("flags", [frozenset[str](), frozenset({"sample_id_all"})])
def test_records_without_a_time_take_that_of_the_samples_before_them(tmp_path: Path, flags: frozenset[str]) -> None:
    """Without sample_id_all a record has the latest time of the samples before it in the file."""
    event = forge.Event(sample_type=k.IP | k.TID | k.TIME, flags=flags)
    maps = [forge.Mmap(pid=1, tid=1, addr=addr, len=1, stamp=STAMP) for addr in (1, 2, 3)]
    records = [maps[0], forge.Sample(time=50), forge.Sample(time=40), maps[1], forge.Sample(time=60), maps[2]]
    if not flags:
        records += [forge.Fork(pid=1, ppid=1, tid=2, ptid=1, time=70), forge.Throttle(time=80)]
        records.append(forge.Throttle(time=90, lifted=True))
    sideband = reopened(tmp_path, forge.Session(events=(event,)), records).sideband
    assert sideband.mmaps.time.tolist() == ([900] * 3 if flags else [0, 50, 60])
    if not flags:  # these tell it themselves
        assert sideband.forks.time.tolist() == [70] and sideband.throttles.time.tolist() == [80, 90]


def test_a_mapping_that_is_cut_before_its_build_id(tmp_path: Path) -> None:
    short = forge.Raw(type=10, misc=k.USER | k.MISC_14, body=bytes(8))
    found = reopened(tmp_path, forge.Session(events=(forge.Event(),)), [forge.Comm(pid=1, tid=1, comm="x"), short])
    assert len(found.sideband.comms) == 1


@BOTH
def test_devices_and_inodes_in_the_table_of_build_ids(order: str, tmp_path: Path) -> None:
    """perf writes there what it took from such mappings."""
    taken = [struct.pack(order + "IQQ", *one) for one in ((0, 26933, 0), (17, 2**32 - 1, 9), (2**20 - 1, 5, 2**32 - 1))]
    kept = [b"\xfe" * 8 + bytes(12), bytes(4) + b"x" * 16, b"x" * 16 + bytes(4), b"x" * 20]
    kept += [struct.pack(order + "IQQ", *one) for one in ((0, 5, 1 << 32), (0, 1 << 32, 0), (1 << 20, 5, 0))]
    names = tuple((f"/bin/{number}", one) for number, one in enumerate(taken + kept))
    session = forge.Session(events=(EVENT, OTHER), order=order, features=forge.Features(build_ids=names))
    found = reopened(tmp_path, session, [forge.Comm(pid=1, tid=1, comm="x")]).session.build_ids
    assert {name: bytes(one)[:20] for name, one in found.items()} == dict(names[len(taken) :])
