"""Field and enum numbers of the Perfetto messages that perf2x writes.

Source of truth: protos/perfetto/trace in Perfetto's repository.
"""

from enum import IntEnum

TRACE_PACKET = 1
"""Trace.packet: a trace consists of packets alone, so that concatenated traces are a trace."""


class TracePacket(IntEnum):
    """One packet of a trace."""

    PROCESS_TREE = 2
    CLOCK_SNAPSHOT = 6
    TIMESTAMP = 8
    TRUSTED_PACKET_SEQUENCE_ID = 10
    TRACK_EVENT = 11
    INTERNED_DATA = 12
    SEQUENCE_FLAGS = 13
    SYSTEM_INFO = 45
    TRACE_PACKET_DEFAULTS = 59
    TRACK_DESCRIPTOR = 60
    GENERIC_KERNEL_TASK_STATE_EVENT = 117
    STACK_SAMPLE = 135


class SequenceFlags(IntEnum):
    """Bits of TracePacket.sequence_flags."""

    SEQ_INCREMENTAL_STATE_CLEARED = 1
    SEQ_NEEDS_INCREMENTAL_STATE = 2


class TracePacketDefaults(IntEnum):
    """Defaults for the packets of a sequence."""

    TIMESTAMP_CLOCK_ID = 58
    STACK_SAMPLE_DEFAULTS = 100


class ClockSnapshot(IntEnum):
    """Readings of several clocks at the same time."""

    CLOCKS = 1
    PRIMARY_TRACE_CLOCK = 2


class Clock(IntEnum):
    """ClockSnapshot.Clock."""

    CLOCK_ID = 1
    TIMESTAMP = 2


class BuiltinClock(IntEnum):
    """Clocks that every reader knows."""

    BUILTIN_CLOCK_REALTIME = 1
    BUILTIN_CLOCK_MONOTONIC = 3
    BUILTIN_CLOCK_MONOTONIC_RAW = 5
    BUILTIN_CLOCK_BOOTTIME = 6
    BUILTIN_CLOCK_PERF = 10


class InternedData(IntEnum):
    """Tables to which later packets of the sequence refer by number."""

    EVENT_CATEGORIES = 1
    EVENT_NAMES = 2
    DEBUG_ANNOTATION_NAMES = 3
    FUNCTION_NAMES = 5
    FRAMES = 6
    CALLSTACKS = 7
    BUILD_IDS = 16
    MAPPING_PATHS = 17
    SOURCE_PATHS = 18
    MAPPINGS = 19
    DEBUG_ANNOTATION_STRING_VALUES = 29
    STACK_SAMPLE_TASK_CONTEXTS = 48
    STACK_SAMPLE_EXECUTION_CONTEXTS = 49


class InternedString(IntEnum):
    """A string, or bytes, with its id."""

    IID = 1
    STR = 2


class Mapping(IntEnum):
    """A mapped file."""

    IID = 1
    BUILD_ID = 2
    PATH_STRING_IDS = 7


class Frame(IntEnum):
    """A function at an address."""

    IID = 1
    FUNCTION_NAME_ID = 2
    MAPPING_ID = 3
    REL_PC = 4
    SOURCE_PATH_IID = 5
    LINE_NUMBER = 6
    KIND = 7


class FrameKind(IntEnum):
    """Frame.Kind."""

    KIND_UNKNOWN = 0
    KIND_NATIVE = 1
    KIND_KERNEL = 2
    KIND_INTERPRETED = 3
    KIND_JIT = 4


class Callstack(IntEnum):
    """A stack, outermost frame first."""

    IID = 1
    FRAME_IDS = 2


class StackSample(IntEnum):
    """One sample."""

    TASK_CONTEXT_IID = 2
    EXECUTION_CONTEXT_IID = 4
    CALLSTACK_IID = 6
    PRIMARY_WEIGHT = 11
    FOLLOWER_WEIGHTS = 14


class TaskContext(IntEnum):
    """StackSample.TaskContext: a thread."""

    IID = 1
    PID = 2
    TID = 3


class ExecutionContext(IntEnum):
    """StackSample.ExecutionContext."""

    IID = 1
    CPU = 2
    MODE = 3


class Mode(IntEnum):
    """StackSample.Mode."""

    MODE_UNKNOWN = 0
    MODE_USER = 1
    MODE_KERNEL = 2
    MODE_HYPERVISOR = 3
    MODE_GUEST_USER = 4
    MODE_GUEST_KERNEL = 5


class CounterDescriptor(IntEnum):
    """StackSample.CounterDescriptor."""

    NAME = 2
    UNIT = 3
    SCOPE = 7


class Unit(IntEnum):
    """StackSample.Unit."""

    UNIT_NANOSECONDS = 1
    UNIT_CPU_CYCLES = 2
    UNIT_INSTRUCTIONS = 3
    UNIT_PAGE_FAULTS = 5
    UNIT_CACHE_MISSES = 6
    UNIT_CACHE_REFERENCES = 7
    UNIT_BRANCH_MISSES = 8
    UNIT_COUNT = 9


class Scope(IntEnum):
    """StackSample.CounterDescriptor.Scope."""

    SCOPE_GLOBAL = 1


class StackSampleDefaults(IntEnum):
    """The counters of a sequence of samples."""

    SOURCE = 1
    PRIMARY_DESCRIPTOR = 2
    FOLLOWER_DESCRIPTORS = 3


class ProcessTree(IntEnum):
    """Names of processes and threads."""

    PROCESSES = 1
    THREADS = 2


class Process(IntEnum):
    """ProcessTree.Process."""

    PID = 1
    PPID = 2
    CMDLINE = 3
    CMDLINE_IS_COMM = 9


class Thread(IntEnum):
    """ProcessTree.Thread."""

    TID = 1
    NAME = 2
    TGID = 3


class SystemInfo(IntEnum):
    """The machine."""

    UTSNAME = 1


class Utsname(IntEnum):
    """The kernel, as in uname."""

    SYSNAME = 1
    RELEASE = 3
    MACHINE = 4


class GenericKernelTaskStateEvent(IntEnum):
    """A thread's state from this time on."""

    CPU = 1
    TID = 3
    STATE = 4


class TaskState(IntEnum):
    """GenericKernelTaskStateEvent.TaskStateEnum."""

    TASK_STATE_RUNNABLE = 2
    TASK_STATE_RUNNING = 3
    TASK_STATE_INTERRUPTIBLE_SLEEP = 4
    TASK_STATE_UNINTERRUPTIBLE_SLEEP = 5
    TASK_STATE_STOPPED = 6
    TASK_STATE_DEAD = 7


class TrackDescriptor(IntEnum):
    """A track: a row of the timeline."""

    UUID = 1
    NAME = 2
    PROCESS = 3
    THREAD = 4
    PARENT_UUID = 5
    COUNTER = 8


class ProcessDescriptor(IntEnum):
    """The process that a track belongs to."""

    PID = 1


class ThreadDescriptor(IntEnum):
    """The thread that a track belongs to."""

    PID = 1
    TID = 2


class TrackCounter(IntEnum):
    """CounterDescriptor: what a track's values count."""

    UNIT = 3


class TrackUnit(IntEnum):
    """CounterDescriptor.Unit."""

    UNIT_TIME_NS = 1
    UNIT_COUNT = 2


class TrackEvent(IntEnum):
    """Something that happens on a track."""

    CATEGORY_IIDS = 3
    DEBUG_ANNOTATIONS = 4
    TYPE = 9
    NAME_IID = 10
    TRACK_UUID = 11
    COUNTER_VALUE = 30
    CALLSTACK_IID = 56


class TrackEventType(IntEnum):
    """TrackEvent.Type."""

    TYPE_SLICE_BEGIN = 1
    TYPE_SLICE_END = 2
    TYPE_INSTANT = 3
    TYPE_COUNTER = 4


class DebugAnnotation(IntEnum):
    """A name and a value that are shown with an event."""

    NAME_IID = 1
    UINT_VALUE = 3
    INT_VALUE = 4
    STRING_VALUE_IID = 17
