"""Rows of a dataset → the profile of a recording as it was stitched, table by table and in the stitcher's order.

Names are not among it: what is known of them is looked up by place (``known_lines.py``) when the profile is named.

Checks what columns' types do not say: values of a recording's row, and ids of its objects.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar.arrays import I32, I64, U64, AnyArray, arange, argsort
from perf2x.base.columnar.interner import StringInterner
from perf2x.base.columnar.unique import group_rows
from perf2x.base.errors import FormatError
from perf2x.model.printable_text import as_recorded
from perf2x.model.profile.profile import (
    Mappings,
    Meta,
    Profile,
    ProfileEvent,
    ProfileSamples,
    Threads,
)
from perf2x.storage.dataset.parquet_files import is_known, numbers, texts
from perf2x.storage.dataset.read.restore_stacks import (
    RecordingRows,
    build_stacks,
    nodes_of,
    restore_locations,
    used_nodes,
)

if TYPE_CHECKING:
    import pyarrow


def restore_profile(rows: RecordingRows, meta: Meta, *, with_cgroups: bool = True) -> Profile:
    """Make the profile of a recording; FormatError when its rows do not fit together.

    Samples that only their control groups tell apart are not summed without them.
    """
    strings = StringInterner()
    threads, thread = _threads(rows.samples, strings)
    mappings = _mappings(rows, strings)
    nodes = nodes_of(rows)
    leaf = _leaves(rows)
    used = used_nodes(nodes, leaf)
    locations, functions, location = restore_locations(rows, nodes.place[used], mappings, strings)
    number = np.full(len(nodes.parent) + 1, -1, np.int64)
    number[used] = arange(len(used))
    stacks, place = build_stacks(number[nodes.parent[used]], location)
    stack = np.append(place, -1)[number[leaf]]
    samples = _samples(rows.samples, thread, stack, strings if with_cgroups else None)
    profile = Profile(
        strings=(), events=restore_events(rows.row), threads=threads, mappings=mappings, functions=functions,
        locations=locations, stacks=stacks, samples=samples, meta=meta,
        default_event=int(rows.row["default_event"]),
    )  # fmt: skip
    return _checked(replace(profile, strings=strings.table()), rows.source)


def _leaves(rows: RecordingRows) -> I64:
    """(samples,) the node of each stack, −1 for none."""
    leaf = numbers(rows.samples, "stack", -1).astype(np.int64)
    if (leaf < -1).any() or (leaf >= len(rows.nodes)).any():
        raise FormatError(f"{rows.source}: damaged: a stack is missing")
    return leaf


def _checked(profile: Profile, source: str) -> Profile:
    try:
        profile.check()
    except ValueError as error:
        raise FormatError(f"{source}: damaged: {error}") from None
    return profile


def _threads(samples: "pyarrow.Table", strings: StringInterner) -> tuple[Threads, I64]:
    """Threads sorted as the stitcher sorts them, and (samples,) the thread of each sample."""
    comm, comms = _ranked(samples, "comm")
    process, processes = _ranked(samples, "process")
    pid, tid = numbers(samples, "pid"), numbers(samples, "tid")
    first, thread = group_rows([pid, tid, comm, process])
    threads = Threads(
        pid=pid[first],
        tid=tid[first],
        comm=strings.add_all(comms[row] for row in comm[first].tolist()),
        process=strings.add_all(processes[row] for row in process[first].tolist()),
    )
    return threads, thread


def _ranked(table: "pyarrow.Table", name: str) -> tuple[I64, list[str]]:
    """(n,) rank of each text of a column among the distinct ones in order; the rank −1 stands for null."""
    code, known = texts(table, name)
    ordered = sorted(set(known))
    place = {text: row for row, text in enumerate(ordered)}
    return np.array([*(place[text] for text in known), -1], np.int64)[code], ordered


def _mappings(rows: RecordingRows, strings: StringInterner) -> Mappings:
    order = argsort(numbers(rows.mappings, "mapping"))
    table = rows.mappings.take(order)
    names = {name: texts(table, name) for name in ("file", "build_id")}
    check_build_ids(names["build_id"][1], rows.source)
    filename, build_id = (strings.add_all(known[row] for row in code.tolist()) for code, known in names.values())
    no = np.zeros(len(order), np.bool_)
    return Mappings(
        start=_unsigned(table, "start"), limit=_unsigned(table, "limit"), offset=_unsigned(table, "file_offset"),
        filename=filename, build_id=build_id, pid=numbers(table, "pid"), is_kernel=numbers(table, "is_kernel"),
        has_functions=no, has_filenames=no, has_line_numbers=no, has_inline_frames=no,
    )  # fmt: skip


def _unsigned(table: "pyarrow.Table", name: str) -> U64:
    return numbers(table, name).astype(np.int64).view(np.uint64)


def restore_events(row: dict[str, Any]) -> tuple[ProfileEvent, ...]:
    """All events of a recording, in recorded order."""
    return tuple(ProfileEvent(**(event | {"name": as_recorded(event["name"])})) for event in row["events"])


def _samples(table: "pyarrow.Table", thread: I64, stack: AnyArray, strings: StringInterner | None) -> ProfileSamples:
    """Samples in the order of their rows, which is the stitcher's; with control groups where there are ``strings``."""
    return ProfileSamples(
        event=numbers(table, "event_number"),
        thread=thread.astype(np.int32),
        stack=stack.astype(np.int32),
        value=numbers(table, "value"),
        count=numbers(table, "count"),
        time=_optional(table, "time_ns", np.uint64),
        cpu=_optional(table, "cpu", np.int32),
        cgroup=None if strings is None else _cgroups(table, strings),
    )


def _optional(table: "pyarrow.Table", name: str, dtype: type) -> Any:
    return numbers(table, name).astype(dtype) if is_known(table, name).any() else None


def _cgroups(table: "pyarrow.Table", strings: StringInterner) -> I32 | None:
    """String index of each cgroup; None where no sample says one."""
    code, known = _ranked(table, "cgroup")
    return strings.add_all(known)[code] if len(known) else None


def restore_meta(row: dict[str, Any], comments: tuple[str, ...] = (), clock_id: int = -1) -> Meta:
    """Facts of a recording's row."""
    text = {name: as_recorded(row[name]) for name in ("source", "host", "kernel", "arch", "perf_version")}
    return Meta(
        source=text["source"], start_ns=row["clock_start_ns"], duration_ns=row["duration_ns"],
        wall_start_ns=row["start_ns"] or 0, hostname=text["host"], os_release=text["kernel"], arch=text["arch"],
        perf_version=text["perf_version"], cpus=row["cpus"],
        command_line=tuple(as_recorded(word) for word in row["cmdline"]), comments=comments, clock_id=clock_id,
    )  # fmt: skip


def check_row(row: dict[str, Any], source: str) -> None:
    """FormatError for values that no recording has."""
    for name in ("samples", "lost", "duration_ns", "clock_start_ns", "cpus", "missing_bytes"):
        if (row[name] or 0) < 0:
            raise FormatError(f"{source}: damaged: {name} is {row[name]}")
    events = max(1, len(row["events"]))
    if not 0 <= row["default_event"] < events:
        raise FormatError(f"{source}: damaged: default_event is {row['default_event']} of {events} events")
    check_build_ids([row["kernel_build_id"], row["recording"], row["session"] or ""], source)


def check_build_ids(texts: Iterable[str], source: str) -> None:
    """FormatError for a build id that is not hexadecimal."""
    for text in texts:
        try:
            bytes.fromhex(text)
        except ValueError:
            raise FormatError(f"{source}: damaged: not a build id: {text[:64]!r}") from None
