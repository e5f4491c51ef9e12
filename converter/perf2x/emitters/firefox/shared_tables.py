"""``shared`` and ``libs`` of Firefox Profiler's format: stacks, frames, functions, files and strings of all threads.

Tables are shared since version 60. The viewer would merge the tables of separate threads itself, but keep a copy of
every stack for each thread that has it. Mapped files have build ids, by which symbol servers find them. The category of
a frame or marker gives it a name and a colour.
"""

from collections.abc import Sequence

import numpy as np

from perf2x.base.abi import CpuMode
from perf2x.base.columnar import (
    I64,
    Frozen,
    TextInterner,
    arange,
    as_int64,
    flatnonzero,
    group_rows,
    minus_ones,
    new_rows,
    unique_inverse,
    zeros,
)
from perf2x.emitters.encoding.json_encoder import JsonObject
from perf2x.model.printable_text import base_name, one_line
from perf2x.model.profile import LocationFrames, Profile, ProfileEvent, Wait, are_jit, expand, folded
from perf2x.model.recording import event_name, is_tracepoint

_BIG_ENDIAN = frozenset({"s390", "s390x", "ppc", "ppc64", "sparc", "sparc64", "mips", "mips64", "m68k", "parisc"})
"""Big-endian machines, by uname's name; those that support both orders are nearly always little-endian."""

_GUID_DIGITS = 32


class Libraries(Frozen):
    """``libs``, and (mappings,) the row of each mapping's file in it, −1 for memory without a file."""

    entries: list[JsonObject]
    of_mapping: I64


def libraries_of(profile: Profile) -> Libraries:
    """Return the files of all mappings, one for each path and build id."""
    mappings, text = profile.mappings, profile.strings
    first, place = group_rows([mappings.filename, mappings.build_id])
    names = [text[row] for row in mappings.filename[first].tolist()]
    build_ids = [text[row] for row in mappings.build_id[first].tolist()]
    arch = one_line(profile.meta.arch)
    entries: list[JsonObject] = []
    row = minus_ones(len(first))
    for at, (name, build_id) in enumerate(zip(names, build_ids, strict=True)):
        if build_id or (name.startswith("/") and not name.startswith(("//", "/memfd:"))):
            row[at] = len(entries)
            entries.append(_library(name, build_id, arch))
    return Libraries(entries, row[place])


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
    """Return the Breakpad id of an ELF file: a GUID from the first 16 bytes of its build id, then age 0.

    Without one, zeros.

    The GUID's first three fields, of 4, 2 and 2 bytes, are read in the machine's byte order.
    """
    digits = build_id[:_GUID_DIGITS].ljust(_GUID_DIGITS, "0")
    if arch not in _BIG_ENDIAN:
        fields = (digits[:8], digits[8:12], digits[12:16])
        digits = "".join(bytes.fromhex(field)[::-1].hex() for field in fields) + digits[16:]
    return digits.upper() + "0"


OTHER, USER, KERNEL, JIT, GUEST, OFF_CPU, SCHEDULER = range(7)

_FIXED = (
    ("Other", "grey", ("Other",)),
    ("User", "yellow", ("Other",)),
    ("Kernel", "orange", ("Other",)),
    ("JIT", "blue", ("Other",)),
    ("Guest", "purple", ("Other",)),
    ("Off-CPU", "lightblue", ("Other", "Blocked", "Preempted")),
    ("Context switch", "darkgrey", ("Other",)),
)
"""Name, colour and subcategories; the viewer knows few colours, and uses the first grey category as the default."""

_MARKER_COLOURS = ("green", "magenta", "brown", "red", "lightred")
_OF_MODE = {CpuMode.USER: USER, CpuMode.KERNEL: KERNEL, CpuMode.GUEST_KERNEL: GUEST, CpuMode.GUEST_USER: GUEST}


def category_list(events: Sequence[ProfileEvent]) -> tuple[list[JsonObject], I64]:
    """Return ``meta.categories``, and (events,) the category of each event's markers.

    Tracepoints of one subsystem share a category; other events have one each.
    """
    names = [one_line(event_name(event.name).event) for event in events]
    groups = [
        name.split(":")[0] if is_tracepoint(event.name) else name for name, event in zip(names, events, strict=True)
    ]
    own = sorted(set(groups) - {name for name, _, _ in _FIXED})
    colours = [_MARKER_COLOURS[row % len(_MARKER_COLOURS)] for row in range(len(own))]
    entries = (*_FIXED, *((name, colour, ("Other",)) for name, colour in zip(own, colours, strict=True)))
    row = {name: at for at, (name, _, _) in enumerate(entries)}
    listed: list[JsonObject] = [
        {"name": name, "color": colour, "subcategories": list(below)} for name, colour, below in entries
    ]
    return listed, as_int64([row[group] for group in groups])


def _frame_categories(profile: Profile, frames: LocationFrames) -> I64:
    """Return (frames,) the category of each frame by CPU mode, which is known even for frames without a name."""
    of_mode = zeros(256)
    of_mode[[int(mode) for mode in _OF_MODE]] = list(_OF_MODE.values())
    return np.where(are_jit(profile, frames), JIT, of_mode[frames.mode])


_KINDS = 8
"""Greater than the number of kinds of waits."""


class SharedStacks(Frozen):
    """Rows of stackTable; a stack in which threads waited has a second row with a second frame for its waits."""

    parent: I64
    frame: I64
    origin: I64
    """(frames,) row in LocationFrames of each row of frameTable."""
    wait: I64
    """(frames,) the Wait of a waiting frame, 0 for others."""
    of_sample: I64
    """(samples,) the stack of each row of Profile.samples, −1 for none."""


def shared_stacks(profile: Profile, frames: LocationFrames) -> SharedStacks:
    """Return all distinct stacks; stacks that end in a wait are separate, because their leaf has another category."""
    every = arange(len(frames))
    rows = folded(expand(profile.stacks, frames.of_location), every)
    of_sample, wait = rows.innermost(as_int64(profile.samples.stack)), as_int64(profile.samples.waits)
    kept = flatnonzero((wait > 0) & (of_sample >= 0))
    pairs, place = unique_inverse(of_sample[kept] * _KINDS + wait[kept])
    leaf = pairs // _KINDS
    kinds, frame = unique_inverse(rows.frame[leaf] * _KINDS + pairs % _KINDS)
    of_sample[kept] = len(rows.parent) + place
    return SharedStacks(
        np.append(rows.parent, rows.parent[leaf]),
        np.append(rows.frame, len(every) + frame),
        np.append(every, kinds // _KINDS),
        np.append(zeros(len(every)), kinds % _KINDS),
        of_sample,
    )


def shared_tables(
    profile: Profile, frames: LocationFrames, stacks: SharedStacks, libraries: Libraries, texts: TextInterner[str]
) -> JsonObject:
    """Return all members of ``shared`` except stringArray."""
    resource, resources = _resources(frames, libraries, texts)
    names = as_int64(texts.add_all(map(one_line, frames.name)))
    first, func = group_rows([names, resource, frames.function])
    source, sources = _sources(profile, texts)
    return {
        "stackTable": _table(len(stacks.parent), prefix=_with_nulls(stacks.parent), frame=stacks.frame),
        "frameTable": _frame_table(stacks, frames, func[stacks.origin], _frame_categories(profile, frames)),
        "funcTable": _func_table(names[first], resource[first], frames.function[first], source, profile),
        "resourceTable": resources,
        "nativeSymbols": _table(0, libIndex=None, address=None, name=None, functionSize=None),
        "sources": sources,
        "sourceLocationTable": _table(0, source=None, line=None, column=None),
    }


def _table(length: int, **columns: object) -> JsonObject:
    """Return a table with ``length`` rows; a scalar stands for a column of equal values."""
    made: JsonObject = {"length": length}
    for name, column in columns.items():
        listed = column.tolist() if isinstance(column, np.ndarray) else column
        made[name] = listed if isinstance(listed, list) else [listed] * length
    return made


def _frame_table(stacks: SharedStacks, frames: LocationFrames, func: I64, category: I64) -> JsonObject:
    waits = [stacks.wait == Wait.BLOCKED, stacks.wait == Wait.PREEMPTED]
    return _table(
        len(stacks.origin),
        address=-1,
        inlineDepth=as_int64(frames.inlined[stacks.origin]),
        category=np.where(stacks.wait > 0, OFF_CPU, category[stacks.origin]),
        subcategory=np.select(waits, [1, 2], 0),  # index in the category's own list
        func=func,
        nativeSymbol=None,
        innerWindowID=None,
        line=None,
        column=None,
        originalLocation=None,
    )


def _func_table(name: I64, resource: I64, function: I64, source: I64, profile: Profile) -> JsonObject:
    line = np.append(profile.functions.start_line, 0)[function]  # the last entry is for function −1
    return _table(
        len(name),
        name=name,
        isJS=False,
        relevantForJS=False,
        resource=resource,
        source=_with_nulls(np.append(source, -1)[function]),
        lineNumber=_with_nulls(np.where(line > 0, line, -1)),
        columnNumber=None,
        originalLocation=None,
    )


def _resources(frames: LocationFrames, libraries: Libraries, texts: TextInterner[str]) -> tuple[I64, JsonObject]:
    """Return (frames,) the resource of each frame, −1 for none, and resourceTable: objects, with their file if any."""
    names = as_int64([texts[one_line(name)] if name else -1 for name in frames.object])
    library = np.append(libraries.of_mapping, -1)[frames.mapping]
    kept = flatnonzero(names >= 0)
    first, place = group_rows([names[kept], library[kept]])
    resource = minus_ones(len(frames))
    resource[kept] = place
    named = kept[first]
    return resource, _table(len(named), lib=_with_nulls(library[named]), name=names[named], host=None, type=1)


def _sources(profile: Profile, texts: TextInterner[str]) -> tuple[I64, JsonObject]:
    """Return (functions,) the source file of each function, −1 for none, and ``sources``."""
    files, place = unique_inverse(profile.functions.filename)
    is_named = np.array([bool(profile.strings[row]) for row in files.tolist()], np.bool_)
    names = [one_line(profile.strings[row]) for row in files[is_named].tolist()]
    table = _table(
        len(names),
        id=None,
        filename=texts.add_all(names),
        startLine=1,
        startColumn=1,
        sourceMapURL=None,
        content=None,
    )
    return as_int64(new_rows(is_named)[place]), table


def _with_nulls(values: I64) -> list[int | None]:
    """Return row numbers for JSON: null instead of −1."""
    return [None if value < 0 else value for value in values.tolist()]
