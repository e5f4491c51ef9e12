"""Objects of two recordings are paired by name, version and functions."""

from collections.abc import Mapping

import pytest

from perf2x.errors import OptionError, SettingError
from perf2x.model.profile.profile import Profile
from perf2x.model.totals.totals import totals
from perf2x.testing import ProfileBuilder
from perf2x.tools.diff.matching_objects import match_objects
from perf2x.tools.diff.pair_options import read_object_names

PARTS = {"parse": 5, "render": 3, "main": 1}


def made(objects: Mapping[str, Mapping[str, int]]) -> Profile:
    """So many samples of each function of each object, by path; the first is the program of the only thread."""
    builder = ProfileBuilder()
    builder.event("cpu-clock", "nanoseconds")
    builder.thread(next(iter(objects)).rpartition("/")[2][:15])
    for start, (path, functions) in enumerate(objects.items(), 1):
        mapping = builder.mapping(path, start << 20)
        for row, (name, count) in enumerate(functions.items()):
            builder.sample([builder.location((start << 20) + row, mapping, [name] if name else [])], value=count)
    return builder.build()


def rows(profile: Profile) -> set[tuple[str, str]]:
    return {(row.name, row.object) for row in totals(profile).rows}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("/usr/bin/longcpp", "/usr/bin/longcpp2"),
        ("/lib/libfoo.so.1.2", "/lib/libfoo.so.1.3"),
        ("/lib/libfoo-1.2.so", "/lib/libfoo.so.1.3"),
        ("/usr/bin/app-3f2a9c", "/usr/bin/app-77bc01"),
        ("/tmp/perf-17.map", "/tmp/perf-4711.map"),
        ("/usr/bin/server", "/usr/bin/service_next"),
    ],
)
def test_the_same_functions_make_the_same_object(old: str, new: str) -> None:
    before, after = made({old: PARTS}), made({new: PARTS | {"added": 2}})
    called, pairs = match_objects(before, after, {})
    called.check()
    names = tuple(path.rpartition("/")[2] for path in (old, new))
    assert pairs == [names]
    assert rows(called) == {(name, names[0]) for name in (*PARTS, "added")}
    assert totals(called, by="thread").rows[0].name.startswith(names[0][:15])


def test_another_path_is_the_same_object_already() -> None:
    before, after = made({"/usr/bin/app": PARTS}), made({"/var/lib/docker/overlay2/0f/merged/usr/bin/app": PARTS})
    called, pairs = match_objects(before, after, {})
    assert (rows(called), pairs, called is after) == (rows(before), [], True)


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ({"/bin/ls": {"main": 9}}, {"/bin/cat": {"main": 9}}),  # any two programs have a main
        ({"/bin/ls": PARTS}, {"/bin/cat": PARTS | {"other": 30}}),  # most of one is not in the other
        ({"/bin/worker1": {"main": 1}}, {"/bin/worker2": {"run": 1}}),
        ({"/bin/app": PARTS}, {"/bin/app": PARTS, "/bin/app2": PARTS}),  # nothing is gone
    ],
)
def test_others_stay_apart(was: Mapping[str, Mapping[str, int]], now: Mapping[str, Mapping[str, int]]) -> None:
    after = made(now)
    assert match_objects(made(was), after, {}) == (after, [])


def test_the_most_similar_are_paired_and_each_once() -> None:
    before = made({"/bin/a1": PARTS, "/bin/b1": {"one": 1, "two": 1, "three": 1}})
    after = made({"/bin/b2": {"one": 1, "two": 1, "three": 1}, "/bin/a2": PARTS, "/bin/a3": PARTS | {"new": 1}})
    assert match_objects(before, after, {})[1] == [("a1", "a2"), ("b1", "b2")]


def test_a_given_pair_is_taken_and_a_name_given_to_itself_left_alone() -> None:
    before, after = made({"/bin/app1": PARTS}), made({"/bin/app2": PARTS, "/bin/tool": {"run": 1}})
    assert match_objects(before, after, {"tool": "app1"})[1] == [("app1", "tool")]
    both = made({"/bin/app1": PARTS, "/bin/app2": PARTS})
    assert match_objects(both, after, {"app2": "app1"})[1] == [("app1", "app2")]
    with pytest.raises(OptionError, match=r"no object 'app3'; did you mean app2\? The recording after has: app2, tool"):
        match_objects(before, after, {"app3": "app1"})
    with pytest.raises(OptionError, match=r"no object 'app'; did you mean app1\? The recording before has: app1"):
        match_objects(before, after, {"app2": "app"})


def test_without_names_of_functions_versions_decide() -> None:
    before, after = ({path: {"": 3}} for path in ("/lib/libz.so.1.2", "/lib/libz.so.1.3"))
    called, pairs = match_objects(made(before), made(after), {})
    assert pairs == [("libz.so.1.2", "libz.so.1.3")] and rows(called) == {("[libz.so.1.2]", "libz.so.1.2")}


def test_names_are_parsed() -> None:
    assert read_object_names("map", ["a=/usr/bin/b", "c=c"]) == (("b", "a"), ("c", "c"))
    for text in ("a", "=b", "a="):
        with pytest.raises(SettingError, match="expected OLD=NEW"):
            read_object_names("map", [text])
    with pytest.raises(SettingError, match="c is given two names"):
        read_object_names("map", ["a=c", "b=c"])
