"""No number that a file can hold makes anything fail: it is believed, cut with a count, or refused in one sentence."""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from perf2x.base.installed_packages import entry_points_by_name
from perf2x.errors import FormatError, Perf2xError
from perf2x.kernel.registry import EMITTERS
from tests import forge
from tests.support import extremes, outputs
from tests.support.command import perf2x

FORMATS = sorted(entry_points_by_name(EMITTERS))
OPTIONS: dict[str, tuple[dict[str, object], ...]] = {
    "chrome": ({}, {"per_cpu": True}),
    "pprof": ({}, {"label": ("cpu", "cgroup")}),
}
PARTS = 8


def everything(path: Path, turn: int = 0, turns: int = 1) -> Iterator[str]:
    """Convert to each format, and look at the file with each command; what was refused, and why.

    With ``turns``, to those formats and with those commands whose turn it is.
    """
    for timeline in (False, True):
        try:
            profile = outputs.profile_of(path, timeline=timeline)
        except Perf2xError as refusal:
            yield str(refusal)
            continue
        for name in FORMATS[turn % turns :: turns]:
            if outputs.is_timeline(name) == timeline:
                for options in OPTIONS.get(name, ({},)):
                    assert outputs.emitted(profile, name, **options) or outputs.is_on_demand(name)
    commands = (("dump", path), ("info", path), ("info", "--json", path), ("top", path), ("diff", path, path))
    for words in commands[turn % turns :: turns]:
        ran = perf2x(*words)
        assert ran.code in (0, 1), ran.err


@pytest.mark.parametrize("row", range(len(extremes.VALUES)))
def test_every_number_of_every_record(row: int, tmp_path: Path) -> None:
    """Half of the formats and commands take each value, the others its neighbours."""
    path = tmp_path / "perf.data"
    path.write_bytes(extremes.with_all_at_once(extremes.VALUES[row]))
    assert list(everything(path, row, 2)) == []


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_one_number_of_a_file(part: int, tmp_path: Path) -> None:
    """Those of events and of header sections as well; each number has one of the values, neighbours another.

    A third of the formats and commands takes each number, its neighbours' thirds are others.
    """
    path = tmp_path / "perf.data"
    for place, (_, make) in itertools.islice(enumerate(extremes.places()), part, None, PARTS):
        values = [data for data in make() if data]
        for data in values[place // PARTS % len(values) :][:1] if values else ():
            path.write_bytes(data)
            for refusal in everything(path, place // PARTS, 3):
                assert str(path) in refusal


def written(path: Path, *samples: forge.Sample) -> Path:
    path.write_bytes(forge.write_file(extremes.SESSION, samples))
    return path


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"time": 1000 | 1 << 63}, "implausible_time"),
        ({"period": 1 << 63}, "implausible_period"),
        ({"period": (1 << 48) + 1}, "implausible_period"),
        ({"cpu": 1 << 31}, "implausible_cpu"),
    ],
)
def test_what_was_cut_is_counted(changes: dict[str, int], name: str, tmp_path: Path) -> None:
    path = written(tmp_path / "perf.data", extremes.SAMPLE, replace(extremes.SAMPLE, **changes))
    ran = perf2x("convert", path, "--to", "collapsed", "-o", tmp_path / "out", "--no-symbols")
    assert ran.code == 0
    assert f"implausible {name.partition('_')[2].replace('cpu', 'CPU')}" in ran.err
    stats = perf2x("convert", path, "--to", "collapsed", "-o", "-", "--no-symbols", "--stats", "json").err
    assert f'"{name}"' in stats


@pytest.mark.parametrize("changes", [{"time": (1 << 63) - 1}, {"period": 1 << 48}, {"cpu": (1 << 31) - 1}])
def test_the_largest_numbers_are_believed(changes: dict[str, int], tmp_path: Path) -> None:
    path = written(tmp_path / "perf.data", extremes.SAMPLE, replace(extremes.SAMPLE, **changes))
    ran = perf2x("convert", path, "--to", "collapsed", "-o", "-", "--no-symbols")
    assert "implausible" not in ran.err
    assert sum(int(line.rpartition(" ")[2]) for line in ran.out.splitlines()) == 7 + changes.get("period", 7)


def test_sums_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    """2¹⁴ periods of 2⁴⁸ are the 2⁶² at which sums might no longer fit; one less is added up."""
    sample = replace(extremes.SAMPLE, period=1 << 48)
    fits = written(tmp_path / "fits", *[sample] * ((1 << 14) - 1))
    assert int(outputs.profile_of(fits).samples.value.sum()) == (1 << 62) - (1 << 48)
    too_many = written(tmp_path / "too_many", *[sample] * (1 << 14))
    for timeline in (False, True):
        with pytest.raises(FormatError, match="add up"):
            outputs.profile_of(too_many, timeline=timeline)
    other = tmp_path / "other"
    other.write_bytes(fits.read_bytes().replace(b"cpu-clock", b"other-clk"))
    with pytest.raises(FormatError, match="add up"):
        outputs.profile_of([fits, other])


@pytest.mark.parametrize("name", ["chrome", "firefox", "html", "perfetto", "speedscope"])
@pytest.mark.parametrize(("times", "count"), [((0,) * 5, 5), ((2**64 - 1,) * 5, 5), ((0, 0, 7000, 8000), 2)])
def test_timelines_say_that_samples_have_no_time(name: str, times: tuple[int, ...], count: int, tmp_path: Path) -> None:
    path = written(tmp_path / "perf.data", *(replace(extremes.SAMPLE, time=time) for time in times))
    ran = perf2x("convert", path, "--to", name, "-o", tmp_path / "out", "--no-symbols")
    assert (ran.code, f"{count} samples at an impossible time" in ran.err) == (0, True), ran.err


@pytest.mark.parametrize("times", [(0, 1000, 2000), (5, 5, 5)])
def test_other_times_are_believed(times: tuple[int, ...], tmp_path: Path) -> None:
    path = written(tmp_path / "perf.data", *(replace(extremes.SAMPLE, time=time) for time in times))
    assert "impossible time" not in perf2x("convert", path, "--to", "chrome", "-o", "-", "--no-symbols").err


def test_times_far_apart_cost_nothing(tmp_path: Path) -> None:
    """Timelines are drawn by what happens, not by the time that passes."""
    times = [0, 1, 1 << 40, 1 << 62, (1 << 63) - 2, (1 << 63) - 1]
    path = written(tmp_path / "perf.data", *(replace(extremes.SAMPLE, time=time) for time in times))
    close = written(tmp_path / "close.data", *(replace(extremes.SAMPLE, time=time) for time in range(len(times))))
    far, near = (outputs.profile_of(each, timeline=True) for each in (path, close))
    for name in FORMATS:
        if outputs.is_timeline(name):  # a page has scripts, however little it shows
            assert len(outputs.emitted(far, name)) < len(outputs.emitted(near, name)) + 50_000
