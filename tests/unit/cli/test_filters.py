"""Filters against perf script's answers (data/perf_filters.json), and what they say when nothing passes."""

import json
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from perf2x.cli.app import command
from perf2x.cli.parameters import make_struct
from perf2x.errors import OptionError
from perf2x.kernel.load import load
from perf2x.kernel.load_options import LoadOptions
from perf2x.model.filters.filter_options import Filters, Grouping
from perf2x.model.recording.events import Want
from perf2x.reader import open_recording
from tests.support.ask_perf import ANSWERS, digest, kallsyms_of, path_of, words_of
from tests.support.command import folded, perf2x, recording, spellings
from tests.support.recordings import CORPUS

CLOCKED = Path(__file__).parent / "data" / "clocked.data"
PERF = json.loads(ANSWERS.read_text())
CASES = [(name, text) for name, answers in PERF.items() for text in answers]


def passing(name: str, text: str) -> dict[str, int]:
    words = words_of(text)
    known = spellings(command("convert"))
    pairs = zip(words[::2], words[1::2], strict=True)
    said = {str(known[word.removeprefix("--")][0].name): [value] for word, value in pairs}
    names = {"symfs": str(CORPUS / "common" / "symfs"), "kallsyms": str(kallsyms_of(name)), "inline": False}
    options = make_struct(LoadOptions, said | (names if "symbols" in said else {}))
    profile = load(str(path_of(name)), replace(options, timeline=True)).profile
    profile.check()
    assert profile.samples.time is not None
    tids = profile.threads.tid[profile.samples.thread].tolist()
    return digest(f"{tid} {time}" for tid, time in zip(tids, profile.samples.time.tolist(), strict=True))


@pytest.mark.parametrize(("name", "text"), CASES)
def test_the_same_samples_pass_as_in_perf_script(name: str, text: str) -> None:
    assert PERF[name][text]["samples"] > 0
    assert passing(name, text) == PERF[name][text]


def test_a_thread_is_called_as_it_was_when_the_sample_was_taken() -> None:
    """perf 7.2 prints 779 samples of ``child`` and four of ``:TID`` here: it names a deferred sample when its user
    stack comes, after execve renamed the thread, and forgets a leader whose other thread calls execve. The sample's
    own time decides here; the names are those of the COMM and FORK records before it.
    """
    recording_ = open_recording(recording("forker"))
    comms, forks = recording_.sideband.comms, recording_.sideband.forks
    steps = [(t, 0, tid, comm) for t, tid, comm in zip(comms.time, comms.tid, comms.comm, strict=True)]
    steps += [(t, 0, tid, parent) for t, tid, parent in zip(forks.time, forks.tid, forks.ptid, strict=True)]
    for batch in recording_.samples(Want(0)):
        assert batch.time is not None
        steps += [(t, 1, tid, None) for t, tid in zip(batch.time.tolist(), batch.tid.tolist(), strict=True)]
    called: dict[int, str] = {}
    counted: dict[str, int] = {}
    for _, is_sample, tid, what in sorted(steps, key=lambda step: step[:2]):
        if is_sample:
            counted[called[tid]] = counted.get(called[tid], 0) + 1
        else:
            called[int(tid)] = what if isinstance(what, str) else called[int(what)]
    assert counted == {"child": 751, "forker": 336, "execthread": 17}
    for name, samples in counted.items():
        assert sum(folded(recording("forker"), "--comm", name).values()) == samples


def test_wall_clock_times_choose_as_recorded_times_do() -> None:
    loaded = load(str(CLOCKED), LoadOptions(timeline=True))
    offset = loaded.recording.session.wall_clock_offset_ns
    assert offset is not None
    times = loaded.profile.samples.time
    assert times is not None
    middle = int(times[len(times) // 2]) // 1000 * 1000  # datetimes have microseconds
    stamp = np.datetime64(middle + offset, "ns")
    options = LoadOptions(timeline=True, filters=Filters(wall_times=(f"{stamp}+00:00,",)))
    after = load(str(CLOCKED), options).profile
    assert len(after.samples) == int((times >= middle - 1000).sum())
    assert 0 < len(after.samples) < len(times)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--event", "cpu-clok"), "no event 'cpu-clok'; did you mean cpu-clock? The file has: cpu-clock"),
        (("--pid", "7"), "no pid 7; the file has: 15980"),
        (
            ("--comm", "komputer"),
            "no thread called 'komputer'; did you mean compute? The file has: compute, read zero, zufällig, faults",
        ),
        (("--cpu", "7"), "no cpu 7; the file has: 0, 1"),
        (("--dso", "nowhere"), "no object 'nowhere'; the file has: [kernel.kallsyms], threads"),
        (("--symbol", "main"), "no function 'main'; the file has: [threads], [libc.so.6], [vdso], [kernel.kallsyms]"),
        (("--symbol", "0x10"), "no sample at 0x10"),
        (("--symbol", "0x10-0x1f"), "no sample at 0x10 to 0x1f"),
        (("--time", "1,2"), "no sample in that time; samples range from 5632.110158921 to 5634.109777053"),
        (("--time", "soon,"), "--time: 'soon' is not a time"),
        (("--time", "90%-110%"), "a share lies between 0% and 100%"),
        (("--time", "2,1"), "the start comes after the end"),
        (("--tid", "15982", "--comm", "faults"), "no thread called 'faults'; the file has: compute"),
        (("--pid", "x"), "--pid 'x': expected numbers"),
        (("--root", "cgroup"), "the samples have no cgroup"),
    ],
)
def test_what_is_not_there_is_a_usage_error_that_says_what_there_is(words: tuple[str, ...], sentence: str) -> None:
    ran = perf2x("convert", CLOCKED, "--no-symbols", "--to", "collapsed", "-o", "-", *words)
    assert (ran.code, ran.out) == (2, "")
    assert sentence in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    [
        ("--focus", "nosuch"),
        ("--ignore", "."),
        ("--hide", "."),
        ("--keep", "nosuch"),
        ("--tid", "15982", "--no-idle", "--time", "1,2"),
    ],
)
def test_filters_that_leave_nothing_go_on_if_asked(words: tuple[str, ...], tmp_path: Path) -> None:
    asked = ("convert", CLOCKED, "--no-symbols", "-o", tmp_path / "out.folded", *words)
    ran = perf2x(*asked)
    assert (ran.code, ran.out, list(tmp_path.iterdir())) == (1, "", [])
    assert "no samples: the options exclude all of its " in ran.err and "(--allow-empty continues anyway)" in ran.err
    assert perf2x(*asked, "--allow-empty").code == 0 and not (tmp_path / "out.folded").read_bytes()


def test_code_without_names_goes_by_its_object_or_address() -> None:
    whole = load(str(CLOCKED), LoadOptions(timeline=True)).profile
    leaf = whole.stacks.location[whole.samples.stack]
    address, count = np.unique(whole.locations.address[leaf], return_counts=True)
    top = int(address[count.argmax()])

    def kept(symbol: str) -> int:
        return sum(folded(CLOCKED, "--symbol", symbol).values())

    assert kept(f"{top:#x}") == count.max() > 1
    inside = (address >= top) & (address <= top + 0x1000)
    assert kept(f"{top:#x}-{top + 0x1000:#x}") == count[inside].sum()
    assert kept("[threads]") == sum(folded(CLOCKED, "--dso", "threads").values())
    assert kept("[threads],[kernel.kallsyms],[vdso],[libc.so.6]") == 228


def test_the_summary_says_how_many_passed() -> None:
    ran = perf2x("convert", CLOCKED, "--no-symbols", "--to", "collapsed", "-o", "-", "--cpu", "0")
    assert "of 228 samples of 1 event" in ran.err.splitlines()[0]


def test_times_of_a_recording_without_any() -> None:
    ran = perf2x("convert", recording("per_thread"), "--to", "collapsed", "-o", "-", "--time", "10%/2")
    assert ran.code == 2
    assert "record with: perf record -T" in ran.err


def frames(stack: str) -> list[str]:
    return stack.split(";")[1:]


def test_frames_of_the_user_and_of_the_kernel_share_the_stack_between_them() -> None:
    with_names = (recording("calls"), "--symfs", CORPUS / "common/symfs", "--kallsyms", CORPUS / "calls/kallsyms.xz")
    whole = folded(*with_names, "--kernel-suffix", symbols=True)
    user = folded(*with_names, "--kernel-suffix", "--frames", "user", symbols=True)
    kernel = folded(*with_names, "--kernel-suffix", "--frames", "kernel", symbols=True)

    def expected(keep_kernel: bool) -> dict[str, int]:
        left: dict[str, int] = {}
        for stack, number in whole.items():
            rest = [frame for frame in frames(stack) if frame.endswith("_[k]") == keep_kernel]
            if rest:
                line = ";".join(["calls", *rest])
                left[line] = left.get(line, 0) + number
        return left

    assert user == expected(False)
    assert kernel == expected(True)
    assert sum(kernel.values()) < sum(user.values()) == sum(whole.values())


@pytest.mark.parametrize("depth", [1, 3, 1000])
def test_max_stack_keeps_the_innermost_frames(depth: int) -> None:
    expected: dict[str, int] = {}
    for stack, number in folded(recording("calls")).items():
        line = ";".join(["calls", *frames(stack)[-depth:]])
        expected[line] = expected.get(line, 0) + number
    assert folded(recording("calls"), "--max-stack", depth) == expected


def test_max_stack_of_no_frames_leaves_the_numbers() -> None:
    """0 is a number, not an option that was left out."""
    whole = folded(recording("calls"))
    assert folded(recording("calls"), "--max-stack", 0) == {"calls;[no stack]": sum(whole.values())}


def test_fold_recursion_makes_one_frame_of_a_function_that_calls_itself() -> None:
    names = (recording("calls"), "--symfs", CORPUS / "common/symfs", "--kallsyms", CORPUS / "calls/kallsyms.xz")
    whole, folded_up = folded(*names, symbols=True), folded(*names, "--fold-recursion", symbols=True)
    assert any("descend;descend" in stack for stack in whole)
    assert not any("descend;descend" in stack for stack in folded_up)
    assert sum(number for stack, number in folded_up.items() if "descend;spin" in stack) == sum(
        number for stack, number in whole.items() if "descend;spin" in stack
    )


def test_roots_say_whose_a_stack_is() -> None:
    def roots(*words: str) -> dict[str, int]:
        totals: dict[str, int] = {}
        for stack, number in folded(CLOCKED, *words).items():
            root = stack.split(";")[0]
            totals[root] = totals.get(root, 0) + number
        return totals

    assert {root.replace("_", " "): number for root, number in roots().items()} == roots("--root", "comm")
    assert roots("--root", "process") == {"threads-15980": 228}
    assert roots("--merge-threads") == {"threads": 228}
    assert set(roots("--root", "cpu")) == {"cpu 0", "cpu 1"}
    by_thread = roots("--root", "thread")
    assert by_thread["compute-15980/15982"] == roots()["compute"]
    assert sum(by_thread.values()) == 228
    assert not any(line.startswith(("compute;", "threads;")) for line in folded(CLOCKED, "--root", "none"))


def test_what_is_filtered_out_leaves_no_trace() -> None:
    options = LoadOptions(filters=Filters(comms=("compute",)))
    profile = load(str(CLOCKED), options).profile
    profile.check()
    assert "compute" in profile.strings
    assert "faults" not in profile.strings


def test_numbers_that_are_no_range() -> None:
    with pytest.raises(OptionError, match="not a range"):
        make_struct(Filters, {"cpus": ["7-3"]})


@pytest.mark.parametrize("root", ["comm", "process", "thread", "cpu", "none"])
@pytest.mark.parametrize("timeline", [False, True])
def test_grouped_profiles_keep_every_law_and_every_sample(root: str, timeline: bool) -> None:
    grouping = Grouping(root=root, merge_threads=timeline, fold_recursion=not timeline)
    filters = Filters(max_stack=5, no_idle=True)
    options = LoadOptions(timeline=timeline, grouping=grouping, filters=filters)
    profile = load(str(CLOCKED), options).profile
    profile.check()
    assert int(profile.samples.count.sum()) == 228
    assert (profile.samples.time is not None) == timeline
