"""A small recording in which every option of a conversion has something to choose, group, hide or show.

Two processes of three threads, the idle task, context switches, tracepoints, branches, weights, CPUs, control
groups and a lost sample. All names that an owner would not tell are in ``SECRETS``.
"""

import struct
from pathlib import Path

from tests.forge import (
    Branch,
    Cgroup,
    Comm,
    Event,
    Features,
    LostSamples,
    Mmap,
    Mmap2,
    Record,
    Sample,
    Session,
    Stamp,
    Switch,
    write_file,
)  # fmt: skip
from tests.forge import kernel as k
from tests.forge.features import TRACING_DATA
from tests.support.tiny_elf import TinySection, TinySymbol, symbol_sections, tiny_elf

PROGRAM, LIBRARY, SIZE, STATED = 0x5555_5000_0000, 0x7F00_0000_0000, 0x1000, 0x40_1000
KERNEL = 0xFFFF_FFFF_8100_0000
MS = 1_000_000
BUILD_ID = bytes.fromhex("5ec2e7" * 6 + "0102")
SECRETS = (
    "websrv", "wrkr", "dbase", "zorro", "libzorro", "pigeon", "calls_pigeon", "kestrel", "lib_kestrel",
    "ostrich.example", "--token", "falconer", "/opt/", "raven.slice", "heron", "5ec2e7",
)  # fmt: skip
"""Parts of names of threads, files, functions, host, command line, control group and event, and of a build id."""

TYPE = (
    k.IDENTIFIER | k.IP | k.TID | k.TIME | k.ADDR | k.CPU | k.PERIOD | k.CALLCHAIN | k.RAW | k.WEIGHT | k.DATA_SRC
    | k.CGROUP
)  # fmt: skip
FIELDS = {
    "block:block_rq_issue": (
        "dev_t dev;\toffset:8;\tsize:4;\tsigned:0",
        "sector_t sector;\toffset:16;\tsize:8;\tsigned:0",
        "char comm[16];\toffset:24;\tsize:16;\tsigned:0",
    ),
    "probe_heron:heron": ("char name[16];\toffset:24;\tsize:16;\tsigned:0",),
}
RAW = struct.pack("<8xIiQ16s", 7, 0, 99, b"wrkr-comm")
NUMBERS = {name: 300 + row for row, name in enumerate(FIELDS)}
CLOCK = Event(
    name="cpu-clock", period=MS, sample_type=TYPE, ids=(1,), clockid=1,
    flags=frozenset({"sample_id_all", "context_switch", "use_clockid"}),
)  # fmt: skip
FAULTS = Event(name="page-faults", config=2, period=1, sample_type=TYPE, ids=(2,))
TAKEN = Event(
    name="branches", type=0, config=4, period=1, sample_type=TYPE | k.BRANCH_STACK, branch_sample_type=1 << 3, ids=(3,)
)
EVENTS = (
    CLOCK, FAULTS, TAKEN,
    *(Event(name=name, type=2, config=number, period=1, sample_type=TYPE, ids=(number,))
      for name, number in NUMBERS.items()),
)  # fmt: skip
_ROW = {event.name: row for row, event in enumerate(EVENTS)}


def tracing_data() -> bytes:
    """Formats of all tracepoints, as one system."""

    def sized(body: bytes) -> bytes:
        return struct.pack("<Q", len(body)) + body

    head = b"\x17\x08\x44tracing" + b"0.6\0" + bytes([0, 8]) + struct.pack("<I", 4096)
    pages = b"header_page\0" + sized(b"") + b"header_event\0" + sized(b"") + struct.pack("<I", 0)
    texts = [
        f"name: {name.partition(':')[2]}\nID: {NUMBERS[name]}\nformat:\n"
        + "".join(f"\tfield:{one};\n" for one in fields)
        for name, fields in FIELDS.items()
    ]
    system = b"all\0" + struct.pack("<I", len(texts)) + b"".join(sized(text.encode()) for text in texts)
    return head + pages + struct.pack("<I", 1) + system + struct.pack("<II", 0, 0)


def write(folder: Path) -> Path:
    """Write the recording with its programs (``symfs``) and ``kallsyms`` to a folder; return its path."""
    offset = _objects(folder / "symfs")
    (folder / "kallsyms").write_text(
        "".join(f"{KERNEL + at:x} T {name}\n" for at, name in ((0, "_stext"), (0x100, "do_idle"), (0x200, "vfs_read")))
    )
    path = folder / "perf.data"
    features = Features(
        hostname="ostrich.example", os_release="6.18.0", version="7.2", arch="x86_64", cpus=(4, 4),
        command_line=("/usr/bin/perf", "record", "--token", "falconer", "/opt/zorro"), clock=(1, 10**18, 0),
        build_ids=(("/opt/lib/libzorro.so", BUILD_ID),), extra={TRACING_DATA: tracing_data()},
    )  # fmt: skip
    session = Session(events=EVENTS, features=features)
    path.write_bytes(write_file(session, [*_sideband(offset), *_samples(), *_switches()]))
    return path


def _objects(root: Path) -> int:
    """Write program and library; return the offset of their code."""
    offset = 0
    for path, names in (
        ("opt/zorro", ("_ZN6pigeon4workEi", "calls_pigeon")),
        ("opt/lib/libzorro.so", ("kestrel", "lib_kestrel")),
    ):
        code = b"\x90" * SIZE
        symbols = [TinySymbol(name, STATED + 0x100 * row, 0x100) for row, name in enumerate(names)]
        raw = tiny_elf([TinySection(".text", code, STATED, flags=6), *symbol_sections(symbols, 2)])
        offset = raw.index(code)
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(raw)
    return offset


def _sideband(offset: int) -> list[Record]:
    stamp = Stamp(time=1)
    records: list[Record] = [
        Mmap(
            pid=2**32 - 1,
            tid=0,
            addr=KERNEL,
            len=0x100000,
            pgoff=KERNEL,
            filename="[kernel.kallsyms]_text",
            misc=k.KERNEL,
        ),
        Cgroup(id=5, path="/raven.slice"),
        Cgroup(id=6, path="/raven.slice/other"),
    ]
    for pid, tid, comm in ((100, 100, "websrv"), (100, 101, "wrkr"), (200, 200, "dbase")):
        records.append(Comm(pid=pid, tid=tid, comm=comm, stamp=stamp))
    for pid in (100, 200):
        shared = {"pid": pid, "tid": pid, "len": SIZE, "pgoff": offset, "misc": k.USER, "stamp": stamp}
        records.append(Mmap2(addr=PROGRAM, filename="/opt/zorro", **shared))
        records.append(Mmap2(addr=LIBRARY, filename="/opt/lib/libzorro.so", build_id=BUILD_ID, **shared))
    return [*records, LostSamples(lost=3, stamp=Stamp(time=2))]


def _samples() -> list[Record]:
    """Twelve rounds of samples, a millisecond each."""
    main, work, leaf, deep = PROGRAM + 0x110, PROGRAM + 0x10, LIBRARY + 0x10, LIBRARY + 0x110
    records: list[Record] = []
    for turn in range(12):
        start = (10 + turn) * MS
        for pid, tid, cpu, cgroup in ((100, 100, 0, 5), (100, 101, 1, 5), (200, 200, 2, 6)):
            user = (k.CONTEXT_USER, leaf if turn % 3 else deep, work + turn, work, main)
            kernel = (k.CONTEXT_KERNEL, KERNEL + 0x210) if turn % 2 else ()
            shared = {
                "pid": pid, "tid": tid, "cpu": cpu, "cgroup": cgroup, "chain": (*kernel, *user),
                "ip": (*kernel, *user)[1], "mode": k.KERNEL if kernel else k.USER, "raw": RAW, "weight": 5 + turn,
                "data_src": 1 << 19 | 2 | 1 << 5, "addr": LIBRARY + 0x800,
            }  # fmt: skip
            at = start + tid
            records.append(Sample(event=_ROW["cpu-clock"], id=1, time=at, period=MS, **shared))
            if turn % 4 == 0:
                records += _others(turn, at, shared)
        idle = (k.CONTEXT_KERNEL, KERNEL + 0x110)
        records.append(Sample(id=1, pid=0, tid=0, cpu=3, time=start, period=MS, chain=idle, ip=idle[1], mode=k.KERNEL))
    return records


def _others(turn: int, at: int, shared: dict[str, object]) -> list[Record]:
    """One sample of each other event; those of tracepoints follow each other by 20 us."""
    branches = tuple(Branch(PROGRAM + 0x20 + turn, LIBRARY + 0x10, mispred=one, predicted=1 - one) for one in (0, 1))
    records: list[Record] = [
        Sample(event=_ROW["page-faults"], id=2, time=at + 1000, period=1, **shared),
        Sample(event=_ROW["branches"], id=3, time=at + 2000, period=1, branches=branches, **shared),
    ]
    for row, (name, number) in enumerate(NUMBERS.items()):
        records.append(Sample(event=_ROW[name], id=number, time=at + 20_000 * (row + 1), period=1, **shared))
    return records


def _switches() -> list[Record]:
    """Each thread leaves its CPU behind every sample, one of them much later than the others."""
    records: list[Record] = []
    for turn in range(12):
        for tid, pid, ran in ((100, 100, 600_000), (101, 100, 300_000), (200, 200, 200_000)):
            came, left = (10 + turn) * MS + tid - 50, (10 + turn) * MS + tid + ran
            records.append(Switch(is_out=False, stamp=Stamp(pid=pid, tid=tid, time=came, cpu=tid % 3, id=1)))
            records.append(Switch(is_out=True, stamp=Stamp(pid=pid, tid=tid, time=left, cpu=tid % 3, id=1)))
    return records
