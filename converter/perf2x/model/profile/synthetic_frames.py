"""Frames without an address: roots that name a process or something missing, leaves that show why a stack ends."""

from enum import IntEnum

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import (
    I32,
    I64,
    StringInterner,
    TextInterner,
    arange,
    as_int32,
    join_tables,
    searchsorted,
    trues,
    unique,
)
from perf2x.model.profile.profile import Functions, Locations, Profile, join_locations


def with_synthetic_frames(profile: Profile, names: list[str]) -> tuple[Profile, int]:
    """Return the profile with one synthetic location per name appended to its table, and the first new row."""
    strings = TextInterner({text: row for row, text in enumerate(profile.strings)})
    text, count = strings.add_all(names), len(names)
    old, functions = profile.locations, profile.functions
    nowhere, none = np.zeros(count, np.uint64), np.zeros(count, np.int32)
    made = Locations(
        address=nowhere,
        lookup=nowhere,
        mapping=np.full(count, -1, np.int32),
        mode=np.zeros(count, np.uint8),
        synthetic=trues(count),
        line_offsets=arange(count + 1),
        line_function=np.arange(count, dtype=np.int32) + len(functions),
        line_number=none,
    )
    grown = join_tables([functions, named_functions(text)])
    locations = join_locations([old, made])
    return replace(profile, strings=strings.table(), functions=grown, locations=locations), len(old)


def named_functions(names: I32) -> Functions:
    """Return functions with only a name (n,)."""
    none = np.zeros(len(names), np.int32)
    return Functions(names, names, none, none)


class RootFrame(IntEnum):
    """Why a stack ends; ROOT_FRAME_NAMES has the texts. NONE adds no frame."""

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
    KERNEL_HIDDEN = 10


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
    RootFrame.KERNEL_HIDDEN: "[kernel address hidden]",
}


def root_functions(root: I64, strings: StringInterner) -> tuple[Functions, I32]:
    """Return one function per kind of root frame, and the function of each location of these kinds."""
    kinds = unique(root[root > 0])
    names = strings.add_all(ROOT_FRAME_NAMES[RootFrame(kind)] for kind in kinds.tolist())
    return named_functions(names), as_int32(searchsorted(kinds, root[root > 0]))
