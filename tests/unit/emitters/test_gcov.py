"""GCC's sample profile: bytes, what a reader finds in them, and what is said."""

import io
from struct import pack

import pytest
from msgspec.structs import replace

from perf2x.emitters.autofdo import Autofdo
from perf2x.emitters.gcov import Gcov
from perf2x.errors import OptionError
from perf2x.model.format_features import CodeRequest, CodeSettings
from perf2x.model.profile.code_counts import AddressCounts, CodeCounts, FunctionCounts, LineCount, merge_code_counts
from perf2x.model.profile.profile import Profile
from perf2x.testing import EmitterContract, ProfileBuilder
from tests.support.gcov_files import GcovFile, read_gcov
from tests.unit.emitters.test_autofdo import counted, functions, profile

VERSIONS = {"12": 2, "15": 2, "16": 3}


def written(counts: CodeCounts, gcc: str = "16") -> bytes:
    out = io.BytesIO()
    Gcov(gcc=gcc).emit(profile(counts), out)
    return out.getvalue()


def read(counts: CodeCounts, gcc: str = "16") -> GcovFile:
    return read_gcov(written(counts, gcc))


@pytest.mark.parametrize("gcc", VERSIONS)
def test_a_reader_finds_what_was_counted(gcc: str) -> None:
    found = read(counted(), gcc)
    assert found.version == VERSIONS[gcc]
    assert list(found.functions) == ["run", "even", "odd"], "the hottest come first"
    expected = {each.name: each for each in functions()}
    for each in expected.values():
        for _, _, function in each.walk():
            function.total = 0  # which GCC adds up itself
    assert found.functions == expected


def test_bytes_of_version_2() -> None:
    """A function with one place, one call, and one inlined function."""
    run = FunctionCounts("run", 9, 3, {(2, 1): LineCount(9, {"odd": 5})})
    run.instance((4, 0), "mix").line((65535, 0)).count = 4
    expected = pack("<3I", 0x67636461, 2, 0)
    expected += pack("<2I", 0xAA000000, 9) + pack("<I", 4)
    expected += b"".join(pack("<I", len(name) + 1) + name + b"\0" for name in (b"", b"run", b"odd", b"mix"))
    expected += pack("<2I", 0xAC000000, 23) + pack("<IQ", 1, 3)
    expected += pack("<3I", 1, 1, 1) + pack("<2IQ", 2 << 16 | 1, 1, 9) + pack("<IQQ", 7, 2, 5)
    expected += pack("<I", 4 << 16) + pack("<3I", 3, 1, 0) + pack("<2IQ", 65535 << 16, 0, 4)
    expected += pack("<3I", 0xAE000000, 0, 0) + pack("<2I", 0xAF000000, 384)
    data = written(replace(counted(), functions=(run,)), "14")
    assert data[: len(expected)] == expected
    assert len(data) == len(expected) + 128 * 12


def test_the_summary_is_what_the_counts_add_up_to() -> None:
    found = read(counted())
    counts = [line.count for top in functions() for _, _, each in top.walk() for line in each.lines.values()]
    assert found.summary == (sum(counts), max(counts), 5, len(counts), 3)
    cutoffs = [cutoff for cutoff, _, _ in found.shares]
    assert (cutoffs[0], cutoffs[-1], sorted(cutoffs)) == (10_000, 999_999, cutoffs)
    for cutoff, least, number in found.shares[1:]:  # 1 % of so few is nothing
        wanted = sum(counts) * cutoff // 1_000_000
        above = [count for count in counts if count >= least]
        assert len(above) == number
        assert sum(above) >= wanted > sum(above) - least * above.count(least)
    assert found.working_set[31] == (0, 0), "32 counts do not fill 129 buckets"
    many = FunctionCounts("run", lines={(line, 0): LineCount(100 * line) for line in range(1, 50)})
    last = read(replace(counted(), functions=(many,))).working_set[-1]
    assert last == (45, 500), "128/129 of 122,500 are 121,472"


def test_a_profile_of_nothing_can_be_read() -> None:
    found = read(replace(counted(), functions=()))
    assert (found.functions, found.summary) == ({}, (0, 0, 0, 0, 0))


def test_files_tell_functions_apart_where_they_are_known() -> None:
    files = {"run": {"a.c"}, "mix": {"b.h"}, "even": {"a.c", "b.c"}, "odd": {""}}
    found = read(replace(counted(), files=files))
    assert found.files == {
        "": "", "run": "a.c", "mix": "b.h", "even": "", "odd": "", "zero": "", "clamp": "", "never": "",
    }  # fmt: skip


def test_files_of_two_recordings_are_those_of_both() -> None:
    parts = [replace(counted(), files=files) for files in ({"run": {"a.c"}, "odd": {"a.c"}}, {"run": {"b.c"}})]
    assert merge_code_counts(parts).files == {"run": {"a.c", "b.c"}, "odd": {"a.c"}}


def test_undecodable_names_are_bytes() -> None:
    assert b"\x04\0\0\0a\xff \0" in written(replace(counted(), functions=(FunctionCounts("a\udcff ", 1, 1),)))


@pytest.mark.parametrize("emitter", [Autofdo(), Gcov()])
def test_any_depth_of_inlined_functions_is_written_and_added_up(emitter: Autofdo) -> None:
    tops = FunctionCounts("top"), FunctionCounts("top")
    for top in tops:
        for _ in range(3000):
            top = top.instance((1, 0), "inner")
        top.line((1, 0)).count = 1
    tops[0].add(tops[1])
    out = io.BytesIO()
    emitter.emit(profile(replace(counted(), functions=tops[:1])), out)
    assert (pack("<IIQ", 1 << 16, 0, 2) if isinstance(emitter, Gcov) else b" 1: 2\n") in out.getvalue()


def test_says_when_too_little_was_counted() -> None:
    few = "so few that GCC will treat hot code as cold: record for longer, or at a higher frequency (-F)"
    assert Gcov().notes(profile(counted())) == ("of /bin/prog: 3 functions from 18 branches", few)
    assert Gcov().notes(profile(counted([])))[1:] == (few,)
    counts = counted([])
    counts = replace(counts, samples=AddressCounts(counts.samples.address, counts.samples.count * 200))
    assert len(Gcov().notes(profile(counts))) == 1
    assert Gcov().notes(profile(None)) == ()


def test_asks_for_counts_as_the_compiler_knows_places() -> None:
    assert Gcov(object="x").needs.of(CodeSettings).code == CodeRequest("x", "external", by_line=True, gcc_version=16)
    assert Gcov(gcc="12").needs.of(CodeSettings).code == CodeRequest("", "external", by_line=True, gcc_version=12)
    with pytest.raises(OptionError, match="gcc=11"):
        Gcov(gcc="11")


class TestGcov(EmitterContract):
    def emitter(self) -> Gcov:
        return Gcov()

    def profile(self, builder: ProfileBuilder) -> Profile:
        return replace(super().profile(builder), code=counted())
