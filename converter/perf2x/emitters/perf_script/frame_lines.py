"""Frames as ``perf script`` prints them: ``7f11db9fcc98 handle_amd+0x18 (/usr/lib/ld.so)``.

Source of truth: tools/perf/util/evsel_fprintf.c sample__fprintf_callchain and sample__fprintf_sym, util/map.c.
"""

from itertools import pairwise

import numpy as np

from perf2x.base.abi.uapi import CpuMode
from perf2x.base.columnar.arrays import U64, AnyArray
from perf2x.base.columnar.unique import unique_inverse
from perf2x.emitters.encoding.text_chunks import chunk_array
from perf2x.model.printable_text import base_name, printable
from perf2x.model.profile.profile import Profile
from perf2x.model.profile.recorded_samples import SampleReader
from perf2x.model.profile.stack_tree import depths, paths_of_length

PLACE = frozenset({"ip", "sym", "symoff", "dso", "dsoff", "srcline"})
"""Fields that are said of each frame."""
_ANONYMOUS = ("//anon", "/anon_hugepage", "/SYSV")


class FrameLines:
    """Texts of a profile's locations and stacks; those of locations are made once."""

    def __init__(self, profile: Profile, reader: SampleReader) -> None:
        self._profile, self._starts = profile, reader.symbol_start
        self._depth = np.append(depths(profile.stacks.parent) + 1, 0)
        self._objects = [_object_name(profile, row) for row in range(len(profile.mappings))]
        self._texts: dict[tuple[frozenset[str], bool], AnyArray] = {}

    def chains(self, stack: AnyArray, fields: frozenset[str], *, unwound: bool) -> AnyArray:
        """(n,) text of each stack: a line end, and a line for each frame, innermost first.

        ``unwound``: callers were found from a copied stack; perf prints their calls, one byte before the return
        address (tools/perf/util/unwind-libdw.c).
        """
        texts, stacks = self._texts_of(fields, unwound=unwound), self._profile.stacks
        rows, place = unique_inverse(stack)
        path = paths_of_length(stacks.parent, rows.astype(np.int64), self._depth[rows])
        frames = texts[stacks.location[path.values]].tolist()
        lines = [b"\n" + b"".join(frames[start:end]) for start, end in pairwise(path.offsets.tolist())]
        return chunk_array(lines)[place]

    def leaves(self, stack: AnyArray, fields: frozenset[str]) -> AnyArray:
        """(n,) text of the innermost frame of each stack, behind a blank."""
        texts = self._texts_of(fields, unwound=False)
        rows, place = unique_inverse(stack)
        location = self._profile.stacks.location
        lines = [b" " + texts[location[row]][1:-1] if row >= 0 else b"" for row in rows.tolist()]
        return chunk_array(lines)[place]

    def _texts_of(self, fields: frozenset[str], *, unwound: bool) -> AnyArray:
        key = fields & PLACE, unwound
        if key not in self._texts:
            locations = self._profile.locations
            called = unwound & (locations.mode == CpuMode.USER)
            self._texts[key] = self._made(np.where(called, locations.lookup, locations.address), key[0])
        return self._texts[key]

    def _made(self, address: U64, shown: frozenset[str]) -> AnyArray:
        """(locations,) lines, each with a tab in front; nothing for frames that are made up."""
        rows = zip(address.tolist(), self._profile.locations.synthetic.tolist(), strict=True)
        return chunk_array(
            b"" if is_made_up else f"\t{self._line(row, at, shown)}\n".encode()
            for row, (at, is_made_up) in enumerate(rows)
        )

    def _line(self, row: int, address: int, shown: frozenset[str]) -> str:
        symbol, line = self._symbol(row)
        mapping = int(self._profile.locations.mapping[row])
        text = f"{address:16x}" if "ip" in shown else ""
        if "sym" in shown:
            start = int(self._starts[row])
            text += f" {symbol or '[unknown]'}"
            text += f"+{address - start:#x}" if "symoff" in shown and symbol and start else ""
        if shown & {"dso", "dsoff"}:
            offset = f"+{self._offset(mapping, address):#x}" if "dsoff" in shown and mapping >= 0 else ""
            text += f" ({self._objects[mapping] if mapping >= 0 else '[unknown]'}{offset})"
        return f"{text}\n  {line}" if "srcline" in shown and line else text

    def _offset(self, mapping: int, address: int) -> int:
        """Offset in the file that is mapped; the kernel itself is one place in all files."""
        mappings = self._profile.mappings
        if self._objects[mapping].startswith(("[kernel", "[guest.kernel")):
            return address
        return (address - int(mappings.start[mapping]) + int(mappings.offset[mapping])) % 2**64

    def _symbol(self, row: int) -> tuple[str, str]:
        """Name of the outermost function in full, and ``file:line``."""
        profile, locations = self._profile, self._profile.locations
        end = int(locations.line_offsets[row + 1])
        if end == int(locations.line_offsets[row]):
            return "", ""
        functions, strings = profile.functions, profile.strings
        function, number = int(locations.line_function[end - 1]), int(locations.line_number[end - 1])
        system, file = strings[int(functions.system_name[function])], strings[int(functions.filename[function])]
        name = profile.full_names.get(system) or strings[int(functions.name[function])]
        return printable(name), f"{printable(base_name(file))}:{number}" if file and number else ""


def _object_name(profile: Profile, mapping: int) -> str:
    """Name that perf gives the object of a mapping (map__new, dso__name)."""
    mappings = profile.mappings
    name = profile.strings[int(mappings.filename[mapping])]
    if name.startswith(("[kernel", "[guest.kernel")):
        return printable(name.partition("]")[0] + "]")
    if not mappings.is_kernel[mapping] and (name.startswith(_ANONYMOUS) or name in ("[heap]", "")):
        return f"/tmp/perf-{int(mappings.pid[mapping])}.map"
    return printable(name)
