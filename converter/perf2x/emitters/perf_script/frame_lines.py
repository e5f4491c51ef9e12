"""Frames as ``perf script`` prints them: ``7f11db9fcc98 handle_amd+0x18 (/usr/lib/ld.so)``.

Source of truth: tools/perf/util/evsel_fprintf.c sample__fprintf_callchain and sample__fprintf_sym, util/map.c.
"""

from collections.abc import Container
from itertools import pairwise

import numpy as np

from perf2x.base.abi import CpuMode
from perf2x.base.columnar import U64, AnyArray, Bools, as_int64, as_uint64, falses, unique_inverse
from perf2x.emitters.encoding.decimal_text import chunk_array, joined_chunks, shared_chunks
from perf2x.model.printable_text import base_name, without_controls
from perf2x.model.profile import (
    NamedPlaces,
    Profile,
    SampleReader,
    depths,
    functions_of,
    outermost_functions,
    paths_of_length,
)

_FRAME_FIELDS = frozenset({"ip", "sym", "symoff", "dso", "dsoff", "srcline"})
_UNKNOWN_SYMBOL = b" [unknown]"
_KERNEL_STARTS = (b" ([kernel", b" ([guest.kernel")
_PERF_MAP_START = b" (/tmp/perf-"
_ANONYMOUS = ("//anon", "/anon_hugepage", "/SYSV", "/dev/zero")
"""Beginnings of the names of mappings whose symbols perf takes from a perf map, besides "[heap]" and "".

Source: is_anon_memory, is_no_dso_memory and map__new in util/map.c.
"""


class PlaceText:
    """Formats addresses of branches or of data."""

    def __init__(self, places: NamedPlaces, reader: SampleReader) -> None:
        self.locate = places.locate
        self.texts = FrameTexts(places.profile, places.symbol_start, reader.session.build_ids).name_texts


class FrameTexts:
    """Formats the stacks and locations of a profile; keeps the texts of each set of fields."""

    def __init__(self, profile: Profile, symbol_start: U64, objects_with_build_id: Container[str]) -> None:
        """``symbol_start`` (locations,): see SampleReader.

        ``objects_with_build_id`` are the names in the file header's table of build ids.
        """
        self._profile, self._symbol_start = profile, symbol_start
        self._frame_count = np.append(depths(profile.stacks.parent) + 1, 0)  # the last entry is for stack −1
        names = [_object_name(profile, row, objects_with_build_id) for row in range(len(profile.mappings))]
        # (mappings + 1,) texts without the closing bracket; the last entry is for mapping −1
        self._object_texts = chunk_array([f" ({name}".encode() for name in (*names, "[unknown]")])
        self._lines_by_fields: dict[tuple[frozenset[str], bool], AnyArray] = {}
        self._names_by_fields: dict[frozenset[str], AnyArray] = {}

    def chains(self, stack: AnyArray, fields: frozenset[str], *, unwound: bool) -> AnyArray:
        """Return (n,) the text of each stack: a newline, then a line for each frame, innermost first.

        ``stack`` (n,) are rows of Profile.stacks. For stacks that were ``unwound`` from a stack dump, perf prints
        callers one byte before the return address (tools/perf/util/unwind-libdw.c).
        """
        lines, stacks = self._lines(fields, unwound=unwound), self._profile.stacks
        rows, index = unique_inverse(stack)
        path = paths_of_length(stacks.parent, as_int64(rows), self._frame_count[rows])
        frames = lines[stacks.location[path.values]].tolist()
        texts = [b"\n" + b"".join(frames[start:end]) for start, end in pairwise(path.offsets.tolist())]
        return chunk_array(texts)[index]

    def leaves(self, stack: AnyArray, fields: frozenset[str]) -> AnyArray:
        """Return (n,) the text of each stack's innermost frame, after a blank; b"" for stack −1."""
        lines = self._lines(fields, unwound=False)
        rows, index = unique_inverse(stack)
        location = self._profile.stacks.location
        # without the tab and the newline
        texts = [b" " + lines[location[row]][1:-1] if row >= 0 else b"" for row in rows.tolist()]
        return chunk_array(texts)[index]

    def name_texts(self, location: AnyArray, fields: frozenset[str]) -> AnyArray:
        """Return (n,) name and object of each location, each after a blank; "unknown" for location −1."""
        if fields not in self._names_by_fields:
            texts = self._after_address(self._profile.locations.address, fields)
            unknown = _UNKNOWN_SYMBOL * ("sym" in fields) + b" ([unknown])" * bool(fields & {"dso", "dsoff"})
            self._names_by_fields[fields] = np.append(texts, chunk_array([unknown]))
        return self._names_by_fields[fields][location]

    def _lines(self, fields: frozenset[str], *, unwound: bool) -> AnyArray:
        key = fields & _FRAME_FIELDS, unwound
        if key not in self._lines_by_fields:
            locations = self._profile.locations
            is_call = unwound & (locations.mode == CpuMode.USER)
            address = np.where(is_call, locations.lookup, locations.address)
            addresses = _hex_cells(address) if "ip" in fields else chunk_array([b"\t"] * len(address))
            lines = addresses + self._after_address(address, key[0], b"\n")
            self._lines_by_fields[key] = np.where(locations.synthetic, b"", lines)
        return self._lines_by_fields[key]

    def _after_address(self, address: U64, fields: frozenset[str], end: bytes = b"") -> AnyArray:
        locations, columns = self._profile.locations, list[AnyArray | bytes]()
        if "sym" in fields:
            name, has_symbol = self._names(), self._symbol_start != 0
            columns.append(name)
            if "symoff" in fields:
                has_symbol &= name != _UNKNOWN_SYMBOL
                offset = np.where(has_symbol, address - self._symbol_start, 0)
                columns.append(np.where(has_symbol, shared_chunks(offset, "+{:#x}".format), b""))
        if fields & {"dso", "dsoff"}:
            columns.append(self._object_texts[locations.mapping])
            if "dsoff" in fields:
                offsets = shared_chunks(self._object_offset(address), "+{:#x}".format)
                columns.append(np.where(self._has_offsets()[locations.mapping], offsets, b""))
            columns.append(b")")
        if "srcline" in fields:
            columns.append(self._source_lines(address))
        columns.append(chunk_array([end] * len(address)))
        return joined_chunks(*columns)

    def _names(self) -> AnyArray:
        functions, strings, full = self._profile.functions, self._profile.strings, self._profile.full_names
        rows = zip(functions.system_name.tolist(), functions.name.tolist(), strict=True)
        names = [f" {without_controls(full.get(strings[system]) or strings[name])}".encode() for system, name in rows]
        # the last entry is for function −1
        return chunk_array([*(name if name != b" " else _UNKNOWN_SYMBOL for name in names), _UNKNOWN_SYMBOL])[
            outermost_functions(self._profile.locations)
        ]

    def _source_lines(self, address: U64) -> AnyArray:
        """The line is that of the innermost inlined function; without it, the text is ``object[offset]``."""
        files, strings = self._profile.functions.filename.tolist(), self._profile.strings
        locations = self._profile.locations
        innermost = np.where(np.diff(locations.line_offsets) > 0, locations.line_offsets[:-1], -1)
        number = np.append(locations.line_number, -1)[innermost]
        columns = functions_of(locations, innermost), number, locations.mapping, self._object_offset(address)
        has_offsets = self._has_offsets().tolist()
        objects = enumerate(self._object_texts.tolist())
        object_names = [_short_object_name(name[2:].decode(), has_offsets[row]) for row, name in objects]

        def text(function: int, number: int, mapping: int, offset: int) -> str:
            file = strings[files[function]] if function >= 0 and number > 0 else ""
            if file:
                return f"\n  {without_controls(base_name(file))}:{number}"
            return f"\n  {object_names[mapping]}[{offset:x}]" if mapping >= 0 else ""

        rows = zip(*(column.tolist() for column in columns), strict=True)
        return chunk_array([text(*row).encode() for row in rows])

    def _has_offsets(self) -> Bools:
        """perf shows no offsets in objects with names from kallsyms or a perf map, because these are not files."""
        locations = self._profile.locations
        has_names = falses(len(self._object_texts))
        has_names[locations.mapping[np.diff(locations.line_offsets) > 0]] = True
        is_table = [name.startswith((*_KERNEL_STARTS, _PERF_MAP_START)) for name in self._object_texts.tolist()]
        has_offsets: Bools = ~(has_names & is_table)
        has_offsets[-1] = False
        return has_offsets

    def _object_offset(self, address: U64) -> U64:
        """Kernels, stacks, heaps, perf maps and unknown objects keep the address itself."""
        mappings, mapping = self._profile.mappings, self._profile.locations.mapping
        not_files = (*_KERNEL_STARTS, _PERF_MAP_START, b" ([stack", b" ([heap")
        is_not_file = [name.startswith(not_files) for name in self._object_texts.tolist()]
        shift = as_uint64(np.append(np.where(is_not_file[:-1], 0, mappings.start - mappings.offset), 0))
        offset: U64 = address - shift[mapping]
        return offset


def _short_object_name(name: str, has_offsets: bool) -> str:
    """Return the name that perf shows if the source line is unknown (dso__load)."""
    if name.startswith(_PERF_MAP_START[2:].decode()) and not has_offsets:
        return f"[JIT] tid {name[len(_PERF_MAP_START) - 2 :].removesuffix('.map')}"
    return base_name(name)


def _object_name(profile: Profile, mapping: int, objects_with_build_id: Container[str]) -> str:
    """perf calls a kernel module ``[name]``, unless the header's table of build ids has its path (map__new)."""
    mappings = profile.mappings
    name = profile.strings[int(mappings.filename[mapping])]
    if name.startswith(("[kernel", "[guest.kernel")):
        return without_controls(name.partition("]")[0] + "]")
    pid = int(mappings.pid[mapping])
    is_anonymous = name.startswith(_ANONYMOUS) or name in ("[heap]", "")
    if is_anonymous and pid >= 0 and not mappings.is_kernel[mapping]:
        return f"/tmp/perf-{pid}.map"
    if mappings.is_kernel[mapping] and ".ko" in name and name not in objects_with_build_id:
        name = f"[{base_name(name).partition('.ko')[0].replace('-', '_')}]"
    return without_controls(name)


def _hex_cells(address: U64) -> AnyArray:
    digits = np.frombuffer(address.astype(">u8").tobytes().hex().encode(), np.uint8).reshape(-1, 16)
    cells = np.empty((len(address), 17), np.uint8)
    cells[:, 0] = ord("\t")
    # leading zeros become blanks
    cells[:, 1:] = np.where(np.logical_and.accumulate(digits == ord("0"), axis=1), ord(" "), digits)
    cells[address == 0, -1] = ord("0")
    return chunk_array(cells.view("S17")[:, 0].tolist())
