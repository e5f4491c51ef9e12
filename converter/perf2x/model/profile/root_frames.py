"""Synthetic frames at the root of a stack that say what is missing below it."""

from enum import IntEnum


class RootFrame(IntEnum):
    """The reason why a stack ends where it does; ROOT_FRAME_NAMES has its text. NONE adds no frame."""

    NONE = 0
    USER_MISSING = 1
    STACK_TRUNCATED = 2
    NO_UNWIND_INFO = 3
    STACK_CORRUPT = 4
    OTHER_STACK = 5
    REGISTERS_MISSING = 6
    TOO_DEEP = 7
    CALLER_UNKNOWN = 8
    USER_DEFERRED = 9


ROOT_FRAME_NAMES = {
    RootFrame.USER_MISSING: "[user stack missing]",
    RootFrame.STACK_TRUNCATED: "[truncated stack]",
    RootFrame.NO_UNWIND_INFO: "[no unwind info]",
    RootFrame.STACK_CORRUPT: "[corrupt stack]",
    RootFrame.OTHER_STACK: "[stack not copied]",
    RootFrame.REGISTERS_MISSING: "[registers not recorded]",
    RootFrame.TOO_DEEP: "[stack too deep]",
    RootFrame.CALLER_UNKNOWN: "[unknown caller]",
    RootFrame.USER_DEFERRED: "[user stack deferred]",
}
