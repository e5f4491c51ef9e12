"""GCC's sample profile (AutoFDO): for ``gcc -fauto-profile=FILE``.

Source of truth: read and read_function_instance in gcc/auto-profile.cc, gcov_read_string in gcc/gcov-io.cc. GCC 16
reads only version 3, GCC 12 to 15 version 2. Little-endian words of 32 bits, counts of 64 bits::

    magic, version, 0
    summary (3):  sum, highest count, highest entry count, locations, functions; counts that make up 1 % … 99.9999 %
    names:        (3) files; functions, each (3) with the number of its file
    functions:    how often it was entered, (3) time of the first entry, a body
    modules:      none
    working set:  counts that make up 1/129 … 128/129; GCC ignores it, create_gcov's tools do not

    body: name, locations (line and discriminator, calls, count), inlined functions (line of their call, body)

``(3)`` marks what only version 3 has. `_smallest_counts` finds the counts that make up a share.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from struct import pack
from typing import Annotated, BinaryIO, Literal

from perf2x.base.columnar import StringInterner, StringTableBuilder, sum_of
from perf2x.emitters.autofdo import Autofdo, by_weight
from perf2x.model.format_features import CodeRequest, CodeSettings
from perf2x.model.plugin_options import Needs
from perf2x.model.profile import COUNTS_NOT_STACKS, FunctionCounts, LineLocation, View
from perf2x.model.setting import Setting

_MAGIC = 0x67636461
_SUMMARY, _NAMES, _FUNCTIONS, _MODULES, _WORKING_SET = 0xA8000000, 0xAA000000, 0xAC000000, 0xAE000000, 0xAF000000
_CALL = 7
"""Type of the entry for each called function: HIST_TYPE_INDIR_CALL_TOPN.

create_gcov's tools require this type. GCC ignores the type, and uses the entries of indirect calls only.
"""
_UNKNOWN_FILE = 0xFFFFFFFF
_MILLION = 1_000_000
_CUTOFFS = (10_000, *range(100_000, 900_001, 100_000), 950_000, 990_000, 999_000, 999_900, 999_990, 999_999)
"""Shares of the sum of counts, in millionths; GCC expects exactly these 16."""
_WORKING_SET_ROWS = 128
_FEW = 1000
"""Number of branches, or else samples, below which a note says that the profile is too small."""


class Gcov(Autofdo):
    """GCC's sample profile (AutoFDO) of one program: for gcc -fauto-profile."""

    suffix = ".gcov"

    gcc: Annotated[
        Literal["16", "15", "14", "13", "12"],
        Setting("Version of the GCC that will read the file; it should be the one that compiled the recorded program."),
    ] = "16"

    @property
    def needs(self) -> Needs:
        """Only counts of the program's code are needed."""
        code = CodeRequest(self.object, "external", by_line=True, gcc_version=int(self.gcc))
        return Needs(features=(CodeSettings(code),), honours=frozenset(), why=COUNTS_NOT_STACKS)

    def emit(self, profile: View, out: BinaryIO) -> None:
        """Write functions by descending total, then by name."""
        functions = by_weight(profile)
        # number of locations by count
        frequencies = Counter(
            counts.count for top in functions for _, _, function in top.walk() for counts in function.lines.values()
        )
        total, names = sum(count * locations for count, locations in frequencies.items()), StringTableBuilder()
        is_version_3 = self.gcc == "16"
        # the time of the first entry is unknown: 0
        entry_format = "<QQ" if is_version_3 else "<Q"
        bodies = b"".join(
            pack(entry_format, *(top.entered, 0)[: 1 + is_version_3]) + _body(top, names) for top in functions
        )
        out.write(pack("<III", _MAGIC, 3 if is_version_3 else 2, 0))
        if is_version_3:
            max_entered = max((top.entered for top in functions), default=0)
            # 16 is the number of _CUTOFFS
            sums = total, max(frequencies, default=0), max_entered, frequencies.total(), len(functions), 16
            out.write(pack("<I6Q", _SUMMARY, *sums))
            thresholds = (total * cutoff // _MILLION for cutoff in _CUTOFFS)
            for cutoff, row in zip(_CUTOFFS, _smallest_counts(frequencies, thresholds), strict=True):
                out.write(pack("<IQQ", cutoff, *row))
        out.write(_section(_NAMES, _names_with_files(names, profile) if is_version_3 else _strings(names)))
        out.write(_section(_FUNCTIONS, pack("<I", len(functions)) + bodies))
        out.write(pack("<III", _MODULES, 0, 0))
        thresholds = (total // (_WORKING_SET_ROWS + 1) * (row + 1) for row in range(_WORKING_SET_ROWS))
        rows = (pack("<IQ", locations, count) for count, locations in _smallest_counts(frequencies, thresholds))
        out.write(_section(_WORKING_SET, b"".join(rows)))

    def notes(self, profile: View) -> tuple[str, ...]:
        """Return the object's name, what was counted, and a warning if that is too little."""
        notes, code = Autofdo.notes(self, profile), profile.code
        if code is None or sum_of((code.branches if len(code.branches) else code.samples).count) >= _FEW:
            return notes
        return (*notes, "so few that GCC will treat hot code as cold: record for longer, or at a higher frequency (-F)")


def _body(function: FunctionCounts, names: StringTableBuilder) -> bytes:
    parts = []
    for depth, call_location, instance in function.walk():
        parts.append(pack("<I", _line_word(call_location)) if depth else b"")
        inlined = sum(len(instances) for instances in instance.inlined.values())
        parts.append(pack("<III", names[instance.name], len(instance.lines), inlined))
        for location, counts in sorted(instance.lines.items()):
            parts.append(pack("<IIQ", _line_word(location), len(counts.calls), counts.count))
            parts += (pack("<IQQ", _CALL, names[name], calls) for name, calls in counts.sorted_calls())
    return b"".join(parts)


def _line_word(line_location: LineLocation) -> int:
    """Return line and discriminator packed into one word, as GCC does."""
    return line_location[0] << 16 | line_location[1]


def _names_with_files(names: StringTableBuilder, profile: View) -> bytes:
    """Return the table of files, then the function names, each with the number of its file, if that is known and
    unique.
    """
    files, rows = StringInterner[str](), []
    for name in names:
        files_of_name = profile.code.files.get(name, {""}) if profile.code is not None else {""}
        is_known = len(files_of_name) == 1 and "" not in files_of_name
        rows.append(_string(name) + pack("<I", files[min(files_of_name)] if is_known else _UNKNOWN_FILE))
    return _strings(files) + pack("<I", len(rows)) + b"".join(rows)


def _strings(strings: Iterable[str]) -> bytes:
    rows = [_string(string) for string in strings]
    return pack("<I", len(rows)) + b"".join(rows)


def _string(string: str) -> bytes:
    octets = string.encode(errors="surrogateescape") + b"\0"
    return pack("<I", len(octets)) + octets


def _section(tag: int, data: bytes) -> bytes:
    return pack("<II", tag, -(-len(data) // 4)) + data


def _smallest_counts(frequencies: Counter[int], thresholds: Iterable[int]) -> Iterator[tuple[int, int]]:
    """For each threshold, add up counts from the highest until they reach it; yield the last count added.

    With it comes the number of locations that were added up. Thresholds are ascending.
    """
    descending = iter(sorted(frequencies.items(), reverse=True))
    count = locations = total = 0
    for threshold in thresholds:
        while total < threshold:
            count, location_count = next(descending)  # a count, and the number of locations that have it
            locations, total = locations + location_count, total + count * location_count
        yield count, locations
