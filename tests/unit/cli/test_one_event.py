"""Events that are one on several kinds of core, or in several control groups: shown whole, chosen by every name."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from perf2x.emitters.pprof import profile_pb2
from tests.forge import Comm, Event, Features, Sample, Session, write_file
from tests.forge import kernel as k
from tests.support.command import perf2x

TYPE = Event().sample_type | k.IDENTIFIER
QUICK = "--no-symbols", "-q"


def recorded(path: Path, events: dict[str, int], period: int = 10, words: tuple[str, ...] = ("perf", "record")) -> Path:
    """So many samples of each event (``a``, ``a `` and ``a  `` are three of one name), each in a stack of its own."""
    made, samples = [], []
    for row, (name, count) in enumerate(events.items()):
        made.append(Event(name=name.rstrip(), type=4, config=row, sample_type=TYPE, ids=(row + 1,)))
        samples += [
            Sample(event=row, id=row + 1, pid=7, tid=7, ip=0x1000 * (row + 1), time=10 + at, period=period * (row + 1))
            for at in range(count)
        ]
    session = Session(events=tuple(made), features=Features(command_line=words))
    path.write_bytes(write_file(session, [Comm(pid=7, tid=7, comm="app"), *samples]))
    return path


def top(path: Path, *words: str) -> tuple[str, int, int]:
    ran = perf2x("top", path, *QUICK, "--json", *words)
    assert ran.code == 0, ran.err
    facts = json.loads(ran.out)
    return facts["event"], facts["samples"], facts["value"]


HYBRID = {"cpu_atom/cycles/P/": 3, "cpu_core/cycles/P/": 5, "cpu_core/instructions/": 7}
ARM = {"armv8_cortex_a53/cpu_cycles/": 3, "armv8_cortex_a72/cpu_cycles/": 5, "page-faults": 9}
MODES = {"cpu_atom/cycles/u": 3, "cpu_core/cycles/k": 5}
SAME_CORE = {"cpu/cycles/": 3, "cpu/cpu-cycles/": 5}


@pytest.mark.parametrize(
    ("events", "chosen", "shown"),
    [
        (HYBRID, "", ("cycles", 8, 130)),
        *((HYBRID, name, ("cycles", 8, 130)) for name in ("cycles", "cpu-cycles", "cycles:P", "cpu/cycles/", "*cyc*")),
        (HYBRID, "cpu_core/cycles/", ("cpu_core/cycles/P/", 5, 100)),
        (HYBRID, "cpu_core/cycles/P/", ("cpu_core/cycles/P/", 5, 100)),
        (HYBRID, "cpu_atom/cpu-cycles/", ("cpu_atom/cycles/P/", 3, 30)),
        (HYBRID, "instructions", ("cpu_core/instructions/", 7, 210)),
        (ARM, "", ("cpu_cycles", 8, 130)),
        (ARM, "cycles", ("cpu_cycles", 8, 130)),
        (ARM, "armv8_cortex_a72/cycles/", ("armv8_cortex_a72/cpu_cycles/", 5, 100)),
        (ARM, "faults", ("page-faults", 9, 270)),
        (MODES, "", ("cpu_atom/cycles/u", 3, 30)),
        (MODES, "cycles:k", ("cpu_core/cycles/k", 5, 100)),
        (SAME_CORE, "", ("cpu/cpu-cycles/", 5, 100)),
    ],
)  # fmt: skip
def test_kinds_of_cores_are_one_event(events: dict[str, int], chosen: str, shown: Any, tmp_path: Path) -> None:
    assert top(recorded(tmp_path / "perf.data", events), *(("--event", chosen) if chosen else ())) == shown


def test_a_column_beside_it_does_not_join_what_was_told_apart(tmp_path: Path) -> None:
    path, words = recorded(tmp_path / "perf.data", HYBRID), ("--column", "all", "--event")
    assert top(path, *words, "cpu_core/cycles/") == ("cpu_core/cycles/P/", 5, 100)
    assert top(path, *words, "cycles") == ("cycles", 8, 130)


TWINS = {"cpu-clock": 1, "cpu-clock ": 9, "cpu-clock  ": 4}
CGROUPS = "perf", "record", "-e", "cpu-clock,cpu-clock,cpu-clock", "-G", "a,b,c"


@pytest.mark.parametrize(
    ("command", "chosen", "shown"),
    [
        (CGROUPS, "", (14, 310)),
        (("perf", "record", "--for-each-cgroup", "a,b,c"), "cpu-clock", (14, 310)),
        (("perf", "record", "-agGa,b,c", "-e", "cpu-clock"), "", (14, 310)),
        (("perf", "record", "--cgroup=a,b,c"), "", (14, 310)),
        (("perf", "record"), "", (9, 180)),
        (("perf", "record", "-ae", "cpu-clock", "-GROUP", "--", "tar", "-G", "x"), "", (14, 310)),
        (("perf", "record", "-e", "cpu-clock", "--", "tar", "-G", "x"), "", (9, 180)),
        (("perf", "record", "-cG", "-e", "cpu-clock"), "", (9, 180)),
        (CGROUPS, "cpu-clock#1", (1, 10)),
        (CGROUPS, "cpu-clock#2", (9, 180)),
        (("perf", "record"), "cpu-clock#3", (4, 120)),
    ],
)
def test_events_of_one_name_are_whole_or_chosen(command: Any, chosen: str, shown: Any, tmp_path: Path) -> None:
    path = recorded(tmp_path / "perf.data", TWINS, words=command)
    assert top(path, *(("--event", chosen) if chosen else ()))[1:] == shown
    ran = perf2x("convert", path, *QUICK, *(("--event", chosen) if chosen else ()), "--to", "collapsed",
                 "--value", "samples", "-o", "-")  # fmt: skip
    assert sum(int(line.rpartition(" ")[2]) for line in ran.out.splitlines()) == shown[0], ran.err


def test_an_event_that_there_is_not_is_refused_by_names_that_choose(tmp_path: Path) -> None:
    ran = perf2x("top", recorded(tmp_path / "perf.data", TWINS), "--no-symbols", "--event", "cpu-clock#4")
    assert "cpu-clock#1, cpu-clock#2, cpu-clock#3" in ran.said


def test_events_beside_one_of_their_name_are_named(tmp_path: Path) -> None:
    path = recorded(tmp_path / "perf.data", TWINS)
    assert "other events: cpu-clock#1, cpu-clock#3 (select with --event)" in perf2x("top", path, "--no-symbols").err
    assert "left out" not in perf2x("top", path, "--no-symbols", "--event", "cpu-clock#2").err
    assert "it has cpu-clock#1, cpu-clock#2, cpu-clock#3" in perf2x("diff", path, path, "--no-symbols").said


def test_what_is_shown_as_one_is_said_and_info_lists_each(tmp_path: Path) -> None:
    path = recorded(tmp_path / "perf.data", HYBRID)
    ran = perf2x("top", path, "--no-symbols", "-v")
    assert "cpu_atom/cycles/P/, cpu_core/cycles/P/ count the same and are shown as one (select with --event" in ran.said
    assert "other events: cpu_core/instructions/ (select with --event)" in ran.err
    listed = json.loads(perf2x("info", path, "--json").out)["events"]
    assert [(one["name"], one["samples"]) for one in listed] == list(HYBRID.items())


def test_samples_as_recorded_keep_their_events(tmp_path: Path) -> None:
    ran = perf2x("script", recorded(tmp_path / "perf.data", HYBRID), "--no-symbols", "-F", "event")
    assert [ran.out.count(name) for name in HYBRID] == list(HYBRID.values())


def test_differences_and_gates_see_every_kind_of_core(tmp_path: Path) -> None:
    """The larger cores' event grew eightfold, the smaller ones' did not."""
    before = recorded(tmp_path / "before.data", {"cpu_atom/cycles/": 3, "cpu_core/cycles/": 5, "page-faults": 1})
    after = recorded(tmp_path / "after.data", {"cpu_atom/cycles/": 3, "cpu_core/cycles/": 40, "page-faults": 1})
    ran = perf2x("diff", before, after, "--no-symbols", "--json", "--fail-above", "total=50")
    facts = json.loads(ran.out)
    assert (facts["before"], facts["after"], ran.code) == (130, 830, 3)
    assert "other events: page-faults (select with --event)" in ran.err
    assert "left out" not in perf2x("diff", before, after, "--no-symbols", "--column", "all").err


@pytest.mark.parametrize("to", ["pprof", "speedscope", "html", "callgrind", "chrome"])
def test_every_format_has_all_samples(to: str, tmp_path: Path) -> None:
    path, out = recorded(tmp_path / "perf.data", HYBRID), tmp_path / "out"
    assert perf2x("convert", path, *QUICK, "--to", to, "-o", out, "--event", "cycles").code == 0
    if to == "pprof":
        written = profile_pb2.Profile.FromString(gzip.decompress(out.read_bytes()))
        assert [sum(sample.value[-1] for sample in written.sample)] == [130]


def test_datasets_keep_each_and_show_the_whole(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    pytest.importorskip("deltalake")
    dataset = tmp_path / "profiles"
    path = recorded(tmp_path / "perf.data", HYBRID)
    assert perf2x("fleet", "ingest", path, "-q", "-o", dataset).code == 0
    assert top(dataset) == ("cycles", 8, 130)
    assert top(dataset, "--event", "cpu_core/cycles/") == ("cpu_core/cycles/P/", 5, 100)
