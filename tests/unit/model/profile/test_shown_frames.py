"""A frame is what a viewer shows: functions of one name in one file are one, and nothing is lost."""

import gzip
import io

import numpy as np
import pytest
from msgspec.structs import replace

from perf2x.emitters.collapsed import Collapsed
from perf2x.emitters.flame.html import Html
from perf2x.emitters.flame.svg import Svg
from perf2x.emitters.pprof import profile_pb2
from perf2x.emitters.pprof.pprof import Pprof
from perf2x.emitters.speedscope import Speedscope
from perf2x.features.anonymize.hash_names import anonymized
from perf2x.model.profile.profile import Profile
from perf2x.model.profile.shown_frames import full_names, location_frames
from perf2x.model.totals.totals import totals
from perf2x.model.transforms.merge_profiles import merge_profiles
from perf2x.testing import ProfileBuilder

FULL = {"_Z1fIiEvv": "void f<int>()", "_Z1fIlEvv": "void f<long>()", "_Z1fIcEvv": "void f<char>()"}


@pytest.fixture
def profile() -> Profile:
    """Main calls f<int> (3), which calls f<long> (10); f<char> (100) stands in another file. All are called f<…>."""
    builder = ProfileBuilder()
    builder.event("cycles", "count", frequency=0)
    builder.thread("a", 1)
    main = builder.location(0x10, lines=["main"])
    ints, longs, chars = (
        builder.location(0x20 + row, lines=[(name, file, 1)])
        for row, (name, file) in enumerate(zip(FULL, ("a.h", "a.h", "b.h"), strict=True))
    )
    builder.sample([main, ints], value=3)
    builder.sample([main, ints, longs], value=10)
    builder.sample([main, chars], value=100)
    return shortened(builder.build())


def shortened(profile) -> Profile:
    """The profile with ``f<…>`` as the name of all instances, as the symbolizer makes it."""
    strings = [*profile.strings, "f<…>"]
    name = profile.functions.system_name
    is_instance = np.isin(name, [strings.index(text) for text in FULL])
    names = np.where(is_instance, len(strings) - 1, name).astype(np.int32)
    result = replace(profile, strings=strings, functions=replace(profile.functions, name=names), full_names=FULL)
    result.check()
    return result


def frames_by_definition(profile) -> set[tuple[str, str]]:
    """(name, file) of every function, one at a time."""
    f = profile.functions
    return {(profile.strings[n], profile.strings[s]) for n, s in zip(f.name.tolist(), f.filename.tolist(), strict=True)}


def test_frames_are_what_is_shown(profile) -> None:
    frames = location_frames(profile)
    shown = [(frames.name[row], profile.strings[profile.functions.filename[frames.function[row]]]) for row in range(3)]
    assert len(frames) == 3 and set(shown) == frames_by_definition(profile)
    assert frames.function.tolist() == sorted(frames.function.tolist())


def test_the_full_name_is_that_of_one_of_them_and_says_how_many_there_are(profile) -> None:
    frames = location_frames(profile)
    texts = dict(zip(frames.name, full_names(profile, frames), strict=True))
    assert texts["main"] == ""
    assert sorted(full_names(profile, frames)) == ["", "void f<char>()", "void f<int>() (and 1 more of this name)"]
    assert full_names(replace(profile, full_names={}), frames) == ["", "", ""]


def test_costs_of_functions_called_alike_are_added_and_recursion_counts_once(profile) -> None:
    found = {row.name: (row.self, row.total) for row in totals(profile).rows}
    assert found == {"main": (0, 113), "f<…>": (113, 113)}


def test_no_sample_is_lost_by_any_format(profile) -> None:
    assert b"".join(Collapsed().lines(profile)) == "a;main;f<…> 103\na;main;f<…>;f<…> 10\n".encode()
    out = io.BytesIO()
    Speedscope().emit(profile, out)
    assert out.getvalue().count('"name":"f<…>"'.encode()) == 2


def test_pprof_keeps_the_functions_apart_and_has_what_they_are_linked_as(profile) -> None:
    out = io.BytesIO()
    Pprof().emit(profile, out)
    read = profile_pb2.Profile.FromString(gzip.decompress(out.getvalue()))
    text = read.string_table
    found = {(text[f.name], text[f.system_name]) for f in read.function}
    assert found == {("main", "main"), *(("f<…>", name) for name in FULL)}
    assert not {*FULL.values()} & {*text}


def test_pictures_and_pages_have_the_full_name(profile) -> None:
    out = io.BytesIO()
    Svg().emit(profile, out)
    assert b"<title>f&lt;\xe2\x80\xa6&gt;\nvoid f&lt;char&gt;()\n100 (88.50 %)</title>" in out.getvalue()
    out = io.BytesIO()
    Html(compress=False).emit(profile, out)
    assert b"void f\\u003cchar>()" in out.getvalue()


def test_merged_profiles_keep_full_names_and_anonymous_ones_do_not(profile) -> None:
    assert merge_profiles([replace(profile, full_names={}), profile]).full_names == FULL
    hidden = anonymized(profile, "salt")
    assert hidden.full_names == {} and not {*FULL.values(), *FULL, "f<…>"} & {*hidden.strings}
    assert len({*hidden.functions.system_name.tolist()}) == 4 and len({*hidden.functions.name.tolist()}) == 2
