"""GCC's sample profile (AutoFDO): for ``gcc -fauto-profile=FILE``.

Source of truth: read and read_function_instance in gcc/auto-profile.cc, gcov_read_string in gcc/gcov-io.cc. GCC 16
reads only version 3, GCC 12 to 15 version 2. Little-endian words of 32 bits, counts of 64 bits::

    magic, version, 0
    summary (3):  sum, highest count, highest entry count, locations, functions; counts that make up 1 % … 99.9999 %
    names:        (3) files; functions, each (3) with the number of its file
    functions:    entries, (3) time of the first, a body
    modules:      none
    working set:  counts that make up 1/129 … 128/129; GCC ignores it, create_gcov's tools do not

    body: name, locations (line and discriminator, calls, count), inlined functions (line of their call, body)
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from struct import pack
from typing import Annotated, BinaryIO, Literal

from perf2x.base.columnar import StringInterner, TextInterner, sum_of
from perf2x.emitters.autofdo import Autofdo, by_weight
from perf2x.model.format_features import CodeRequest, CodeSettings
from perf2x.model.plugin_options import Needs
from perf2x.model.profile import COUNTS_CODE, FunctionCounts, LineLocation, View
from perf2x.model.setting import Setting

_MAGIC = 0x67636461
_SUMMARY, _NAMES, _FUNCTIONS, _MODULES, _WORKING_SET = 0xA8000000, 0xAA000000, 0xAC000000, 0xAE000000, 0xAF000000
_CALL = 7
"""HIST_TYPE_INDIR_CALL_TOPN, which create_gcov's tools require; GCC ignores it, and direct calls."""
_UNKNOWN_FILE = 0xFFFFFFFF
_MILLION = 1_000_000
_CUTOFFS = (10_000, *range(100_000, 900_001, 100_000), 950_000, 990_000, 999_000, 999_900, 999_990, 999_999)
"""In millionths; GCC expects exactly these 16."""
_BUCKETS = 128
_FEW = 1000


class Gcov(Autofdo):
    """GCC's sample profile (AutoFDO) of one program: for gcc -fauto-profile."""

    suffix = ".gcov"

    gcc: Annotated[
        Literal["16", "15", "14", "13", "12"],
        Setting("Version of the GCC that will read the file; it should be the one that compiled the recorded program."),
    ] = "16"

    @property
    def needs(self) -> Needs:
        """Only counts of code are needed."""
        code = CodeRequest(self.object, "external", lines=True, gcc=int(self.gcc))
        return Needs(features=(CodeSettings(code),), honours=frozenset(), why=COUNTS_CODE)

    def emit(self, profile: View, out: BinaryIO) -> None:
        """Write functions by descending total, then by name."""
        functions = by_weight(profile)
        places = Counter(count.count for top in functions for _, _, each in top.tree() for count in each.lines.values())
        total, names = sum(count * often for count, often in places.items()), StringInterner()
        stated = self.gcc == "16"
        entered = "<QQ" if stated else "<Q"
        bodies = b"".join(pack(entered, *(top.entered, 0)[: 1 + stated]) + _body(top, names) for top in functions)
        out.write(pack("<III", _MAGIC, 3 if stated else 2, 0))
        if stated:
            most = max((top.entered for top in functions), default=0)
            out.write(pack("<I6Q", _SUMMARY, total, max(places, default=0), most, places.total(), len(functions), 16))
            thresholds = (total * cutoff // _MILLION for cutoff in _CUTOFFS)
            for cutoff, share in zip(_CUTOFFS, _shares(places, thresholds), strict=True):
                out.write(pack("<IQQ", cutoff, *share))
        out.write(_section(_NAMES, _names(names, profile) if stated else _texts(names)))
        out.write(_section(_FUNCTIONS, pack("<I", len(functions)) + bodies))
        out.write(pack("<III", _MODULES, 0, 0))
        shares = _shares(places, (total // (_BUCKETS + 1) * (each + 1) for each in range(_BUCKETS)))
        out.write(_section(_WORKING_SET, b"".join(pack("<IQ", number, least) for least, number in shares)))

    def notes(self, profile: View) -> tuple[str, ...]:
        """Return the object's name, what was counted, and whether it is too little."""
        notes, code = Autofdo.notes(self, profile), profile.code
        if code is None or sum_of((code.branches if len(code.branches) else code.samples).count) >= _FEW:
            return notes
        return (*notes, "so few that GCC will treat hot code as cold: record for longer, or at a higher frequency (-F)")


def _body(function: FunctionCounts, names: StringInterner) -> bytes:
    parts = []
    for depth, place, each in function.tree():
        parts.append(pack("<I", _offset(place)) if depth else b"")
        inlined = sum(len(instances) for instances in each.inlined.values())
        parts.append(pack("<III", names[each.name], len(each.lines), inlined))
        for at, line in sorted(each.lines.items()):
            parts.append(pack("<IIQ", _offset(at), len(line.calls), line.count))
            parts += (pack("<IQQ", _CALL, names[name], calls) for name, calls in line.sorted_calls())
    return b"".join(parts)


def _offset(place: LineLocation) -> int:
    return place[0] << 16 | place[1]


def _names(names: StringInterner, profile: View) -> bytes:
    """Return the files, and function names with file numbers.

    There are no files if functions of one name are in several files.
    """
    files, rows = TextInterner[str](), []
    for name in names:
        in_files = profile.code.files.get(name, {""}) if profile.code is not None else {""}
        number = files[min(in_files)] if len(in_files) == 1 and "" not in in_files else _UNKNOWN_FILE
        rows.append(_text(name) + pack("<I", number))
    return _texts(files) + pack("<I", len(rows)) + b"".join(rows)


def _texts(texts: Iterable[str]) -> bytes:
    rows = [_text(text) for text in texts]
    return pack("<I", len(rows)) + b"".join(rows)


def _text(text: str) -> bytes:
    raw = text.encode(errors="surrogateescape") + b"\0"
    return pack("<I", len(raw)) + raw


def _section(tag: int, data: bytes) -> bytes:
    return pack("<II", tag, -(-len(data) // 4)) + data


def _shares(places: Counter[int], thresholds: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield, for ascending sums, the smallest of the highest counts that reach each sum, and their number."""
    falling = iter(sorted(places.items(), reverse=True))
    least = number = reached = 0
    for each in thresholds:
        while reached < each:
            least, often = next(falling)
            number, reached = number + often, reached + least * often
        yield least, number
