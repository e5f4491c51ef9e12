"""Frames as ``perf script`` prints them: ``7f11db9fcc98 handle_amd+0x18 (/usr/lib/ld.so)``.

Source of truth: tools/perf/util/evsel_fprintf.c sample__fprintf_callchain and sample__fprintf_sym, util/map.c.
"""

from collections.abc import Container
from itertools import pairwise

import numpy as np

from perf2x.base.abi import CpuMode
from perf2x.base.columnar import U64, AnyArray, Bools, as_int64, as_uint64, falses, unique_inverse
from perf2x.emitters.encoding.decimal_text import chunk_array, joined_chunks, shared_texts
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

_PLACE = frozenset({"ip", "sym", "symoff", "dso", "dsoff", "srcline"})
"""Fields that describe a frame."""
_UNKNOWN = b" [unknown]"
_KERNELS = (b" ([kernel", b" ([guest.kernel")
_MAP = b" (/tmp/perf-"
_ANONYMOUS = ("//anon", "/anon_hugepage", "/SYSV", "/dev/zero")


class PlaceText:
    """Formats addresses that are not part of a stack."""

    def __init__(self, places: NamedPlaces, reader: SampleReader) -> None:
        self.locate = places.locate
        self.texts = FrameTexts(places.profile, places.symbol_start, reader.session.build_ids).places


class FrameTexts:
    """Formats a profile's locations and stacks; each location is formatted once."""

    def __init__(self, profile: Profile, symbol_start: U64, listed: Container[str]) -> None:
        """``symbol_start`` (locations,) is SampleReader's.

        ``listed`` are the objects in the header's build id table.
        """
        self._profile, self._starts = profile, symbol_start
        self._depth = np.append(depths(profile.stacks.parent) + 1, 0)
        names = (*(_object_name(profile, row, listed) for row in range(len(profile.mappings))), "[unknown]")
        self._objects = chunk_array([f" ({name}".encode() for name in names])
        self._texts: dict[tuple[frozenset[str], bool], AnyArray] = {}
        self._named: dict[frozenset[str], AnyArray] = {}

    def chains(self, stack: AnyArray, fields: frozenset[str], *, unwound: bool) -> AnyArray:
        """Return (n,) the text of each stack: a newline, then a line for each frame, innermost first.

        ``unwound``: callers were unwound from a stack dump; perf prints the address of their call, one byte before the
        return address (tools/perf/util/unwind-libdw.c).
        """
        texts, stacks = self._lines(fields, unwound=unwound), self._profile.stacks
        rows, place = unique_inverse(stack)
        path = paths_of_length(stacks.parent, as_int64(rows), self._depth[rows])
        frames = texts[stacks.location[path.values]].tolist()
        lines = [b"\n" + b"".join(frames[start:end]) for start, end in pairwise(path.offsets.tolist())]
        return chunk_array(lines)[place]

    def leaves(self, stack: AnyArray, fields: frozenset[str]) -> AnyArray:
        """Return (n,) the text of each stack's innermost frame, after a blank."""
        texts = self._lines(fields, unwound=False)
        rows, place = unique_inverse(stack)
        location = self._profile.stacks.location
        lines = [b" " + texts[location[row]][1:-1] if row >= 0 else b"" for row in rows.tolist()]
        return chunk_array(lines)[place]

    def places(self, location: AnyArray, fields: frozenset[str]) -> AnyArray:
        """Return (n,) name and object of each location, each after a blank; −1 for none."""
        if fields not in self._named:
            texts = self._places(self._profile.locations.address, fields)
            unknown = _UNKNOWN * ("sym" in fields) + b" ([unknown])" * bool(fields & {"dso", "dsoff"})
            self._named[fields] = np.append(texts, chunk_array([unknown]))
        return self._named[fields][location]

    def _lines(self, fields: frozenset[str], *, unwound: bool) -> AnyArray:
        """Return (locations,) lines, each after a tab; nothing for synthetic frames."""
        key = fields & _PLACE, unwound
        if key not in self._texts:
            locations = self._profile.locations
            called = unwound & (locations.mode == CpuMode.USER)
            address = np.where(called, locations.lookup, locations.address)
            cells = _hex_cells(address) if "ip" in fields else chunk_array([b"\t"] * len(address))
            lines = cells + self._places(address, key[0], b"\n")
            self._texts[key] = np.where(locations.synthetic, b"", lines)
        return self._texts[key]

    def _places(self, address: U64, shown: frozenset[str], end: bytes = b"") -> AnyArray:
        """Return (locations,) the text after an address, followed by ``end``."""
        locations, columns = self._profile.locations, list[AnyArray | bytes]()
        if "sym" in shown:
            name, has_symbol = self._names(), self._starts != 0
            columns.append(name)
            if "symoff" in shown:
                has_symbol &= name != _UNKNOWN
                columns.append(
                    np.where(
                        has_symbol, shared_texts(np.where(has_symbol, address - self._starts, 0), "+{:#x}".format), b""
                    )
                )
        if shown & {"dso", "dsoff"}:
            columns.append(self._objects[locations.mapping])
            if "dsoff" in shown:
                offsets = shared_texts(self._offset(address), "+{:#x}".format)
                columns.append(np.where(self._is_file()[locations.mapping], offsets, b""))
            columns.append(b")")
        if "srcline" in shown:
            columns.append(self._source_lines(address))
        columns.append(chunk_array([end] * len(address)))
        return joined_chunks(*columns)

    def _names(self) -> AnyArray:
        """Return (locations,) a blank and the full name of the outermost function."""
        functions, strings, full = self._profile.functions, self._profile.strings, self._profile.full_names
        rows = zip(functions.system_name.tolist(), functions.name.tolist(), strict=True)
        names = [f" {without_controls(full.get(strings[system]) or strings[name])}".encode() for system, name in rows]
        return chunk_array([*(name if name != b" " else _UNKNOWN for name in names), _UNKNOWN])[
            outermost_functions(self._profile.locations)
        ]

    def _source_lines(self, address: U64) -> AnyArray:
        """Return (locations,) ``file:line``, or else the object and offset, each on a line of its own.

        They are those of the innermost inlined function, to which the instruction belongs.
        """
        files, strings = self._profile.functions.filename.tolist(), self._profile.strings
        locations = self._profile.locations
        line = np.where(np.diff(locations.line_offsets) > 0, locations.line_offsets[:-1], -1)
        number = np.append(locations.line_number, -1)[line]
        columns = functions_of(locations, line), number, locations.mapping, self._offset(address)
        is_file = self._is_file().tolist()
        short = [_short_name(name[2:].decode(), is_file[row]) for row, name in enumerate(self._objects.tolist())]

        def text(function: int, number: int, mapping: int, offset: int) -> str:
            file = strings[files[function]] if function >= 0 and number > 0 else ""
            if file:
                return f"\n  {without_controls(base_name(file))}:{number}"
            return f"\n  {short[mapping]}[{offset:x}]" if mapping >= 0 else ""

        rows = zip(*(column.tolist() for column in columns), strict=True)
        return chunk_array([text(*row).encode() for row in rows])

    def _is_file(self) -> Bools:
        """Return (mappings + 1,) whether offsets are shown: not if kallsyms or a perf map gave the names."""
        locations = self._profile.locations
        named = falses(len(self._objects))
        named[locations.mapping[np.diff(locations.line_offsets) > 0]] = True
        tables = [name.startswith((*_KERNELS, _MAP)) for name in self._objects.tolist()]
        found: Bools = ~(named & tables)
        found[-1] = False
        return found

    def _offset(self, address: U64) -> U64:
        """Return (locations,) the offset in the mapped file.

        For kernels, stacks and JIT-compiled code it is the address itself.
        """
        mappings, mapping = self._profile.mappings, self._profile.locations.mapping
        is_kernel = [name.startswith((*_KERNELS, _MAP, b" ([stack", b" ([heap")) for name in self._objects.tolist()]
        shift = as_uint64(np.append(np.where(is_kernel[:-1], 0, mappings.start - mappings.offset), 0))
        offset: U64 = address - shift[mapping]
        return offset


def _short_name(name: str, is_file: bool) -> str:
    """Return an object's name for an unknown source line; that of a perf map is its thread's (dso__load)."""
    if name.startswith(_MAP[2:].decode()) and not is_file:
        return f"[JIT] tid {name[len(_MAP) - 2 :].removesuffix('.map')}"
    return base_name(name)


def _object_name(profile: Profile, mapping: int, listed: Container[str]) -> str:
    """Return perf's name for the object of a mapping (map__new, dso__name)."""
    mappings = profile.mappings
    name = profile.strings[int(mappings.filename[mapping])]
    if name.startswith(("[kernel", "[guest.kernel")):
        return without_controls(name.partition("]")[0] + "]")
    pid = int(mappings.pid[mapping])
    is_anonymous = name.startswith(_ANONYMOUS) or name in ("[heap]", "")
    if is_anonymous and pid >= 0 and not mappings.is_kernel[mapping]:
        return f"/tmp/perf-{pid}.map"
    if mappings.is_kernel[mapping] and ".ko" in name and name not in listed:  # dso__name: the name in the table
        name = f"[{base_name(name).partition('.ko')[0].replace('-', '_')}]"
    return without_controls(name)


def _hex_cells(address: U64) -> AnyArray:
    """Return (n,) a tab and the address, right-aligned in 16 columns."""
    digits = np.frombuffer(address.astype(">u8").tobytes().hex().encode(), np.uint8).reshape(-1, 16)
    cells = np.empty((len(address), 17), np.uint8)
    cells[:, 0] = ord("\t")
    cells[:, 1:] = np.where(np.logical_and.accumulate(digits == ord("0"), axis=1), ord(" "), digits)
    cells[address == 0, -1] = ord("0")
    return chunk_array(cells.view("S17")[:, 0].tolist())
