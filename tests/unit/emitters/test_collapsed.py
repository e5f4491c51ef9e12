import io
from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perf2x.base.abi.uapi import CpuMode
from perf2x.emitters import collapsed
from perf2x.emitters.collapsed import Collapsed
from perf2x.errors import OptionError
from perf2x.model.profile.profile import Profile
from perf2x.testing import EmitterContract, ProfileBuilder


def folded(profile: Profile, **options: object) -> list[str]:
    out = io.BytesIO()
    Collapsed(**options).emit(profile, out)
    return out.getvalue().decode().splitlines()


class TestCollapsedContract(EmitterContract):
    def emitter(self) -> Collapsed:
        return Collapsed()

    def total(self, output) -> int:
        return sum(int(line.rsplit(b" ", 1)[1]) for line in output.splitlines())


@pytest.fixture
def builder(builder: ProfileBuilder) -> ProfileBuilder:
    builder.event("page-faults", "count", period=1)
    return builder


def test_one_line_per_stack_root_first(builder) -> None:
    main, work = builder.function("main"), builder.function("work")
    builder.sample([main, work], value=30, count=3)
    builder.sample([main], value=12, count=1)
    assert folded(builder.build()) == ["my_prog;main 12", "my_prog;main;work 30"]
    assert folded(builder.build(), value="samples") == ["my_prog;main 1", "my_prog;main;work 3"]


def test_call_sites_of_one_function_are_one_line(builder) -> None:
    program = builder.mapping("/bin/prog")
    for address in (0x400100, 0x400200):
        builder.sample([builder.location(address, program, ["main"])], value=5)
    assert folded(builder.build()) == ["my_prog;main 10"]


def test_inlined_functions_are_frames_of_their_own(builder) -> None:
    place = builder.location(0x400100, lines=["inner", "middle", "outer"])
    builder.sample([place], value=1)
    assert folded(builder.build(), inline_suffix=True) == ["my_prog;outer;middle_[i];inner_[i] 1"]


def test_inlining_and_calling_the_same_functions_is_one_line(builder) -> None:
    inlined = builder.location(0x400100, lines=["inner", "outer"])
    builder.sample([inlined], value=1)
    builder.sample([builder.function("outer"), builder.function("inner")], value=2)
    assert folded(builder.build()) == ["my_prog;outer;inner 3"]


def test_lines_are_sorted_bytewise_where_trees_are_not(builder) -> None:
    a, ab, x = builder.function("a"), builder.function("a b"), builder.function("x")
    for stack in ([a, x], [a], [ab, x], [ab], [builder.function("a!")], [builder.function("á")]):
        builder.sample(stack, value=1)
    lines = folded(builder.build())
    keys = [line.rsplit(" ", 1)[0].encode() for line in lines]
    assert keys == sorted(keys)
    assert len(lines) == 6


def test_unresolved_frames_are_named_by_their_object(builder) -> None:
    library = builder.mapping("/usr/lib/libc.so.6", 0x7F0000000000)
    kernel = builder.mapping("[kernel.kallsyms]_text", 2**63, kernel=True)
    places = [
        builder.location(0x12, -1),
        builder.location(0x7F0000000012, library),
        builder.location(2**63 + 5, kernel, mode=CpuMode.KERNEL),
    ]
    builder.sample(places, value=1)
    assert folded(builder.build()) == ["my_prog;[unknown];[libc.so.6];[kernel.kallsyms] 1"]


def test_kernel_is_marked_by_mode_not_by_name(builder) -> None:
    vdso = builder.mapping("[vdso]", 0x7FFF00000000)
    places = [
        builder.location(0x7FFF00000010, vdso, ["__vdso_gettimeofday"]),
        builder.function("do_syscall_64", CpuMode.KERNEL),
    ]
    builder.sample(places, value=1)
    expected = ["my_prog;__vdso_gettimeofday;do_syscall_64_[k] 1"]
    assert folded(builder.build(), kernel_suffix=True) == expected
    assert folded(builder.build(), annotate_all=True) == expected


@pytest.mark.parametrize("filename", ["//anon", "/tmp/perf-7.map", "/home/me/.debug/jit/x/jitted-7-12.so"])
def test_jit_frames_are_marked(builder, filename) -> None:
    builder.sample([builder.location(0x400010, builder.mapping(filename), ["Lfoo;::bar"])], value=1)
    assert folded(builder.build(), jit_suffix=True) == ["my_prog;Lfoo:::bar_[j] 1"]


def test_threads_by_request(builder) -> None:
    builder.thread("my prog", 7, 9)
    for thread in (0, 1):
        builder.sample([builder.function("main")], thread, value=1)
    assert folded(builder.build()) == ["my_prog;main 2"]
    assert folded(builder.build(), with_pid=True) == ["my_prog-7;main 2"]
    assert folded(builder.build(), with_tid=True) == ["my_prog-7/8;main 1", "my_prog-7/9;main 1"]


def test_no_stack_is_a_line_too(builder) -> None:
    builder.sample([], value=4)
    assert folded(builder.build()) == ["my_prog;[no stack] 4"]


def test_events_are_never_mixed_silently(builder) -> None:
    main = builder.function("main")
    builder.sample([main], value=100, count=2)
    builder.sample([main], event=1, value=3, count=3)
    profile = builder.build()
    assert folded(profile) == ["my_prog;main 100"]
    assert folded(profile, event="page-faults") == ["my_prog;main 3"]
    assert folded(profile, event="cpu-clock") == ["my_prog;main 100"]
    assert folded(profile, event="all", value="samples") == ["my_prog;main 5"]
    assert Collapsed().notes(profile) == (
        "numbers are nanoseconds of cpu-clock; other events: page-faults (select with event=NAME)",
    )
    with pytest.raises(OptionError, match="do not add up"):
        Collapsed(event="all")
    with pytest.raises(OptionError, match="it has cpu-clock, page-faults"):
        folded(profile, event="instructions")


def test_many_stacks_are_written_beside(builder: ProfileBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    builder.sample([builder.function("main")], value=12)
    monkeypatch.setattr(collapsed, "_ROWS_FOR_WRITER_THREAD", 1)
    threads: list[bool] = []
    start = Thread.start
    monkeypatch.setattr(Thread, "start", lambda thread: (threads.append(True), start(thread))[1])
    assert (folded(builder.build()), threads) == (["my_prog;main 12"], [True])


def test_unknown_choice_is_refused() -> None:
    with pytest.raises(OptionError, match="choose from period, samples"):
        Collapsed(value="weight")


NAMES = st.sampled_from(["a", "b", "a b", "a!", "a;b", "á", "ab"])
PLACES = st.lists(st.lists(NAMES, max_size=3), max_size=5)


@given(st.lists(st.tuples(PLACES, st.integers(0, 2), st.integers(0, 9)), max_size=20))
def test_agrees_with_a_dictionary(rows) -> None:
    """The scalar twin: join names sample by sample, sum in a dictionary, sort the keys."""
    builder = ProfileBuilder()
    builder.event("cycles", "count")
    threads = [builder.thread(name, number) for number, name in enumerate(["a", "a b", "b;"])]
    expected: dict[bytes, int] = {}
    for places, thread, value in rows:
        locations = [builder.location(0x1000, lines=lines) if lines else builder.location(0x99) for lines in places]
        builder.sample(locations, threads[thread], value=value)
        frames = [name for lines in places for name in (list(reversed(lines)) or ["[unknown]"])]
        names = [name.replace(";", ":") for name in frames] or ["[no stack]"]
        key = ";".join([("a", "a_b", "b:")[thread], *names]).encode()
        expected[key] = expected.get(key, 0) + value
    lines = [f"{key.decode()} {expected[key]}" for key in sorted(expected)]
    assert folded(builder.build()) == lines
