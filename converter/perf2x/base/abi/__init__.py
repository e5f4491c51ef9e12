"""Constants and struct layouts of the kernel and of the perf tool, and of DWARF, named as there."""

from perf2x.base.abi.hardware_trace import hardware_trace, is_decoded
from perf2x.base.abi.perffile import (
    BUILD_ID_SIZE,
    MACHINES,
    MAGIC,
    MAGIC_LEGACY,
    MAGIC_SWAPPED,
    MISC_BUILD_ID_SIZE,
    MISC_LOST_SAMPLES_BPF,
    EventUpdate,
    HeaderFeature,
    SimpleperfRecordType,
    UserRecordType,
)
from perf2x.base.abi.struct_layouts import ATTR_SIZE_NEWEST, ATTR_SIZE_VER0, ENDIAN, HEADER_SIZE, ByteOrder, attr_dtype
from perf2x.base.abi.uapi import (
    ATTR_FLAGS,
    CALLCHAIN_CONTEXT_MAX,
    MISC_CPUMODE_MASK,
    MODE_NAMES,
    AuxFlag,
    BranchSampleType,
    CallchainContext,
    ClockId,
    CpuMode,
    EventType,
    ReadFormat,
    RecordType,
    RegsAbi,
    SampleType,
    SoftwareConfig,
)
