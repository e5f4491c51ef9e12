import subprocess
import sys

import pytest

from perf2x.base.installed_packages import EntryPoint, entry_points_by_name
from perf2x.errors import OptionError
from perf2x.kernel import format_suffix as suffix
from perf2x.kernel.format_suffix import check_output_name, format_of
from perf2x.kernel.registry import EMITTERS, load_emitter


class Lines:
    """A plugin whose suffix is longer than that of a built-in format."""

    suffix = ".lines.folded"


class Folded:
    """A plugin with the suffix of a built-in format."""

    suffix = ".folded"


@pytest.mark.parametrize("stem", ["out", "some.where/perf.12", "chrome.svg"])
@pytest.mark.parametrize("ending", ["", ".gz"])
def test_every_format_is_known_by_its_suffix(stem: str, ending: str) -> None:
    for name in entry_points_by_name(EMITTERS):
        suffix = load_emitter(name).suffix.removesuffix(".gz")
        assert format_of(f"{stem}{suffix}{ending}") == name


@pytest.mark.parametrize("output", ["out", "out.txt", "out.json", "folded"])
def test_a_name_that_does_not_tell_the_format_is_refused_with_all_suffixes(output: str) -> None:
    with pytest.raises(
        OptionError, match=r"does not determine the format.*chrome \(\.trace\.json\).*pprof \(\.pb\.gz\)"
    ):
        format_of(output)


@pytest.mark.parametrize("output", [None, "-"])
def test_standard_output_needs_the_name_of_a_format(output: str | None) -> None:
    with pytest.raises(OptionError, match="chrome, collapsed"):
        format_of(output)


@pytest.mark.parametrize("name", sorted(entry_points_by_name(EMITTERS)))
def test_a_name_of_another_format_is_refused(name: str) -> None:
    own = load_emitter(name).suffix
    for output in (f"out{own}", f"out{own}.gz", "out.json", "out.txt", "out", "html", "-", ""):
        check_output_name(name, output)
    for other, output in (("html", "x.html"), ("svg", "out/x.svg"), ("pprof", "x.pb.gz"), ("collapsed", "x.folded")):
        if other != name:
            with pytest.raises(OptionError, match=f"{output} means {other}, not to {name}, whose files end with {own}"):
                check_output_name(name, output)


def with_plugin(monkeypatch: pytest.MonkeyPatch, name: str, plugin: type) -> None:
    point = EntryPoint(name, f"{__name__}:{plugin.__name__}")
    monkeypatch.setitem(sys.modules, __name__, sys.modules[plugin.__module__])
    monkeypatch.setattr(
        "perf2x.kernel.format_suffix.entry_points_by_name", lambda group: entry_points_by_name(group) | {name: point}
    )


def test_a_plugin_of_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with_plugin(monkeypatch, "zlines", Lines)
    monkeypatch.setattr("perf2x.kernel.registry.entry_points_by_name", suffix.entry_points_by_name)
    with pytest.raises(OptionError, match=r"zlines .* is a plugin for another version of perf2x: it has no needs"):
        load_emitter("zlines")


def test_the_longest_suffix_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    with_plugin(monkeypatch, "zlines", Lines)
    assert format_of("out.lines.folded") == "zlines"
    assert format_of("out.folded") == "collapsed"


def test_two_formats_of_one_suffix_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with_plugin(monkeypatch, "zfolded", Folded)
    with pytest.raises(OptionError, match="does not determine the format"):
        format_of("out.folded")


def test_few_formats_are_imported_to_find_one() -> None:
    code = (
        "import sys; from perf2x.kernel.format_suffix import format_of\n"
        "for output in ('out.pb.gz', 'out.folded', 'out.html', 'out.svg', 'out.speedscope.json'):\n"
        "    format_of(output)\n"
        "    imported = {name for name in sys.modules if name.startswith('perf2x.emitters.')}\n"
        "    formats = 'pprof.pprof collapsed chrome.chrome firefox.firefox flame.html flame.svg speedscope'\n"
        "    print(len({f'perf2x.emitters.{name}' for name in formats.split()} & imported))\n"
        "    for name in imported: del sys.modules[name]\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert [1 <= int(line) <= 2 for line in ran.stdout.splitlines()] == [True] * 5, ran.stdout
