"""Profiles for tests of symbolizers: nothing but locations, one sample each; also sessions, and lines read back."""

from collections.abc import Sequence

from perf2x.base.abi.uapi import CpuMode
from perf2x.model.profile.profile import Profile
from perf2x.model.recording.events import Session
from perf2x.testing import ProfileBuilder

MappingRow = tuple[int, int, int, str, str, int]
"""Start, limit, file offset, file name, build id in hexadecimal, process."""


def make_session(**facts) -> Session:
    return Session("test", "<", (), **facts)


def make_profile(
    mappings: Sequence[MappingRow],
    frames: Sequence[tuple[int, int]],
    is_kernel: Sequence[bool] | None = None,
    synthetic: Sequence[str] = (),
) -> Profile:
    """``frames`` are (mapping, address); ``synthetic`` adds made-up locations with one line each.

    Frames without a mapping (−1) are kernel code when their address is in the upper half.
    """
    builder = ProfileBuilder()
    builder.event("cycles", "count", frequency=0)
    builder.thread("", 1)
    kernel = is_kernel or [row[3].startswith(("[kernel", "[guest.kernel")) or row[5] == -1 for row in mappings]
    row_of = [
        builder.mapping(filename, start, limit - start, build_id, of_kernel, offset, pid)
        for (start, limit, offset, filename, build_id, pid), of_kernel in zip(mappings, kernel, strict=True)
    ] + [-1]
    for mapping, address in frames:
        of_kernel = kernel[mapping] if mapping >= 0 else address >= 1 << 63
        mode = CpuMode.KERNEL if of_kernel else CpuMode.USER
        builder.sample([builder.location(address, row_of[mapping], mode=mode)], value=1)
    for name in synthetic:
        builder.sample([builder.location(0, lines=[name], synthetic=True)], value=1)
    return builder.build()


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
