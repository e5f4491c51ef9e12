import pytest

from perf2x.base.installed_packages import entry_points_by_name
from perf2x.emitters.collapsed import Collapsed
from perf2x.emitters.pprof.pprof import Pprof
from perf2x.errors import OptionError
from perf2x.kernel.registry import EMITTERS, build_emitter, load_emitter
from perf2x.model.setting import settings_in


def test_built_in_formats_come_through_entry_points() -> None:
    assert {"pprof", "chrome", "collapsed"} <= set(entry_points_by_name(EMITTERS))
    assert load_emitter("pprof") is Pprof


def test_every_suffix_starts_with_a_dot_and_belongs_to_one_format() -> None:
    suffixes = [load_emitter(name).suffix for name in entry_points_by_name(EMITTERS)]
    assert all(suffix.startswith(".") for suffix in suffixes)
    assert len(set(suffixes)) == len(suffixes)


def test_every_emitter_and_option_has_a_description() -> None:
    for name in entry_points_by_name(EMITTERS):
        emitter = load_emitter(name)
        assert emitter.__doc__, name
        assert len((emitter.__doc__).splitlines()[0]) < 110, name
        for entry in settings_in(emitter).values():
            assert entry.help, f"{name}: {entry.name}"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, Collapsed()),
        ({"with-tid": "yes", "value": "samples"}, Collapsed(with_tid=True, value="samples")),
        ({"event": "cycles", "kernel_suffix": True}, Collapsed(event="cycles", kernel_suffix=True)),
    ],
)
def test_options_are_converted_from_text(options, expected) -> None:
    assert build_emitter("collapsed", options) == expected


def test_lists_are_separated_by_commas() -> None:
    assert build_emitter("pprof", {"label": "pid, cpu"}) == Pprof(label=("pid", "cpu"))
    assert build_emitter("pprof", {"label": ""}) == Pprof(label=())


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("pprof", {"colour": "red"}, r"pprof has no option colour; it has compress, inline, label"),
        ("chrome", {"max_events": "many"}, "max_events=many: expected a whole number"),
        ("collapsed", {"with_tid": "perhaps"}, "with_tid=perhaps: expected yes or no"),
        ("pprof", {"inline": "some"}, "inline=some: choose from lines, frames, off"),
        ("paper", {}, "no output format .paper.; did you mean pprof. installed: .*chrome, .*pprof"),
    ],
)
def test_unknown_options_and_bad_values_are_refused_by_name(name, options, words) -> None:
    with pytest.raises(OptionError, match=words):
        build_emitter(name, options)
