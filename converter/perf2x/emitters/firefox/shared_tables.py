"""``shared`` and ``libs`` of Firefox Profiler's format: stacks, frames, functions, files and strings of all threads.

``libs`` lists the mapped files with their build ids, by which symbol servers find them.
"""

from collections.abc import Sequence

import numpy as np

from perf2x.base.abi import CpuMode
from perf2x.base.columnar import (
    I64,
    Frozen,
    StringInterner,
    arange,
    as_int64,
    flatnonzero,
    group_rows,
    minus_ones,
    new_row_numbers,
    unique_inverse,
    zeros,
)
from perf2x.emitters.encoding.json_encoder import JsonObject
from perf2x.model.printable_text import base_name, one_line
from perf2x.model.profile import LocationFrames, Profile, ProfileEvent, Wait, are_jit, expand, merge_siblings
from perf2x.model.recording import is_tracepoint, parse_event_name

_BIG_ENDIAN = frozenset({"s390", "s390x", "ppc", "ppc64", "sparc", "sparc64", "mips", "mips64", "m68k", "parisc"})
"""Machines that we take to be big-endian, by the names that uname prints.

All others are taken to be little-endian. The names of MIPS stand for both byte orders.
"""

_GUID_DIGITS = 32  # hexadecimal digits of 16 bytes


class Libraries(Frozen):
    """The mapped files."""

    entries: list[JsonObject]
    """``libs``: one object for each path and build id."""
    mapping_libraries: I64
    """(mappings,) index in ``entries`` of each mapping's file, −1 for memory without a file."""


def libraries_of(profile: Profile) -> Libraries:
    """Return the files of all mappings, one for each path and build id."""
    mappings, strings = profile.mappings, profile.strings
    first, pair = group_rows([mappings.filename, mappings.build_id])
    paths = [strings[row] for row in mappings.filename[first].tolist()]
    build_ids = [strings[row] for row in mappings.build_id[first].tolist()]
    arch = one_line(profile.meta.arch)
    entries: list[JsonObject] = []
    library = minus_ones(len(first))  # of each pair of path and build id
    for row, (path, build_id) in enumerate(zip(paths, build_ids, strict=True)):
        # perf calls memory without a file //anon, [heap] or /memfd:…
        if build_id or (path.startswith("/") and not path.startswith(("//", "/memfd:"))):
            library[row] = len(entries)
            entries.append(_library(path, build_id, arch))
    return Libraries(entries, library[pair])


def _library(filename: str, build_id: str, arch: str) -> JsonObject:
    name, path = one_line(base_name(filename)), one_line(filename)
    return {
        "arch": arch,
        "name": name,
        "path": path,
        "debugName": name,
        "debugPath": path,
        "breakpadId": _breakpad_id(build_id, arch),
        "codeId": build_id or None,
    }


def _breakpad_id(build_id: str, arch: str) -> str:
    """Return the Breakpad id of an ELF file: a GUID of the first 16 bytes of its build id, and the age 0.

    The GUID's first three fields, of 4, 2 and 2 bytes, are read in the machine's byte order.
    """
    digits = build_id[:_GUID_DIGITS].ljust(_GUID_DIGITS, "0")
    if arch not in _BIG_ENDIAN:
        fields = (digits[:8], digits[8:12], digits[12:16])
        digits = "".join(bytes.fromhex(field)[::-1].hex() for field in fields) + digits[16:]
    return digits.upper() + "0"


# rows of _FIXED_CATEGORIES
OTHER, USER, KERNEL, JIT, GUEST, OFF_CPU, SCHEDULER = range(7)

_FIXED_CATEGORIES = (
    ("Other", "grey", ("Other",)),
    ("User", "yellow", ("Other",)),
    ("Kernel", "orange", ("Other",)),
    ("JIT", "blue", ("Other",)),
    ("Guest", "purple", ("Other",)),
    ("Off-CPU", "lightblue", ("Other", "Blocked", "Preempted")),
    ("Context switch", "darkgrey", ("Other",)),
)
"""Name, colour and subcategories; the viewer knows few colours, and uses the first grey category as the default."""

_EVENT_COLOURS = ("green", "magenta", "brown", "red", "lightred")
_MODE_CATEGORIES = {
    CpuMode.USER: USER,
    CpuMode.KERNEL: KERNEL,
    CpuMode.GUEST_KERNEL: GUEST,
    CpuMode.GUEST_USER: GUEST,
}


def category_list(events: Sequence[ProfileEvent]) -> tuple[list[JsonObject], I64]:
    """Return ``meta.categories``, and (events,) the category of each event's markers.

    Tracepoints of one subsystem share a category.
    """
    names = [one_line(parse_event_name(event.name).event) for event in events]
    category_names = [
        name.split(":")[0] if is_tracepoint(event.name) else name for name, event in zip(names, events, strict=True)
    ]
    added = sorted(set(category_names) - {name for name, _, _ in _FIXED_CATEGORIES})
    colours = [_EVENT_COLOURS[row % len(_EVENT_COLOURS)] for row in range(len(added))]
    entries = (*_FIXED_CATEGORIES, *((name, colour, ("Other",)) for name, colour in zip(added, colours, strict=True)))
    row_by_name = {name: row for row, (name, _, _) in enumerate(entries)}
    categories: list[JsonObject] = [
        {"name": name, "color": colour, "subcategories": list(subcategories)} for name, colour, subcategories in entries
    ]
    return categories, as_int64([row_by_name[name] for name in category_names])


def _frame_categories(profile: Profile, frames: LocationFrames) -> I64:
    mode_categories = zeros(256)  # OTHER for all modes that are not listed
    mode_categories[[int(mode) for mode in _MODE_CATEGORIES]] = list(_MODE_CATEGORIES.values())
    return np.where(are_jit(profile, frames), JIT, mode_categories[frames.mode])


_WAIT_VALUES = 8
"""Greater than every value of Wait, so that a row number and a Wait fit into one integer."""


class SharedStacks(Frozen):
    """Columns of stackTable and frameTable; innermost frames of waits have rows of their own."""

    parent: I64
    """(stacks,) the row of each stack without its innermost frame, −1 for none."""
    frame: I64
    """(stacks,) row of frameTable: the innermost frame of each stack."""
    location_frame: I64
    """(rows of frameTable,) row in LocationFrames."""
    wait: I64
    """(rows of frameTable,) the Wait of a waiting frame, 0 for others."""
    sample_stacks: I64
    """(samples,) the stack of each row of Profile.samples, −1 for none."""


def shared_stacks(profile: Profile, frames: LocationFrames) -> SharedStacks:
    """Return all distinct stacks; those of waits are separate, because their innermost frame has another category."""
    all_frames = arange(len(frames))
    tree = merge_siblings(expand(profile.stacks, frames.of_location), all_frames)
    sample_stacks, wait = tree.innermost(as_int64(profile.samples.stack)), as_int64(profile.samples.waits)
    waiting = flatnonzero((wait > 0) & (sample_stacks >= 0))
    # one more stack for each pair of stack and Wait, one more frame for each pair of leaf frame and Wait
    stack_waits, added_stack = unique_inverse(sample_stacks[waiting] * _WAIT_VALUES + wait[waiting])
    waited_stack = stack_waits // _WAIT_VALUES
    frame_waits, added_frame = unique_inverse(tree.frame[waited_stack] * _WAIT_VALUES + stack_waits % _WAIT_VALUES)
    sample_stacks[waiting] = len(tree.parent) + added_stack
    return SharedStacks(
        np.append(tree.parent, tree.parent[waited_stack]),
        np.append(tree.frame, len(all_frames) + added_frame),
        np.append(all_frames, frame_waits // _WAIT_VALUES),
        np.append(zeros(len(all_frames)), frame_waits % _WAIT_VALUES),
        sample_stacks,
    )


def shared_tables(
    profile: Profile, frames: LocationFrames, stacks: SharedStacks, libraries: Libraries, strings: StringInterner[str]
) -> JsonObject:
    """Return all members of ``shared`` except stringArray; ``strings`` collects its strings."""
    resource, resources = _resources(frames, libraries, strings)
    names = as_int64(strings.add_all(map(one_line, frames.name)))
    # frames of one function share a row of funcTable, even if they differ in mode or inlining
    first, func = group_rows([names, resource, frames.function])
    source, sources = _sources(profile, strings)
    return {
        "stackTable": _table(len(stacks.parent), prefix=_with_nulls(stacks.parent), frame=stacks.frame),
        "frameTable": _frame_table(stacks, frames, func[stacks.location_frame], _frame_categories(profile, frames)),
        "funcTable": _func_table(profile, names[first], resource[first], frames.function[first], source),
        "resourceTable": resources,
        "nativeSymbols": _table(0, libIndex=None, address=None, name=None, functionSize=None),
        "sources": sources,
        "sourceLocationTable": _table(0, source=None, line=None, column=None),
    }


def _table(length: int, **columns: object) -> JsonObject:
    """Return a table with ``length`` rows; a scalar stands for a column of equal values."""
    result: JsonObject = {"length": length}
    for name, column in columns.items():
        values = column.tolist() if isinstance(column, np.ndarray) else column
        result[name] = values if isinstance(values, list) else [values] * length
    return result


def _frame_table(stacks: SharedStacks, frames: LocationFrames, func: I64, category: I64) -> JsonObject:
    """Return frameTable; frames have no address, because one frame stands for all call sites of its function."""
    has_subcategory = [stacks.wait == Wait.BLOCKED, stacks.wait == Wait.PREEMPTED]
    return _table(
        len(stacks.location_frame),
        address=-1,
        inlineDepth=as_int64(frames.inlined[stacks.location_frame]),
        category=np.where(stacks.wait > 0, OFF_CPU, category[stacks.location_frame]),
        subcategory=np.select(has_subcategory, [1, 2], 0),  # index in the category's list of subcategories
        func=func,
        nativeSymbol=None,
        innerWindowID=None,
        line=None,
        column=None,
        originalLocation=None,
    )


def _func_table(profile: Profile, name: I64, resource: I64, function: I64, function_sources: I64) -> JsonObject:
    """Return funcTable; ``function`` (rows,) are rows of Profile.functions, −1 for unresolved frames."""
    line = np.append(profile.functions.start_line, 0)[function]  # the last entry is for function −1
    return _table(
        len(name),
        name=name,
        isJS=False,
        relevantForJS=False,
        resource=resource,
        source=_with_nulls(np.append(function_sources, -1)[function]),
        lineNumber=_with_nulls(np.where(line > 0, line, -1)),
        columnNumber=None,
        originalLocation=None,
    )


def _resources(frames: LocationFrames, libraries: Libraries, strings: StringInterner[str]) -> tuple[I64, JsonObject]:
    """Return (frames,) the resource of each frame, −1 for none, and resourceTable: objects, with their file if any."""
    names = as_int64([strings[one_line(name)] if name else -1 for name in frames.object])
    library = np.append(libraries.mapping_libraries, -1)[frames.mapping]
    rows_with_object = flatnonzero(names >= 0)
    first, resource_row = group_rows([names[rows_with_object], library[rows_with_object]])
    resource = minus_ones(len(frames))
    resource[rows_with_object] = resource_row
    distinct = rows_with_object[first]
    table = _table(len(distinct), lib=_with_nulls(library[distinct]), name=names[distinct], host=None, type=1)
    return resource, table


def _sources(profile: Profile, strings: StringInterner[str]) -> tuple[I64, JsonObject]:
    files, function_files = unique_inverse(profile.functions.filename)
    is_named = np.array([bool(profile.strings[row]) for row in files.tolist()], np.bool_)
    names = [one_line(profile.strings[row]) for row in files[is_named].tolist()]
    table = _table(
        len(names),
        id=None,
        filename=strings.add_all(names),
        startLine=1,
        startColumn=1,
        sourceMapURL=None,
        content=None,
    )
    return as_int64(new_row_numbers(is_named)[function_files]), table


def _with_nulls(values: I64) -> list[int | None]:
    return [None if value < 0 else value for value in values.tolist()]
