"""Samples of a profile as one flat table with dictionary-encoded strings, for ``sample_table`` and ``to_arrow``."""

from collections.abc import Iterable
from typing import NotRequired, TypedDict

import numpy as np
import numpy.typing as npt

from perf2x.base.columnar import I32, I64, DictionaryColumn, ListArray, as_int32, number_keys, unique_inverse
from perf2x.base.columnar.arrow import Numbers, Strings
from perf2x.model.printable_text import printable
from perf2x.model.profile import Profile, location_frames, stack_locations, used_leaves


class SampleTable(TypedDict):
    """Columns of equal length; columns of strings are object arrays of str."""

    time: NotRequired[npt.NDArray[np.uint64]]
    """Nanoseconds of the recording's clock; only in timelines."""
    event: npt.NDArray[np.object_]
    pid: npt.NDArray[np.int32]
    """−1: unknown."""
    tid: npt.NDArray[np.int32]
    comm: npt.NDArray[np.object_]
    function: npt.NDArray[np.object_]
    """Innermost function, which may be inlined; ``[libc.so.6]`` for code without a name; "" without a stack."""
    object: npt.NDArray[np.object_]
    """Base name of the object file that the innermost function is in; "" if there is none."""
    stack: npt.NDArray[np.object_]
    """All functions, outermost first, joined by semicolons."""
    value: npt.NDArray[np.int64]
    """Sum of periods, in the event's unit."""
    count: npt.NDArray[np.int64]
    cpu: NotRequired[npt.NDArray[np.int32]]
    cgroup: NotRequired[npt.NDArray[np.object_]]
    """Path of the control group."""


def sample_columns(profile: Profile) -> dict[str, Numbers | Strings]:
    r"""Return columns of equal length, one row per row of ``profile.samples``, in its order.

    ``time`` (nanoseconds), ``cpu`` and ``cgroup`` are included if the profile has them. Undecodable bytes of names are
    shown as ``\xNN``.
    """
    samples, threads, strings = profile.samples, profile.threads, profile.strings
    leaves, stack_row = used_leaves(profile)
    function, file, stack = _describe_stacks(profile, leaves)
    timed: dict[str, Numbers | Strings] = {} if samples.time is None else {"time": samples.time}
    table: dict[str, Numbers | Strings] = {
        "event": strings_of((event.name for event in profile.events), samples.event),
        "pid": threads.pid[samples.thread],
        "tid": threads.tid[samples.thread],
        "comm": strings_of((strings[row] for row in threads.comm.tolist()), samples.thread),
        "function": strings_of(function, stack_row),
        "object": strings_of(file, stack_row),
        "stack": strings_of(stack, stack_row),
        "value": samples.value,
        "count": samples.count,
    }
    if samples.cpu is not None:
        table["cpu"] = samples.cpu
    if samples.cgroup is not None:
        cgroups, row = unique_inverse(samples.cgroup)
        table["cgroup"] = strings_of((strings[number] for number in cgroups.tolist()), row)
    return timed | table


def strings_of(texts: Iterable[str], rows: I32 | I64 | slice = slice(None)) -> Strings:
    """Return a column of printable strings: row i is ``texts[rows[i]]``, with unprintable characters replaced."""
    distinct, index = number_keys(map(printable, texts))
    return DictionaryColumn(as_int32(index)[rows], tuple(distinct))


def _describe_stacks(profile: Profile, leaves: I64) -> tuple[list[str], list[str], list[str]]:
    """Return (leaves,) the innermost function of each stack, its object, and all functions, joined by semicolons.

    ``leaves`` are rows of Profile.stacks; −1 is an empty stack.
    """
    frames = location_frames(profile)
    rows = stack_locations(profile, leaves)
    expanded = frames.of_location[rows.values]
    frames_of_stack = ListArray(expanded.offsets[rows.offsets], expanded.values)
    names, objects, stacks = [], [], []
    for row in frames_of_stack.rows():
        last = int(row[-1]) if len(row) else -1
        names.append(frames.name[last] if len(row) else "")
        objects.append(frames.object[last] if len(row) else "")
        stacks.append(";".join(frames.name[frame] for frame in row.tolist()))
    return names, objects, stacks
