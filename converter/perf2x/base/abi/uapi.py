"""Constants of the kernel's perf ABI, copied from include/uapi/linux/perf_event.h (Linux 7.2).

Names are the kernel's without their prefixes: ``SampleType.IP`` is PERF_SAMPLE_IP. Bits are members of an IntEnum,
because ``&`` of an IntFlag creates an object and takes six times as long.
"""

from enum import IntEnum


class RecordType(IntEnum):
    """enum perf_event_type: the records that the kernel writes. perffile.py has those of the perf tool, from 64 on."""

    MMAP = 1
    LOST = 2
    COMM = 3
    EXIT = 4
    THROTTLE = 5
    UNTHROTTLE = 6
    FORK = 7
    READ = 8
    SAMPLE = 9
    MMAP2 = 10
    AUX = 11
    ITRACE_START = 12
    LOST_SAMPLES = 13
    SWITCH = 14
    SWITCH_CPU_WIDE = 15
    NAMESPACES = 16
    KSYMBOL = 17
    BPF_EVENT = 18
    CGROUP = 19
    TEXT_POKE = 20
    AUX_OUTPUT_HW_ID = 21
    CALLCHAIN_DEFERRED = 22


class SampleType(IntEnum):
    """enum perf_event_sample_format: the fields of a sample."""

    IP = 1 << 0
    TID = 1 << 1
    TIME = 1 << 2
    ADDR = 1 << 3
    READ = 1 << 4
    CALLCHAIN = 1 << 5
    ID = 1 << 6
    CPU = 1 << 7
    PERIOD = 1 << 8
    STREAM_ID = 1 << 9
    RAW = 1 << 10
    BRANCH_STACK = 1 << 11
    REGS_USER = 1 << 12
    STACK_USER = 1 << 13
    WEIGHT = 1 << 14
    DATA_SRC = 1 << 15
    IDENTIFIER = 1 << 16
    TRANSACTION = 1 << 17
    REGS_INTR = 1 << 18
    PHYS_ADDR = 1 << 19
    AUX = 1 << 20
    CGROUP = 1 << 21
    DATA_PAGE_SIZE = 1 << 22
    CODE_PAGE_SIZE = 1 << 23
    WEIGHT_STRUCT = 1 << 24


class ReadFormat(IntEnum):
    """enum perf_event_read_format."""

    TOTAL_TIME_ENABLED = 1 << 0
    TOTAL_TIME_RUNNING = 1 << 1
    ID = 1 << 2
    GROUP = 1 << 3
    LOST = 1 << 4


class BranchSampleType(IntEnum):
    """enum perf_branch_sample_type: the bits that a reader needs."""

    USER = 1 << 0
    KERNEL = 1 << 1
    HV = 1 << 2
    CALL_STACK = 1 << 11
    HW_INDEX = 1 << 17
    COUNTERS = 1 << 19


class CpuMode(IntEnum):
    """PERF_RECORD_MISC_CPUMODE: the privilege level that an instruction ran in."""

    UNKNOWN = 0
    KERNEL = 1
    USER = 2
    HYPERVISOR = 3
    GUEST_KERNEL = 4
    GUEST_USER = 5


MODE_NAMES = tuple(mode.name.lower().replace("_", " ") for mode in CpuMode)
"""The name of each mode, such as ``guest kernel``, for the label in pprof and the column in a dataset."""


class RegsAbi(IntEnum):
    """enum perf_sample_regs_abi: a bit field in kernels that can sample vector registers, otherwise 0, 1 or 2.

    GENERAL is our name for the two bits of the general registers.
    """

    ABI_32 = 1 << 0
    ABI_64 = 1 << 1
    SIMD = 1 << 2
    GENERAL = ABI_32 | ABI_64


MISC_CPUMODE_MASK = 0x7
MISC_MMAP_DATA = 1 << 13
MISC_COMM_EXEC = 1 << 13
MISC_FORK_EXEC = 1 << 13
MISC_SWITCH_OUT = 1 << 13
MISC_SWITCH_OUT_PREEMPT = 1 << 14
MISC_MMAP_BUILD_ID = 1 << 14


class CallchainContext(IntEnum):
    """enum perf_callchain_context as u64 callchain entries."""

    HV = 2**64 - 32
    KERNEL = 2**64 - 128
    USER = 2**64 - 512
    USER_DEFERRED = 2**64 - 640
    GUEST = 2**64 - 2048
    GUEST_KERNEL = 2**64 - 2176
    GUEST_USER = 2**64 - 2560


CALLCHAIN_CONTEXT_MAX = 2**64 - 4095
"""PERF_CONTEXT_MAX: a chain entry at or above this number is a context marker, not an address."""

ATTR_FLAGS = (
    "disabled", "inherit", "pinned", "exclusive", "exclude_user", "exclude_kernel", "exclude_hv", "exclude_idle",
    "mmap", "comm", "freq", "inherit_stat", "enable_on_exec", "task", "watermark", "precise_ip", "precise_ip_hi",
    "mmap_data", "sample_id_all", "exclude_host", "exclude_guest", "exclude_callchain_kernel",
    "exclude_callchain_user", "mmap2", "comm_exec", "use_clockid", "context_switch", "write_backward", "namespaces",
    "ksymbol", "bpf_event", "aux_output", "cgroup", "text_poke", "build_id", "inherit_thread", "remove_on_exec",
    "sigtrap", "defer_callchain", "defer_output",
)  # fmt: skip
"""Bit fields of struct perf_event_attr after ``read_format``, from bit 0 up.

``precise_ip`` is two bits wide; the upper one is called ``precise_ip_hi`` here.
"""


class AuxFlag(IntEnum):
    """PERF_AUX_FLAG_*: why parts of a hardware trace are missing."""

    TRUNCATED = 1 << 0
    PARTIAL = 1 << 2
    COLLISION = 1 << 3


class ClockId(IntEnum):
    """Clocks of include/uapi/linux/time.h that a recording's timestamps may come from."""

    REALTIME = 0
    MONOTONIC = 1
    MONOTONIC_RAW = 4
    BOOTTIME = 7


class EventType(IntEnum):
    """enum perf_type_id."""

    HARDWARE = 0
    SOFTWARE = 1
    TRACEPOINT = 2
    HW_CACHE = 3
    RAW = 4
    BREAKPOINT = 5


class SoftwareConfig(IntEnum):
    """enum perf_sw_ids."""

    CPU_CLOCK = 0
    TASK_CLOCK = 1
    PAGE_FAULTS = 2
    CONTEXT_SWITCHES = 3
    CPU_MIGRATIONS = 4
    PAGE_FAULTS_MIN = 5
    PAGE_FAULTS_MAJ = 6
    ALIGNMENT_FAULTS = 7
    EMULATION_FAULTS = 8
    DUMMY = 9
    BPF_OUTPUT = 10
    CGROUP_SWITCHES = 11


KSYMBOL_FLAGS_UNREGISTER = 1 << 0
"""PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER."""
