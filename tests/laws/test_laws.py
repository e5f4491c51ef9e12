"""Laws of every recording and every output format."""

from collections import Counter
from pathlib import Path

import pytest

from perf2x.base.installed_packages import entry_points_by_name
from perf2x.kernel.registry import EMITTERS
from tests.forge import rewrite
from tests.support import outputs
from tests.support.from_reference import opinion_of
from tests.support.recordings import HALVES, Case, corpus_cases, quick_first

CASES = quick_first(corpus_cases())
ONE_HALF, OTHER_HALF = (quick_first(corpus_cases(), quick=half) for half in HALVES)
FORMATS = sorted(name for name in entry_points_by_name(EMITTERS) if not outputs.is_on_demand(name))
"""Those of one object's code need its file, and have recordings of their own (tests/unit/symbolizer)."""
FEW = [case for case in corpus_cases() if case.name in {"events", "family", "compat32", "task_end", "per_thread"}]


def periods_of(case: Case) -> Counter[str]:
    """Sum of periods per event, as the scalar reference counts them."""
    found: Counter[str] = Counter()
    for stack in opinion_of(case.data).stacks:
        found[stack.event.name] += stack.period
    return found


def only_event(case: Case) -> tuple[str, int]:
    """The first event that has samples, and its sum."""
    found = periods_of(case)
    names = [event.name for event in opinion_of(case.data).recording.events if found[event.name]]
    return names[0], found[names[0]]


@pytest.mark.parametrize("case", CASES)
def test_profiles_are_whole(case: Case) -> None:
    for timeline in (False, True):
        profile = outputs.profile_of(case.data, timeline=timeline, symbols=outputs.symbols_of(case))
        profile.check()
        found: Counter[str] = Counter()
        for event, value in zip(profile.samples.event.tolist(), profile.samples.value.tolist(), strict=True):
            found[profile.events[event].name] += value
        assert found == periods_of(case)
        assert int(profile.samples.count.sum()) == len(opinion_of(case.data).stacks)


@pytest.mark.parametrize("case", ONE_HALF)
def test_values_add_up_to_the_periods(case: Case) -> None:
    profile = outputs.profile_of(case.data)
    name, total = only_event(case)
    samples = len(opinion_of(case.data).stacks)
    collapsed = outputs.read_collapsed(outputs.emitted(profile, "collapsed"))
    assert sum(collapsed.values()) == total
    counted = outputs.emitted(profile, "collapsed", event="all", value="samples")
    assert sum(outputs.read_collapsed(counted).values()) == samples
    sums = outputs.pprof_sums(outputs.read_pprof(outputs.emitted(profile, "pprof")))
    assert sums.pop("samples") == samples
    assert {kind: value for kind, value in sums.items() if value} == dict(periods_of(case))
    timeline = outputs.profile_of(case.data, timeline=True)
    assert outputs.speedscope_sum(outputs.emitted(timeline, "speedscope", event=name)) == total


@pytest.mark.parametrize(
    ("case", "name"),
    [
        pytest.param(case, name, marks=() if (row + turn) % len(FEW) == 0 else pytest.mark.slow)
        for row, case in enumerate(FEW)
        for turn, name in enumerate(FORMATS)
    ],
    ids=str,
)
def test_two_runs_give_the_same_bytes(case: Case, name: str) -> None:
    runs = [outputs.emitted(outputs.profile_of(case.data, timeline=outputs.is_timeline(name)), name) for _ in range(2)]
    assert runs[0] == runs[1]
    assert runs[0]


@pytest.mark.parametrize("case", OTHER_HALF)
def test_a_pipe_gives_what_the_file_gives(case: Case, tmp_path: Path) -> None:
    pieces = rewrite.pieces_of(case.data)
    file, pipe = tmp_path / "file", tmp_path / "pipe"
    file.write_bytes(pieces.to_file())
    pipe.write_bytes(pieces.to_pipe())
    assert output_of(case, pipe) == output_of(case, file)


def output_of(case: Case, *paths: Path) -> Counter[tuple[str, ...]]:
    profile = outputs.profile_of(paths, symbols=outputs.symbols_of(case))
    return outputs.read_collapsed(outputs.emitted(profile, "collapsed", event="all", value="samples", with_tid=True))


@pytest.mark.parametrize("case", ONE_HALF)
def test_collapsed_lines_are_the_tree(case: Case) -> None:
    profile = outputs.profile_of(case.data, symbols=outputs.symbols_of(case))
    lines = outputs.emitted(profile, "collapsed", event="all", value="samples")
    found = outputs.read_collapsed(lines)
    assert len(found) == len(lines.splitlines())
    assert lines.splitlines() == sorted(lines.splitlines())
    again = b"".join(";".join(stack).encode() + f" {count}\n".encode() for stack, count in found.items())
    assert again == lines
    assert found == tree_of_pprof(outputs.read_pprof(outputs.emitted(profile, "pprof")))


def tree_of_pprof(found: object) -> Counter[tuple[str, ...]]:
    """Stacks of the other output: thread name, then functions from the root."""
    strings = found.string_table  # type: ignore[attr-defined]
    functions = {function.id: strings[function.name] for function in found.function}  # type: ignore[attr-defined]
    names = {
        location.id: [functions[line.function_id] for line in reversed(location.line)]
        for location in found.location  # type: ignore[attr-defined]
    }
    stacks: Counter[tuple[str, ...]] = Counter()
    for sample in found.sample:  # type: ignore[attr-defined]
        comm = next(strings[label.str] for label in sample.label if strings[label.key] == "comm")
        frames = [name for ident in reversed(sample.location_id) for name in names[ident]]
        stacks[comm.replace(" ", "_"), *(frame.replace(";", ":") for frame in frames)] += sample.value[0]
    return stacks


@pytest.mark.parametrize("case", CASES)
def test_pprof_refers_only_to_what_it_has(case: Case) -> None:
    found = outputs.read_pprof(outputs.emitted(outputs.profile_of(case.data), "pprof"))
    assert found.string_table[0] == ""
    for table in (found.mapping, found.location, found.function):
        assert [entry.id for entry in table] == list(range(1, len(table) + 1))
    for location in found.location:
        assert location.mapping_id <= len(found.mapping)
        assert location.line
        mapping = found.mapping[location.mapping_id - 1]
        assert not location.mapping_id or mapping.memory_start <= location.address < mapping.memory_limit
    assert all(len(sample.value) == len(found.sample_type) for sample in found.sample)
    numbers = [label.num_unit for sample in found.sample for label in sample.label if not label.str]
    assert all(numbers)
