"""Callgrind's format: costs and calls against a plain count and ``perf2x top``, names, and callgrind_annotate."""

import io
import json
import re
import shutil
import subprocess
from collections import Counter
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace

from perf2x.base.abi.uapi import CpuMode
from perf2x.emitters import callgrind
from perf2x.emitters.callgrind import Callgrind
from perf2x.errors import SettingError
from perf2x.model.printable_text import base_name
from perf2x.model.profile.profile import Profile
from perf2x.testing import EmitterContract, ProfileBuilder
from tests.support.callgrind_file import CallgrindFile, read_callgrind
from tests.support.command import perf2x
from tests.support.recordings import CORPUS

RECORDINGS = ("calls", "threads", "multi_event")
TEXT = """\
# callgrind format
version: 1
creator: perf2x
cmd: prog
desc: Calls: estimated, because samples do not show them: the number of samples with the call
desc: Recursion: calls of functions that are already in the stack are left out
positions: line
event: cycles_u : cycles:u (count)
event: cpu_clock : cpu-clock (nanoseconds)
events: cycles_u cpu_clock
summary: 70 9
"""
BODY = """\
ob=(1) /opt/bin/prog
fl=(1) prog.c
fn=(1) main
12 0 2
cob=(1)
cfi=(2) inline.h
cfn=(2) twice
calls=2 0
14 70 0
cob=(1)
cfi=(2)
cfn=(2)
calls=1 0
15 0 7
ob=(1)
fl=(2)
fn=(2)
3 70 0
cob=(2) ???
cfi=(3) ???
cfn=(3) (0) odd name
calls=1 0
4 0 7
ob=(2)
fl=(3)
fn=(3)
0 0 7
ob=(2)
fl=(3)
fn=(4) [thread prog]
cob=(1)
cfi=(1)
cfn=(1)
calls=4 0
0 70 9
"""


def written(profile: Profile) -> str:
    out = io.BytesIO()
    Callgrind().emit(profile, out)
    return out.getvalue().decode()


def read(profile: Profile) -> CallgrindFile:
    return read_callgrind(written(profile).encode())


class TestCallgrindContract(EmitterContract):
    def emitter(self) -> Callgrind:
        return Callgrind()

    def total(self, output: bytes) -> int:
        found = read_callgrind(output)
        own = sum(sum(costs) for costs in found.own.values())
        assert own == sum(found.summary)
        return own


class TestInstructionsContract(TestCallgrindContract):
    def emitter(self) -> Callgrind:
        return Callgrind(instructions=True)


def small() -> Profile:
    builder = ProfileBuilder()
    clock, cycles = builder.event(), builder.event("cycles:u", "count")
    builder.event("page-faults", "count")
    builder.thread("prog")
    file = builder.mapping("/opt/bin/prog")
    main = builder.location(0x400010, file, [("main", "prog.c", 12)])
    inlined = builder.location(0x400020, file, [("twice", "inline.h", 3), ("main", "prog.c", 14)])
    call = builder.location(0x400030, file, [("twice", "inline.h", 4), ("main", "prog.c", 15)])
    builder.sample([inlined], event=cycles, value=70, count=2)
    builder.sample([main], event=clock, value=2)
    builder.sample([call, builder.function("(0) odd name")], event=clock, value=7)
    return replace(builder.build(), default_event=cycles)


def test_text() -> None:
    assert written(small()) == TEXT + BODY


def test_lines_in_another_file_stay_in_their_function() -> None:
    builder = ProfileBuilder()
    builder.event()
    builder.thread("prog")
    for row, (file, line) in enumerate((("table.inc", 7), ("main.c", 5), ("", 0))):
        builder.sample([builder.location(0x400000 + row, lines=[("main", file, line)])], value=1 + row)
    found = read(builder.build())
    (main,) = {function for function, _, _ in found.own}
    places = {(file, line): costs for (_, file, line), costs in found.own.items()}
    assert places == {(main[1], 0): (3,), ("main.c", 5): (2,), ("table.inc", 7): (1,)}
    assert main[1] in ("main.c", "table.inc")


def test_objects_have_their_recorded_path_and_the_kernel_its_name() -> None:
    builder = ProfileBuilder()
    builder.event()
    builder.thread("prog")
    kernel = builder.mapping("[kernel.kallsyms]_text", 2**64 - 2**31, kernel=True)
    program = builder.mapping("/opt/bin/prog")
    stack = [
        builder.location(0x400010, program, ["main"]),
        builder.location(2**64 - 2**31 + 16, kernel, ["do_syscall_64"], CpuMode.KERNEL),
    ]
    builder.sample(stack, value=5)
    found = read(builder.build()).inclusive()
    assert {(name, thing) for name, _, thing in found} == {
        ("[thread prog]", ""), ("main", "/opt/bin/prog"), ("do_syscall_64", "[kernel.kallsyms]"),
    }  # fmt: skip


def test_samples_without_a_stack_are_their_threads_own() -> None:
    builder = ProfileBuilder()
    builder.event()
    builder.thread("prog")
    builder.sample([], value=5)
    assert read(builder.build()).own == {(("[thread prog]", "", ""), "", 0): (5,)}


def test_stacks_with_roots_of_their_own_get_no_other() -> None:
    builder = ProfileBuilder()
    builder.event()
    builder.thread("prog")
    builder.sample([builder.function("process 7"), builder.function("main")], value=5)
    builder.sample([], value=2)
    found = read(replace(builder.build(), has_final_roots=True))
    assert {function[0]: costs for function, costs in found.inclusive().items()} == {
        "process 7": (5,), "main": (5,), "[thread prog]": (2,),
    }  # fmt: skip
    assert len(found.calls) == 1


def test_events_have_words_that_differ() -> None:
    builder = ProfileBuilder()
    builder.thread()
    names = ("cycles:u", "cycles/u", "r1a8", "cpu/event=0x3c,name=1st/", "0day", "cpu-clock/freq=99/")
    for row, name in enumerate(names):
        builder.event(name, "count")
        builder.sample([builder.function("main")], event=row, value=1 + row)
    found = read(builder.build())
    assert found.events == [
        "event0_cycles_u", "cycles_u", "r1a8", "cpu_event_0x3c_name_1st_", "event4_0day", "cpu_clock",
    ]  # fmt: skip
    assert found.summary == (1, 2, 3, 4, 5, 6)


def test_more_events_than_kcachegrind_reads_are_refused() -> None:
    builder = ProfileBuilder()
    builder.thread()
    for row in range(201):
        builder.event(f"event-{row}")
        builder.sample([builder.function("main")], event=row)
    with pytest.raises(SettingError, match="200 events, not 201; choose with events"):
        written(builder.build())


def test_the_refusal_names_the_option_as_typed(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(callgrind, "_MAX_EVENTS", 1)
    ran = perf2x("convert", CORPUS / "events/perf.data", "-o", tmp_path / "x.callgrind", "-q")
    assert (ran.code, ran.said) == (2, "perf2x: KCachegrind shows 1 events, not 3; choose with --event")
    assert not list(tmp_path.iterdir())


class Count:
    """Random stacks, and what a plain loop over them counts."""

    def __init__(self, seed: int) -> None:
        self.random, self.builder = Random(seed), ProfileBuilder()
        self.own, self.calls, self.samples = Counter(), Counter(), Counter()
        self.builder.event("cycles", "count")
        self.builder.event("faults", "count")
        for name in ("one", "two"):
            self.builder.thread(name)
        for _ in range(60):
            self._sample()

    def _sample(self) -> None:
        thread, event, value = self.random.randrange(2), self.random.randrange(2), self.random.randrange(1, 99)
        places, locations = [(f"[thread {('one', 'two')[thread]}]", 0)], []
        for _ in range(self.random.randrange(7)):
            lines = [
                (self.random.choice("abcd"), self.random.randrange(1, 3)) for _ in range(self.random.choice((1, 1, 2)))
            ]
            places += lines
            rows = [(name, f"{name}.c", line) for name, line in reversed(lines)]
            locations.append(self.builder.location(hash_of(lines), lines=rows))
        self.builder.sample(locations, thread, event, value)
        self.own[places[-1], event] += value
        seen = {places[0][0]}
        for caller, (callee, _) in pairwise(places):
            if callee not in seen:
                self.calls[caller, callee, event] += value
                self.samples[caller, callee] += 1
            seen.add(callee)


def hash_of(lines: list[tuple[str, int]]) -> int:
    """An address of its own for each list of lines."""
    return int.from_bytes("".join(f"{name}{line}" for name, line in lines).encode(), "little")


@pytest.mark.parametrize("seed", range(8))
def test_costs_and_calls_are_those_of_a_plain_loop(seed: int, monkeypatch) -> None:
    counted = Count(seed)
    profile = counted.builder.build()
    whole = written(profile)
    monkeypatch.setattr(callgrind, "_FRAMES_AT_ONCE", 5)
    assert written(profile) == whole
    monkeypatch.setattr(callgrind, "_ROWS_AT_ONCE", 3)
    found = read(profile)
    own = {((function[0], line), event): cost for (function, _, line), costs in found.own.items()
           for event, cost in enumerate(costs) if cost}  # fmt: skip
    calls = {((caller[0], line), callee[0]): said for (caller, _, line, callee), said in found.calls.items()}
    costs = {(*key, event): cost for key, (_, costs) in calls.items() for event, cost in enumerate(costs) if cost}
    assert (own, costs) == (counted.own, counted.calls)
    assert {key: count for key, (count, _) in calls.items()} == counted.samples


RECORDINGS = ("calls", "events", "group_read", "forker")


def words(name: str) -> tuple[object, ...]:
    common = CORPUS / "common"
    return CORPUS / name / "perf.data", "--symfs", common / "symfs", "--kallsyms", common / "kallsyms.xz", "-q"


def top(name: str, event: str) -> dict[tuple[str, str], tuple[int, int]]:
    """Self and total of each function (name, object) as ``perf2x top`` has them."""
    shown = json.loads(perf2x("top", *words(name), "--event", event, "--json", "-n", 0).out)
    return {(row["name"], row["object"]): (row["self"], row["total"]) for row in shown["rows"]}


def converted(name: str, folder: Path, *settings: str) -> tuple[Path, CallgrindFile, list[str]]:
    """A recording as a file, what a reader finds in it, and the names of its events."""
    path = folder / f"{name}.callgrind"
    assert perf2x("convert", *words(name), *settings, "-o", path).code == 0
    found = read_callgrind(path.read_bytes())
    return path, found, [re.sub(r"\w+ : (.*) \(\w+\)", r"\1", said) for said in found.header["event"]]


INSTRUCTIONS = ("--set", "instructions=yes")


@pytest.mark.parametrize(
    ("name", "settings"),
    [*((name, ()) for name in RECORDINGS), *((name, INSTRUCTIONS) for name in ("events", "forker"))],
)
def test_functions_cost_what_top_says(name: str, settings: tuple[str, ...], tmp_path: Path) -> None:
    """Inclusive costs are those of KCachegrind and callgrind_annotate; of recursive functions, too."""
    _, found, events = converted(name, tmp_path, *settings)
    own, none = found.own_costs(), (0,) * len(events)
    for column, event in enumerate(events):
        costs = {
            (function[0], base_name(function[2])): (own.get(function, none)[column], costs[column])
            for function, costs in found.inclusive().items()
            if not function[0].startswith("[thread ") and costs[column]
        }
        assert costs == top(name, event)


def annotated_code(function: str) -> dict[int, tuple[int, int]]:
    """Self and total of the instructions of a function, as ``perf2x annotate`` has them."""
    shown = json.loads(perf2x("annotate", function, *words("calls"), "--assembly", "--json").out)
    (code,) = shown["functions"][0]["code"]
    return {row["address"]: (row["self"], row["total"]) for row in code["instructions"] if row["total"]}


@pytest.mark.parametrize("function", ["spin", "touch_pages"])
def test_instructions_cost_what_annotate_says(function: str, tmp_path: Path) -> None:
    """Addresses are those that objdump prints, of calls those of the call instruction."""
    _, found, _ = converted("calls", tmp_path, *INSTRUCTIONS)
    tables = (found.instructions, found.callers)
    own, called = ({at: cost for (one, at), (cost,) in table.items() if one[0] == function} for table in tables)
    costs = {at: (own.get(at, 0), own.get(at, 0) + called.get(at, 0)) for at in own | called}
    assert costs == annotated_code(function)


def test_other_files_have_lines_alone_and_unknown_instructions_are_zero(tmp_path: Path) -> None:
    _, lines, _ = converted("calls", tmp_path)
    _, found, _ = converted("calls", tmp_path, *INSTRUCTIONS)
    assert (lines.header["positions"], found.header["positions"]) == (["line"], ["instr line"])
    assert {at for _, at in lines.instructions} == {0}
    assert {at == 0 for (one, at) in found.instructions if not one[2].endswith("/calls")} == {True}
    assert (found.own, found.calls) == (lines.own, lines.calls)


@pytest.mark.parametrize("hides", [("--anonymize", "secret"), ("--no-symbols",)])
def test_instructions_tell_what_is_hidden(hides: tuple[str, ...], tmp_path: Path) -> None:
    ran = perf2x("convert", *words("calls"), *INSTRUCTIONS, *hides, "-o", tmp_path / "x.callgrind")
    assert (ran.code, f"reveal the names that {hides[0]} hides" in ran.said) == (2, True)


@pytest.mark.parametrize("settings", [(), INSTRUCTIONS], ids=["lines", "instructions"])
@pytest.mark.parametrize("name", ["calls", "group_read"])
def test_callgrind_annotate_prints_what_top_says(name: str, settings: tuple[str, ...], tmp_path: Path) -> None:
    path, _, events = converted(name, tmp_path, *settings)
    printed = annotated(path), annotated(path, "--inclusive=yes")
    for column, event in enumerate(events):
        expected = top(name, event)
        for table, at in zip(printed, (0, 1), strict=True):
            costs = {function: row[column] for function, row in table.items() if row[column]}
            assert costs == {function: pair[at] for (function, _), pair in expected.items() if pair[at]}


def annotated(path: Path, *options: str) -> dict[str, list[int]]:
    """Costs of each function in the table that callgrind_annotate prints."""
    program = shutil.which("callgrind_annotate")
    if program is None:
        pytest.skip("callgrind_annotate is not installed (Debian: valgrind)")
    command = [program, "--auto=no", "--threshold=100", "--show-percs=no", *options, str(path)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, cwd=path.parent)
    assert not ran.stderr
    table = ran.stdout.partition("file:function\n")[2].splitlines()[1:]
    rows = [re.fullmatch(r" *([\d,. ]+)  [^:]*:(.*?)( \[[^ ]+\])?", line) for line in table if line]
    costs = {
        row[2]: [0 if cost == "." else int(cost.replace(",", "")) for cost in row[1].split()] for row in rows if row
    }
    assert len(costs) == len(rows) > 10
    return {name: row for name, row in costs.items() if not name.startswith("[thread ")}
