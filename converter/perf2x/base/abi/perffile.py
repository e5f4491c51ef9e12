"""Constants of the perf.data file format, copied from tools/perf (Linux 7.2).

Sources of truth: tools/perf/util/header.h (features, file header), tools/lib/perf/include/perf/event.h (user records),
tools/perf/Documentation/perf.data-file-format.txt.
"""

from enum import IntEnum

MAGIC = b"PERFILE2"
MAGIC_SWAPPED = b"2ELIFREP"
MAGIC_LEGACY = b"PERFFILE"

# Bytes of magic and size.
PIPE_HEADER_SIZE = 16
# Bytes of magic, size, attr_size, three sections and 256 feature bits.
FILE_HEADER_SIZE = 104
FILE_HEADER_SIZE_WITHOUT_FEATURES = 72
# Bytes of a section's offset and size, u64 each.
SECTION_SIZE = 16


class UserRecordType(IntEnum):
    """enum perf_user_event_type: records that the perf tool writes. They have no sample_id trailer."""

    HEADER_ATTR = 64
    HEADER_EVENT_TYPE = 65
    HEADER_TRACING_DATA = 66
    HEADER_BUILD_ID = 67
    FINISHED_ROUND = 68
    ID_INDEX = 69
    AUXTRACE_INFO = 70
    AUXTRACE = 71
    AUXTRACE_ERROR = 72
    THREAD_MAP = 73
    CPU_MAP = 74
    STAT_CONFIG = 75
    STAT = 76
    STAT_ROUND = 77
    EVENT_UPDATE = 78
    TIME_CONV = 79
    HEADER_FEATURE = 80
    COMPRESSED = 81
    FINISHED_INIT = 82
    COMPRESSED2 = 83
    BPF_METADATA = 84
    SCHEDSTAT_CPU = 85
    SCHEDSTAT_DOMAIN = 86


class SimpleperfRecordType(IntEnum):
    """Records of Android's simpleperf (its record.h).

    Their header is a u32 type, then the upper and the lower half of the size, u16 each.
    """

    SIMPLEPERF_KERNEL_SYMBOL = 32769
    SIMPLEPERF_DSO = 32770
    SIMPLEPERF_SYMBOL = 32771
    SIMPLEPERF_SPLIT = 32772
    SIMPLEPERF_SPLIT_END = 32773
    SIMPLEPERF_EVENT_ID = 32774
    SIMPLEPERF_CALLCHAIN = 32775
    SIMPLEPERF_UNWINDING_RESULT = 32776
    SIMPLEPERF_TRACING_DATA = 32777
    SIMPLEPERF_DEBUG = 32778


class HeaderFeature(IntEnum):
    """HEADER_*: numbers of the bits of adds_features; simpleperf's own begin at 128."""

    TRACING_DATA = 1
    BUILD_ID = 2
    HOSTNAME = 3
    OSRELEASE = 4
    VERSION = 5
    ARCH = 6
    NRCPUS = 7
    CPUDESC = 8
    CPUID = 9
    TOTAL_MEM = 10
    CMDLINE = 11
    EVENT_DESC = 12
    CPU_TOPOLOGY = 13
    NUMA_TOPOLOGY = 14
    BRANCH_STACK = 15
    PMU_MAPPINGS = 16
    GROUP_DESC = 17
    AUXTRACE = 18
    STAT = 19
    CACHE = 20
    SAMPLE_TIME = 21
    MEM_TOPOLOGY = 22
    CLOCKID = 23
    DIR_FORMAT = 24
    BPF_PROG_INFO = 25
    BPF_BTF = 26
    COMPRESSED = 27
    CPU_PMU_CAPS = 28
    CLOCK_DATA = 29
    HYBRID_TOPOLOGY = 30
    PMU_CAPS = 31
    CPU_DOMAIN_INFO = 32
    E_MACHINE = 33
    CLN_SIZE = 34
    SIMPLEPERF_FILE = 128
    SIMPLEPERF_META_INFO = 129
    SIMPLEPERF_DEBUG_UNWIND = 130
    SIMPLEPERF_DEBUG_UNWIND_FILE = 131
    SIMPLEPERF_FILE2 = 132
    SIMPLEPERF_ETM_BRANCH_LIST = 133
    SIMPLEPERF_INIT_MAP = 134


class EventUpdate(IntEnum):
    """PERF_EVENT_UPDATE__*: the property of an event that EVENT_UPDATE changes."""

    UNIT = 0
    SCALE = 1
    NAME = 2
    CPUS = 3


# PERF_RECORD_MISC_LOST_SAMPLES_BPF: a BPF filter dropped the samples.
MISC_LOST_SAMPLES_BPF = 1 << 15
# PERF_RECORD_MISC_BUILD_ID_SIZE: HEADER_BUILD_ID states the size of its build id.
MISC_BUILD_ID_SIZE = 1 << 15
# Bytes reserved for a build id in records and in the feature BUILD_ID.
BUILD_ID_SIZE = 20

# Names of machines, as ``uname -m`` prints them, by e_machine of the ELF header (elf.h).
MACHINES = {
    3: "i686", 8: "mips", 20: "ppc", 21: "ppc64le", 22: "s390x", 40: "armv7l", 43: "sparc64", 62: "x86_64",
    183: "aarch64", 243: "riscv64", 258: "loongarch64",
}  # fmt: skip
