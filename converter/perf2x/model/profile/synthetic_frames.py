"""Frames without an address that perf2x adds to stacks."""

from enum import IntEnum

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import (
    I32,
    I64,
    StringInterner,
    StringTableBuilder,
    arange,
    as_int32,
    join_tables,
    searchsorted,
    trues,
    unique,
)
from perf2x.model.profile.profile import Functions, Locations, Profile, join_locations


def with_synthetic_frames(profile: Profile, names: list[str]) -> tuple[Profile, int]:
    """Append a synthetic location and a function for each name, in order.

    Also returns the row of the first new location.
    """
    strings = StringInterner({text: row for row, text in enumerate(profile.strings)})
    name_rows, count = strings.add_all(names), len(names)
    old, functions = profile.locations, profile.functions
    no_address, no_line = np.zeros(count, np.uint64), np.zeros(count, np.int32)
    added = Locations(
        address=no_address,
        lookup=no_address,
        mapping=np.full(count, -1, np.int32),
        mode=np.zeros(count, np.uint8),
        synthetic=trues(count),
        line_offsets=arange(count + 1),
        line_function=np.arange(count, dtype=np.int32) + len(functions),
        line_number=no_line,
    )
    all_functions = join_tables([functions, named_functions(name_rows)])
    locations = join_locations([old, added])
    return replace(profile, strings=strings.table(), functions=all_functions, locations=locations), len(old)


def named_functions(names: I32) -> Functions:
    """Make functions with a name but without file and line; ``names`` (n,) are string indices."""
    nothing = np.zeros(len(names), np.int32)
    return Functions(names, names, nothing, nothing)


class RootFrame(IntEnum):
    """Reasons why a stack ends before its outermost function; NONE: the stack is complete."""

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


def root_functions(root: I64, strings: StringTableBuilder) -> tuple[Functions, I32]:
    """Make a function for each kind of root frame in ``root``, and find (root frames,) the function of each root frame.

    ``root`` (locations,) has a RootFrame for each location. The functions are sorted by kind, and their names are added
    to ``strings``.
    """
    kinds = unique(root[root > 0])
    names = strings.add_all(ROOT_FRAME_NAMES[RootFrame(kind)] for kind in kinds.tolist())
    return named_functions(names), as_int32(searchsorted(kinds, root[root > 0]))
