"""Small profiles whose only content is locations, one sample each."""

import numpy as np

from perf2x.abi.uapi import CpuMode
from perf2x.columnar.arrays import I32
from perf2x.tables.events import Session
from perf2x.tables.profile import (
    Functions,
    Locations,
    Mappings,
    Profile,
    ProfileEvent,
    ProfileSamples,
    Stacks,
    Threads,
)


def i32(values) -> I32:
    return np.array(values, np.int32)


def make_session(**facts) -> Session:
    return Session("test", "<", (), **facts)


def make_profile(mappings, frames, is_kernel=None, synthetic=()) -> Profile:
    """``mappings`` are (start, limit, offset, filename, build id hex, pid); ``frames`` (mapping, lookup).

    Frames without a mapping (−1) are kernel code when their address is in the upper half. ``synthetic`` adds made-up
    locations with one line each.
    """
    strings = [""]

    def text(value) -> int:
        if value not in strings:
            strings.append(value)
        return strings.index(value)

    kernel = is_kernel or [m[3].startswith(("[kernel", "[guest.kernel")) or m[5] == -1 for m in mappings]
    none = np.zeros(len(mappings), np.bool_)
    table = Mappings(
        np.array([m[0] for m in mappings], np.uint64), np.array([m[1] for m in mappings], np.uint64),
        np.array([m[2] for m in mappings], np.uint64), i32([text(m[3]) for m in mappings]),
        i32([text(m[4]) for m in mappings]), i32([m[5] for m in mappings]), np.array(kernel, np.bool_),
        none, none, none, none,
    )  # fmt: skip
    mode = [CpuMode.KERNEL if (kernel[m] if m >= 0 else a >= 1 << 63) else CpuMode.USER for m, a in frames] + [
        CpuMode.USER
    ] * len(synthetic)
    count, made = len(frames) + len(synthetic), len(synthetic)
    names = i32([text(name) for name in synthetic])
    addresses = np.array([a for _, a in frames] + [0] * made, np.uint64)
    locations = Locations(
        addresses, addresses, i32([m for m, _ in frames] + [-1] * made), np.array(mode, np.uint8),
        np.array([False] * len(frames) + [True] * made, np.bool_),
        np.array([0] * (len(frames) + 1) + [*range(1, made + 1)], np.int64),
        np.arange(made, dtype=np.int32), np.zeros(made, np.int32),
    )  # fmt: skip
    zeros = np.zeros(count, np.int32)
    ones = np.ones(count, np.int64)
    rows = np.arange(count, dtype=np.int32)
    return Profile(
        strings, (ProfileEvent("cycles", "count", 0, 0),), Threads(i32([1]), i32([1]), i32([0]), i32([0])), table,
        Functions(names, names, np.zeros(made, np.int32), np.zeros(made, np.int32)), locations,
        Stacks(i32([-1] * count), rows), ProfileSamples(zeros, zeros, rows, ones, ones),
    )  # fmt: skip


def lines_of(profile, location) -> list[tuple[str, str, int]]:
    """(name, file, line) of each line of a location, innermost first."""
    start, end = (int(profile.locations.line_offsets[location + i]) for i in (0, 1))
    found = []
    for row in range(start, end):
        function = int(profile.locations.line_function[row])
        name, file = (profile.strings[int(c[function])] for c in (profile.functions.name, profile.functions.filename))
        found.append((name, file, int(profile.locations.line_number[row])))
    return found


def name_of(profile, location) -> str | None:
    """The outermost function's name, None without lines."""
    lines = lines_of(profile, location)
    return lines[-1][0] if lines else None
