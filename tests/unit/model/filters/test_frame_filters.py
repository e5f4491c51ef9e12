"""Filters of frames: against one stack at a time, and what they keep."""

import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from perf2x.base.abi.uapi import CpuMode
from perf2x.base.diagnostics import Diagnostics
from perf2x.errors import OptionError
from perf2x.model.filters import frame_presets
from perf2x.model.filters.filter_options import Filters
from perf2x.model.filters.profile_filters import PROFILE_FILTERS
from perf2x.model.filters.unmatched_filters import UnmatchedFilters
from perf2x.model.profile.profile import Profile
from perf2x.model.transforms.drop_unused import compact
from perf2x.testing import ProfileBuilder
from tests.reference.frame_filters import filtered, stacks_of, summed
from tests.support.command import perf2x, recording
from tests.support.recordings import CORPUS

OBJECTS = ("/opt/bin/app", "/lib/libc.so.6", "[kernel.kallsyms]_text")
LINES = ("main", "std::sort", "std::swap", "less", "malloc", "loop")
FILES = ("", "src/app.cc", "lib/sort.h")
PATTERNS = (
    "main", "^std::", "libc", "app", r"sort\.h$", r"^\[libc", "kernel", "less|malloc", "loop", "^$", ".", "unknown",
    "no",
)  # fmt: skip
RENAMES = ("std::=", r"^(\w)\w*$=\1", r"\[(.*)\]=\1", "libc=C", ".*=all", "no=way")

lines = st.lists(st.tuples(st.sampled_from(LINES), st.sampled_from(FILES), st.just(3)), max_size=3)
locations = st.lists(st.tuples(st.integers(-1, 2), lines), min_size=1, max_size=6)
stacks = st.lists(st.lists(st.integers(0, 5), max_size=7), max_size=6)
texts = st.lists(st.sampled_from(PATTERNS), max_size=2).map(tuple)
renames = st.lists(st.sampled_from(RENAMES), max_size=2).map(tuple)
filters = ("ignore", "focus", "skip_after", "hide", "keep", "collapse")
filter_sets = st.builds(Filters, rename=renames, **dict.fromkeys(filters, texts))


def profile_of(places: Sequence[tuple[int, list[tuple[str, str, int]]]], rows: Sequence[list[int]]) -> Profile:
    """Samples worth 1, 2, 4 … of stacks of these locations (object, lines innermost first)."""
    made = ProfileBuilder()
    made.event("cycles:P", "count")
    made.thread("main", 7)
    start = (0x400000, 0x7F0000, 0xFFFF0000)
    held = [made.mapping(name, start[row], kernel=row == 2) for row, name in enumerate(OBJECTS)]
    known = [
        made.location(
            start[row] + 16 * at if row >= 0 else 16 * at,
            held[row] if row >= 0 else -1,
            inlined,
            mode=CpuMode.KERNEL if row == 2 else CpuMode.USER,
        )
        for at, (row, inlined) in enumerate(places)
    ]
    for bit, row in enumerate(rows):
        made.sample([known[at % len(known)] for at in row], value=1 << bit)
    return made.build()


def applied(profile: Profile, filters: Filters, diagnostics: Diagnostics | None = None) -> Profile:
    unmatched = UnmatchedFilters(1, diagnostics)
    assert filters.active_values().keys() <= PROFILE_FILTERS.keys()
    for name, keep in PROFILE_FILTERS.items():
        if name in filters.active_values():
            profile = keep(profile, filters.active_values()[name], unmatched)
    profile = compact(profile)
    profile.check()
    return profile


INLINED = [(0, [("less", "", 3), ("std::sort", "", 3)]), (0, [("std::swap", "", 3)])]


@given(locations, stacks, filter_sets)
@example(INLINED, [[1, 0], [0, 0, 1]], Filters(collapse=("^std::",)))
@example(INLINED, [[0, 1, 0, 1]], Filters(skip_after=("sort",), hide=("less",)))
@example([(1, [])], [[0, 0]], Filters(collapse=("libc",), rename=(r"\[(.*)\]=\1",)))
def test_every_stack_becomes_what_it_is_alone(
    places: list[tuple[int, list[tuple[str, str, int]]]], rows: list[list[int]], filters: Filters
) -> None:
    profile = profile_of(places, rows)
    assert summed(stacks_of(applied(profile, filters))) == summed(filtered(stacks_of(profile), filters))


@given(locations, stacks, filter_sets)
def test_what_is_gone_is_counted(
    places: list[tuple[int, list[tuple[str, str, int]]]], rows: list[list[int]], filters: Filters
) -> None:
    """Filters of stacks are asked for what they leave out; the others say it."""
    profile, diagnostics = profile_of(places, rows), Diagnostics()
    chosen = applied(profile, Filters(focus=filters.focus, ignore=filters.ignore))
    made = applied(
        chosen, Filters(skip_after=filters.skip_after, hide=filters.hide, collapse=filters.collapse), diagnostics
    )
    assert made.samples.count.sum() + diagnostics["samples_without_frames"] == chosen.samples.count.sum()


@pytest.mark.parametrize("name", filters)
@pytest.mark.parametrize("text", ["(", "[a", "*", "a{99999999999}", "(?P<x>"])
def test_what_is_no_expression_is_refused_as_it_was_typed(name: str, text: str) -> None:
    with pytest.raises(OptionError, match="not a regular expression") as refused:
        Filters(**{name: (text,)})
    assert repr(text) in str(refused.value) and refused.value.args[1] == name


@pytest.mark.parametrize("text", ["a", "=a", r"a=\1", "(=a", r"a=\g<x>"])
def test_a_new_name_needs_an_expression_that_it_fits(text: str) -> None:
    with pytest.raises(OptionError) as refused:
        Filters(rename=(text,))
    assert repr(text) in str(refused.value) and refused.value.args[1] == "rename"


def test_ready_made_sets_have_names_and_the_kernels_are_the_kernels() -> None:
    places = [
        (0, [("schedule", "", 3)]), (2, [("schedule", "", 3)]), (2, [("__schedule.isra.0", "", 3)]),
        (2, [("schedule_work", "", 3)]), (0, [("_PyEval_EvalFrameDefault.cold", "", 3)]), (0, [("PyEvaluate", "", 3)]),
    ]  # fmt: skip
    profile = profile_of(places, [[0, 1, 2, 3, 4, 5]])
    diagnostics = Diagnostics()
    made = applied(profile, Filters(hide=("scheduler", "python", "node")), diagnostics)
    assert [*summed(stacks_of(made))] == [("schedule", "schedule_work")]
    assert not diagnostics.counts  # node is no typing error
    one = applied(profile, Filters(collapse=("scheduler",)))
    assert next(iter(summed(stacks_of(one))))[:3] == ("schedule", "[scheduler]", "schedule_work")


def test_a_pattern_that_no_frame_matches_is_told_once_none_of_the_recordings_has_it() -> None:
    profile, diagnostics = profile_of([(0, [("main", "", 3)])], [[0]]), Diagnostics()
    for recordings, found in ((1, 1), (2, 0)):
        diagnostics = Diagnostics()
        unmatched = UnmatchedFilters(recordings, diagnostics)
        PROFILE_FILTERS["hide"](profile, ("man",), unmatched)
        assert diagnostics["patterns_without_frame"] == found
    PROFILE_FILTERS["hide"](profile, ("man",), unmatched)
    assert diagnostics.counts["patterns_without_frame"].first == "'man'"
    for _ in range(2):
        PROFILE_FILTERS["hide"](profile, ("men",), unmatched)
    assert (diagnostics["patterns_without_frame"], diagnostics.counts["patterns_without_frame"].first) == (
        2,
        "'man', 'men'",
    )


def test_two_options_with_one_pattern_miss_once_in_each_recording() -> None:
    profile, diagnostics = profile_of([(0, [("main", "", 3)])], [[0]]), Diagnostics()
    unmatched = UnmatchedFilters(2, diagnostics)
    for name in ("hide", "collapse"):
        PROFILE_FILTERS[name](profile, ("man", "man"), unmatched)
    assert not diagnostics.counts, "the other recording may have it"


OF_RUNTIMES = {
    "python": ("_PyEval_EvalFrameDefault.cold", "PyEval_EvalFrameEx", "_TAIL_CALL_LOAD_FAST", "Py_RunMain", "Py_Main"),
    "node": (
        "v8::internal::Heap::Scavenge", "void node::crypto::Decode<Hash>()", "_ZN2v88internal4Heap8ScavengeEv",
        "_ZNK4node9inspector5Agent9IsWaitingEv", "Builtins_InterpreterEntryTrampoline", "uv__io_poll", "uv_run",
    ),
    "jvm": (
        "Interpreter", "JavaCalls::call_helper", "_ZN9JavaCalls11call_helperEP9JavaValue", "Thread::call_run()",
        "_ZN6Thread8call_runEv", "_ZL17jni_invoke_staticP7JNIEnv_", "_ZL19thread_native_entryP6Thread",
    ),
    "go-runtime": (
        "runtime.mallocgc", "runtime/internal/atomic.Xadd", "internal/runtime/maps.(*Map).getWithKey", "gogo.abi0",
        "sync.runtime_Semacquire", "aeshashbody",
    ),
}  # fmt: skip
OF_PROGRAMS = (
    "main", "PyList_Sort", "Python_Main", "work w.js:6", "std::vector<v8::Value>::at", "_ZNSt6vectorIN2v85ValueEE2atEm",
    "node_insert", "uvscale", "Interpreter.run", "InterpreterRuntimes", "com.shop.JavaCalls.call", "main.runtime",
    "myruntime.start", "gogogo",
)  # fmt: skip


@pytest.mark.parametrize("kind", OF_RUNTIMES)
def test_ready_made_sets_know_names_of_all_styles(kind: str) -> None:
    names = (*OF_RUNTIMES[kind], *OF_PROGRAMS)
    profile = profile_of([(0, [(name, "", 3)]) for name in names], [[*range(len(names))]])
    assert [*summed(stacks_of(applied(profile, Filters(hide=(kind,)))))] == [OF_PROGRAMS]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="Windows cannot stop an expression")
@pytest.mark.parametrize(("name", "text"), [("hide", "(a+)+!"), ("collapse", "(a|a)*!"), ("rename", "(a+)+!=b")])
def test_an_expression_that_takes_too_long_is_refused(name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame_presets, "_MAX_CPU_SECONDS", 0.02)
    profile, before = profile_of([(0, [("a" * 64, "", 3)])], [[0]]), signal.getsignal(signal.SIGVTALRM)
    with pytest.raises(OptionError, match="to match") as refused:
        applied(profile, Filters(**{name: (text,)}))
    assert refused.value.args[1] == name and repr(text) in str(refused.value)
    assert signal.getsignal(signal.SIGVTALRM) is before and signal.getitimer(signal.ITIMER_VIRTUAL) == (0, 0)
    assert len(applied(profile, Filters(hide=("zz",))).samples) == 1


@pytest.mark.skipif(shutil.which("go") is None, reason="no go tool pprof here")
@pytest.mark.slow
@pytest.mark.parametrize("text", ["touch", "^with_", "with_alloca", "kernel"])
@pytest.mark.parametrize(("name", "theirs"), [("ignore",) * 2, ("focus",) * 2, ("hide",) * 2, ("keep", "show")])
def test_go_pprof_filters_the_same(name: str, theirs: str, text: str, tmp_path: Path) -> None:
    """Rows of ``go tool pprof -top``: its own filter on the whole, none on what was filtered here."""
    whole, ours = tmp_path / "whole.pb.gz", tmp_path / "ours.pb.gz"
    words = ("convert", recording("unwind"), "--symfs", CORPUS / "common" / "symfs", "-q", "-o")
    assert perf2x(*words, whole).code == perf2x(*words, ours, f"--{name}", text).code == 0
    found = go_top(ours)
    assert found == go_top(f"-{theirs}={text}", whole) and (found or name == "ignore")


def go_top(*words: object) -> list[list[str]]:
    """Self, total and name of each function."""
    command = ["go", "tool", "pprof", "-symbolize=none", "-nodefraction=0", "-nodecount=9999", "-top", *map(str, words)]
    lines = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
    rows = [line.split(maxsplit=5) for line in lines]
    return sorted([row[0], row[3], row[5]] for row in rows if len(row) == 6 and row[1].endswith("%"))
