"""An independent reader of GCC's sample profiles (gcc -fauto-profile), which takes nothing that GCC would not."""

from dataclasses import dataclass, field
from struct import calcsize, unpack_from

from perf2x.model.profile.code_counts import FunctionCounts

UNKNOWN = 0xFFFFFFFF


@dataclass
class GcovFile:
    version: int
    summary: tuple[int, ...] = ()
    """Sum, highest count, most entries, places, functions."""
    shares: list[tuple[int, int, int]] = field(default_factory=list)
    """(millionths of the sum, the least count that makes them up, places with at least that)"""
    files: dict[str, str] = field(default_factory=dict)
    functions: dict[str, FunctionCounts] = field(default_factory=dict)
    working_set: list[tuple[int, int]] = field(default_factory=list)


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, layout: str) -> tuple[int, ...]:
        fields = unpack_from("<" + layout, self.data, self.at)
        self.at += calcsize("<" + layout)
        return fields

    def word(self) -> int:
        return self.take("I")[0]

    def text(self) -> str:
        size = self.word()
        assert size > 0, "a text of no bytes crashes GCC"
        raw = self.data[self.at : self.at + size]
        self.at += size
        assert raw.endswith(b"\0")
        assert raw.count(b"\0") == 1
        return raw[:-1].decode(errors="surrogateescape")

    def section(self, tag: int) -> int:
        """Read a section's start; return where its words end."""
        assert self.word() == tag
        size = self.word()
        return self.at + 4 * size

    def body(self, names: list[str], entered: int) -> FunctionCounts:
        name, places, inlined = self.take("III")
        assert name, "name 0 is the empty one"
        function = FunctionCounts(names[name], entered=entered)
        for _ in range(places):
            at, calls, count = self.take("IIQ")
            assert (at >> 16, at & 0xFFFF) not in function.lines
            line = function.line((at >> 16, at & 0xFFFF))
            line.count = count
            for _ in range(calls):
                kind, callee, often = self.take("IQQ")
                assert (kind, callee > 0) == (7, True)
                line.calls[names[callee]] = often
        for _ in range(inlined):
            at = self.word()
            callee = self.body(names, 0)
            known = function.inlined.setdefault((at >> 16, at & 0xFFFF), {})
            assert callee.name not in known
            known[callee.name] = callee
        return function


def read_gcov(data: bytes) -> GcovFile:
    """Read a whole file; AssertionError where GCC 12 to 16 or create_gcov's tools would refuse it, or crash."""
    reader = _Reader(data)
    assert reader.word() == 0x67636461
    found = GcovFile(reader.word())
    assert found.version in (2, 3)
    assert reader.word() == 0
    if found.version == 3:
        assert reader.word() == 0xA8000000
        *summary, shares = reader.take("6Q")
        found.summary = tuple(summary)
        assert shares == 16, "GCC 16 has room for just these"
        found.shares = [reader.take("IQQ") for _ in range(shares)]  # type: ignore[misc]
    end = reader.section(0xAA000000)
    files = [reader.text() for _ in range(reader.word())] if found.version == 3 else []
    names = []
    for _ in range(reader.word()):
        names.append(reader.text())
        number = reader.word() if found.version == 3 else UNKNOWN
        found.files[names[-1]] = "" if number == UNKNOWN else files[number]
    assert names[0] == ""
    assert len(set(names)) == len(names)
    assert 0 <= end - reader.at < 4
    end = reader.section(0xAC000000)
    for _ in range(reader.word()):
        entered = reader.take("QQ" if found.version == 3 else "Q")[0]
        function = reader.body(names, entered)
        assert function.name not in found.functions, "GCC 16 dies of duplicates"
        found.functions[function.name] = function
    assert 0 <= end - reader.at < 4
    assert reader.take("III") == (0xAE000000, 0, 0), "GCC asserts that there are no modules"
    end = reader.section(0xAF000000)
    found.working_set = [reader.take("IQ") for _ in range(128)]  # type: ignore[misc]
    assert end == reader.at == len(data)
    return found
