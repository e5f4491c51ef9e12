"""A small recording as simpleperf makes it on a phone: names only in the file, and two events, one of them for waits.

::

    kernel  0 … 2⁶⁴−1       module       libapp.so in the apk     base.vdex     code compiled just in time, twice
"""

from collections.abc import Sequence
from pathlib import Path

from tests.forge import Comm, Event, Features, Mmap, Mmap2, Record, Sample, Session, Stamp, Switch, write_file
from tests.forge import kernel as k
from tests.forge import simpleperf as phone
from tests.forge.simpleperf import PhoneFile

PID, MS = 700, 1_000_000
LIB, DEX, JIT, LINKER, MEMORY, ANON = (0x7000_0000_0000 + row * 0x1_0000_0000 for row in range(6))
KERNEL, MODULE = 0xFFFF_FFC0_0808_0000, 0xFFFF_FFC0_7000_0000
APK = "/data/app/com.example/base.apk!/lib/arm64-v8a/libapp.so"
VDEX = "/data/app/com.example/oat/arm64/base.vdex"
SLICE = "/data/data/com.example/perf.data_jit_app_cache"
IN_MEMORY = "dexfile_in_memory_pid_700_addr_0x7004-0x8004"
WORK = 0x2100
"""svma of a function of the library, whose code begins at 0x2000 and at 0x1000 in the file."""
FILES = (
    PhoneFile("[kernel.kallsyms]", phone.KERNEL, ((KERNEL, 0x100, "el0_svc"), (MODULE + 0x800, 8, "listed"))),
    PhoneFile("/vendor/wifi.ko", phone.MODULE, ((0x50, 0x10, "wifi_rx"),), 0x40, 0x1000),
    PhoneFile(APK, phone.ELF, ((WORK, 0x40, "_ZN3app4workEi"), (WORK + 0x40, 0x40, "caller")), 0x2000, 0x1000),
    PhoneFile(VDEX, phone.DEX, ((0x480, 0x20, "com.example.Main.onCreate"),), dex_offsets=(0x40,)),
    PhoneFile(f"{SLICE}:0-512", phone.ELF, ((JIT + 0x10, 0x20, "com.example.Main.hot"),)),
    PhoneFile(f"{SLICE}:512-900", phone.ELF, ((JIT + 0x10, 0x20, "com.example.Main.hotter"),)),
    PhoneFile("/apex/linker64", phone.ELF, ((0x10, 0x10, "__dl__ZN6soinfo10link_imageEv"),)),
    PhoneFile(IN_MEMORY, phone.DEX, ((0x60, 0x20, "com.example.Loaded.run"),)),
    PhoneFile("perf-700.map", phone.PERF_MAP, ((ANON + 0x20, 0x20, "interpreted"),)),
)
META = {
    "simpleperf_version": "1.build.1",
    "trace_offcpu": "true",
    "event_type_info": "cpu-clock,1,0\nsched:sched_switch,2,47",
    "product_props": "Maker:Phone 1:codename",
    "android_version": "15",
    "app_package_name": "com.example",
    "clockid": "monotonic",
    "timestamp": "1764000000",
    "kernel_symbols_available": "true",
}
TYPE = k.IDENTIFIER | k.IP | k.TID | k.TIME | k.PERIOD | k.CALLCHAIN
FLAGS = frozenset({"sample_id_all", "context_switch"})
EVENTS = (
    Event("", sample_type=TYPE, ids=(1,), flags=FLAGS),
    Event("", type=2, config=47, period=1, sample_type=TYPE, ids=(2,), flags=FLAGS),
)
CHAIN = (
    k.CONTEXT_KERNEL, KERNEL + 0x20, MODULE + 0x1018,
    k.CONTEXT_USER, LIB + 0x108, LIB + 0x140, DEX + 0x88, JIT + 0x18,
    MEMORY + 0x70, LINKER + 0x1F, ANON + 0x21,
)  # fmt: skip
NAMES = [
    "el0_svc", "wifi_rx", "app::work", "caller", "com.example.Main.onCreate", "com.example.Main.hot",
    "com.example.Loaded.run", "[linker]soinfo::link_image", "interpreted",
]  # fmt: skip
"""Names of the frames in CHAIN, innermost first; the callers' addresses lie inside the calls."""


def mapping(addr: int, filename: str, pgoff: int = 0, prot: int = 5, time: int = 0) -> Record:
    stamp = Stamp(pid=PID, tid=PID, time=time, id=1)
    return Mmap2(pid=PID, tid=PID, addr=addr, len=0x1000, pgoff=pgoff, filename=filename, prot=prot, stamp=stamp)


def kernel_map(addr: int, length: int, filename: str) -> Record:
    return Mmap(pid=-1 % 2**32, tid=0, addr=addr, len=length, filename=filename, misc=k.KERNEL, stamp=Stamp(id=1))


def records() -> list[Record]:
    switch = [(30 * MS, True), (42 * MS, False)]
    return [
        kernel_map(0, 2**64 - 1, "[kernel.kallsyms]"),
        kernel_map(MODULE, 0x4000, "/vendor/wifi.ko"),
        Comm(pid=PID, tid=PID, comm="com.example", stamp=Stamp(pid=PID, tid=PID, id=1)),
        mapping(LIB, APK, 0x1000),
        mapping(DEX, VDEX, 0x400, prot=1),
        mapping(JIT, f"{SLICE}:0-512", prot=phone.JIT_MAP | 5),
        mapping(LINKER, "/apex/linker64"),
        mapping(MEMORY, IN_MEMORY, prot=1),
        mapping(ANON, "//anon"),
        Sample(pid=PID, tid=PID, time=10 * MS, ip=CHAIN[1], period=MS, chain=CHAIN, id=1, mode=k.KERNEL),
        Sample(pid=PID, tid=PID, time=30 * MS, ip=CHAIN[1], chain=CHAIN, event=1, id=2, mode=k.KERNEL),
        *(Switch(is_out=out, stamp=Stamp(pid=PID, tid=PID, time=time, id=1)) for time, out in switch),
        mapping(JIT, f"{SLICE}:512-900", prot=phone.JIT_MAP | 5, time=50 * MS),
        Sample(pid=PID, tid=PID, time=60 * MS, ip=JIT + 0x11, period=MS, chain=(k.CONTEXT_USER, JIT + 0x11), id=1),
    ]


def session(number: int = phone.FILE2, files: Sequence[PhoneFile] = FILES, **meta: str) -> Session:
    extra = {phone.META_INFO: phone.meta_info(**(META | meta)), number: phone.file_section(files, number)}
    return Session(EVENTS, features=Features(arch="aarch64", event_names=False, extra=extra))


def write_phone(path: Path, number: int = phone.FILE2) -> Path:
    """Write the recording; ``number`` is that of its section of files."""
    path.write_bytes(write_file(session(number), records()))
    return path
