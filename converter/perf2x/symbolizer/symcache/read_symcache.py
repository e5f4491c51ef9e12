"""Read symbolic's symcaches as columns: a batch of addresses costs a few numpy calls, not a library call for each.

A file consists of a header and five tables of 32-bit words, each aligned to 8 bytes::

    header  files (6 words)  functions (4)  locations (4)  ranges (1)  strings
            compile dir      name           file           start       length as LEB128, bytes
            directory        -              line
            name             entry          function
            -  -  -          language       caller's location if inlined

The last locations belong to the ranges one by one; a range ends where the next one starts.
Source of truth: symbolic-symcache/src/v9/raw.rs and lookup.rs of symbolic 13. Files of other versions are left to the
library (symcache/build_symcache.py). Numbers that point outside their table count as absent.
"""

import posixpath

import numpy as np
from msgspec import Struct

from perf2x.base.columnar.arrays import I64, U8, U32, U64, AnyArray, searchsorted
from perf2x.base.columnar.ragged import offsets_of
from perf2x.base.columnar.unique import unique_inverse
from perf2x.base.errors import ObjectError
from perf2x.symbolizer.source_locations import DebugFunction, SourceLocations
from perf2x.symbolizer.symcache.first_lines import NOTHING, first_lines

VERSION = 9
MAX_INLINE_DEPTH = 256
"""Deeper nesting of inlined functions than compilers produce; a damaged file may contain a cycle."""
_HEADER_WORDS = 20
_CXX = 2
"""symbolic's number of the language."""


class Symcache(Struct, frozen=True):
    """Tables of one file; addresses are relative to the object's lowest one."""

    files: U32
    """(files, 6)"""
    functions: U32
    """(functions, 4)"""
    locations: U32
    """(locations, 4)"""
    ranges: U32
    """(ranges,) start addresses, ascending."""
    strings: memoryview

    def find(self, address: U64) -> SourceLocations:
        """Functions and lines at each address, innermost inlined function first."""
        levels = self._chains(self._location(address))
        count = np.zeros(len(address), np.int64)
        for level in levels:
            count += level >= 0
        offsets = offsets_of(count)
        rows = np.zeros(int(offsets[-1]), np.int64)
        for depth, level in enumerate(levels):
            rows[offsets[:-1][level >= 0] + depth] = level[level >= 0]
        line = self.locations[rows, 1].astype(np.int64)
        function, functions = self._functions(rows)
        return SourceLocations(offsets, function, np.where(line == NOTHING, 0, line), functions)

    def _location(self, address: U64) -> I64:
        """(n,) innermost location of each address, −1 for none."""
        row = searchsorted(self.ranges, address, "right") - 1
        location = row + len(self.locations) - len(self.ranges)
        usable = (row >= 0) & (address < np.uint64(NOTHING))
        usable[usable] = (self.locations[location[usable]] != NOTHING).any(1)
        return np.where(usable, location, -1)

    def _chains(self, location: I64) -> list[I64]:
        """[(n,)] locations by depth, −1 if an address has no more."""
        levels: list[I64] = []
        while (location >= 0).any() and len(levels) < MAX_INLINE_DEPTH:
            levels.append(location)
            caller = self.locations[np.maximum(location, 0), 3].astype(np.int64)
            location = np.where((location >= 0) & (caller < len(self.locations)), caller, -1)
        return levels

    def _functions(self, rows: I64) -> tuple[I64, list[DebugFunction]]:
        """(index of each row, distinct pairs of function and file)."""
        pair = self.locations[rows, 2].astype(np.uint64) << np.uint64(32) | self.locations[rows, 0]
        pairs, which = unique_inverse(pair)
        function, file = pairs >> np.uint64(32), pairs & np.uint64(NOTHING)
        name = self._name_offsets(function)
        start = first_lines((self.files, self.functions, self.locations), name, file)
        paths = {one: self._path(one) for one in set(file.tolist())}
        bare = np.append(self.functions[:, 3] == _CXX, False)[
            np.minimum(function, len(self.functions)).astype(np.int64)
        ]
        columns = zip(self._names(name), file.tolist(), start.tolist(), bare.tolist(), strict=True)
        functions = [
            DebugFunction(name, paths[where], line, "", is_cxx and not name.startswith("_Z"))
            for name, where, line, is_cxx in columns
        ]
        return which, functions

    def _name_offsets(self, function: AnyArray) -> U64:
        """(n,) where the names of functions begin, by the functions' numbers."""
        offset = np.full(len(function), NOTHING, np.uint64)
        known = function < len(self.functions)
        offset[known] = self.functions[function[known], 0]
        return offset

    def _names(self, offset: U64) -> list[str]:
        """(n,) names at these offsets; each is read once."""
        distinct, which = unique_inverse(offset)
        names = [self._string(at) for at in distinct.tolist()]
        return [names[i] for i in which.tolist()]

    def _path(self, file: int) -> str:
        if file >= len(self.files):
            return ""
        folder, directory, name = (self._string(word) for word in self.files[file, :3].tolist())
        if directory == folder:  # directory 0 of a line table of DWARF 5 is the compile directory, often a relative one
            directory = ""
        return posixpath.normpath(posixpath.join(folder, directory, name)) if folder or directory or name else ""

    def _string(self, at: int) -> str:
        length, shift = 0, 0
        while at < len(self.strings) and shift < 35:
            byte = self.strings[at]
            length, shift, at = length | (byte & 0x7F) << shift, shift + 7, at + 1
            if byte < 0x80:
                return str(self.strings[at : at + length], errors="replace")
        return ""


def read_symcache(data: U8) -> Symcache | None:
    """Read the tables of a symcache file as views into ``data``; None if the file has another version.

    ObjectError if the tables do not fit the file.
    """
    if len(data) < 8 or data[:4].tobytes() != b"SYMC":
        raise ObjectError("not a symcache file")
    if int(data[4:8].view("<u4")[0]) != VERSION:
        return None
    if len(data) < 4 * _HEADER_WORDS:
        raise ObjectError("symcache file: its header is cut off")
    counts = data[44:64].view("<u4").astype(np.int64)
    at = 4 * _HEADER_WORDS
    tables = []
    for count, words in zip(counts[:4].tolist(), (6, 4, 4, 1), strict=True):
        at = -(-at // 8) * 8
        if at + 4 * words * count > len(data):
            raise ObjectError("symcache file: its tables are cut off")
        tables.append(data[at : at + 4 * words * count].view("<u4").reshape(count, words))
        at += 4 * words * count
    at = -(-at // 8) * 8
    files, functions, locations, starts = tables
    if len(starts) > len(locations) or at + counts[4] > len(data):
        raise ObjectError("symcache file: its tables are cut off")
    return Symcache(files, functions, locations, starts.reshape(-1), data[at : at + int(counts[4])].data)
