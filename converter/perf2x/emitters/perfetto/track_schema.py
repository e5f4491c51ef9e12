"""Numbers of the fields and values of messages on tracks: slices, instants, counters, states; see trace_schema.py."""

from enum import IntEnum


class GenericKernelTaskStateEvent(IntEnum):
    """A thread's state from now on."""

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
    """A row of the timeline."""

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
    """A fact about an event, shown beside it."""

    NAME_IID = 1
    UINT_VALUE = 3
    INT_VALUE = 4
    STRING_VALUE_IID = 17
