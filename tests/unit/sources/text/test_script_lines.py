"""Lines of ``perf script`` with all kinds of fields, as samples."""

from collections.abc import Callable
from time import process_time

import numpy as np
import pytest

from perf2x.base.abi.uapi import CpuMode
from perf2x.sources.text import read_text as module
from perf2x.sources.text.read_text import read_text, text_kind
from perf2x.sources.text.text_tables import MAX_FRAMES, Text

FRAMES = "\t          401136 work+0x6 (/demo/prog)\n\tffffffff81000c82 asm_exc+0x22 ([kernel.kallsyms])\n\n"


def read(text: str) -> Text:
    data = text.encode()
    assert text_kind(data) is not None
    return read_text(np.frombuffer(data, np.uint8), "text", lambda _: None)


def told(text: str) -> tuple[object, ...]:
    """Facts of the first sample."""
    found = read(text)
    row = found.samples
    return (
        found.comms[row.comm[0]], int(row.pid[0]), int(row.tid[0]), int(row.cpu[0]), int(row.time[0]),
        found.events[row.event[0]], int(row.value[0]),
    )  # fmt: skip


NO_TIME = 2**63 - 1


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("prog 17 [002]  6.000250: 99 cycles:u: ", ("prog", -1, 17, 2, 6_000_250_000, "cycles:u", 99)),
        ("prog 16/17 [002]  6.000000250: 99 cycles:u: ", ("prog", 16, 17, 2, 6_000_000_250, "cycles:u", 99)),
        ("two words 3 17 6.000250: cycles: ", ("two words 3", -1, 17, -1, 6_000_250_000, "cycles", 1)),
        ("kworker/0:1 17 6.000250: cycles: ", ("kworker/0:1", -1, 17, -1, 6_000_250_000, "cycles", 1)),
        (":-1    -1/-1    U 6.000250: 5 cpu-clock: ", (":-1", -1, -1, -1, 6_000_250_000, "cpu-clock", 5)),
        ("prog 17 cycles: ", ("prog", -1, 17, -1, NO_TIME, "cycles", 1)),
        ("prog 17 2026-11-23 10:00:00.123456 6.000250: cycles:", ("prog", -1, 17, -1, 6_000_250_000, "cycles", 1)),
        ("prog 17 6.000250: sched:switch: prev=1 ==> b", ("prog", -1, 17, -1, 6_000_250_000, "sched:switch", 1)),
        ("prog    17 ", ("prog", -1, 17, -1, NO_TIME, "", 1)),
        ("17 6.000250: cycles: ", ("", -1, 17, -1, 6_000_250_000, "cycles", 1)),
    ],
)  # fmt: skip
def test_lines_that_begin_a_sample(line: str, expected: tuple[object, ...]) -> None:
    assert told(f"{line}\n{FRAMES}") == expected


def stacks(text: str) -> list[list[tuple[object, ...]]]:
    """Frames of each sample, innermost first."""
    found = read(text)
    return [
        [found.frames[frame] for frame in found.stacks.row(row).tolist()] if row >= 0 else []
        for row in found.samples.stack.tolist()
    ]


BEGIN = "prog 17 6.000250: 99 cycles: "


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("401136 work+0x6 (/demo/prog)", ("/demo/prog", CpuMode.USER, (("work", "", 0),))),
        ("401136 f(int) const+0x6 (/demo/a (1)/prog)", ("/demo/a (1)/prog", CpuMode.USER, (("f(int) const", "", 0),))),
        ("401136 (anonymous namespace)::f (/p)", ("/p", CpuMode.USER, (("(anonymous namespace)::f", "", 0),))),
        ("401136 f (/p (deleted))", ("/p (deleted)", CpuMode.USER, (("f", "", 0),))),
        ("401136 operator+ (/p)", ("/p", CpuMode.USER, (("operator+", "", 0),))),
        ("401136 [unknown] ([unknown])", ("", CpuMode.USER, ())),
        ("401136 [unknown] (/demo/prog+0x1136)", ("/demo/prog", CpuMode.USER, ())),
        ("401136 (cookie) ([unknown])", ("", CpuMode.USER, (("[user stack missing]", "", 0),))),
        ("ffffffff81000c82 f ([ext4])", ("[ext4]", CpuMode.KERNEL, (("f", "", 0),))),
        ("ffffffff81000c82 f ([unknown])", ("", CpuMode.KERNEL, (("f", "", 0),))),
        ("7fff4f7d4a41 g ([vdso])", ("[vdso]", CpuMode.USER, (("g", "", 0),))),
        ("401136 work", ("", CpuMode.USER, (("work", "", 0),))),
        ("401136", ("", CpuMode.USER, ())),
    ],
)
def test_frames(line: str, expected: tuple[object, ...]) -> None:
    assert stacks(f"{BEGIN}\n\t{line:>40}\n\n") == [[expected]]
    if "(" in line:  # indentation that was lost on the way
        assert stacks(f"{BEGIN}\n{line}\n\n") == [[expected]]
        assert stacks(f"{BEGIN}    {line}\n") == [[expected]]


def test_flat_lines_have_their_frame_behind_them_and_no_empty_line() -> None:
    text = f"            {BEGIN} 401136 a (/p)\n              dd 1234 6.1: 1 cycles: 401137 b (/p)\n"
    text = text.replace("6.1:", "6.100000:")
    assert [[frame[2][0][0] for frame in stack] for stack in stacks(text)] == [["a"], ["b"]]
    assert read(text).comms == ["prog", "dd"]


def test_inlined_functions_and_source_lines_are_one_frame_with_the_function_around_them() -> None:
    plain = (
        f"{BEGIN}\n\t401136 in+0x1 (inlined)\n\t401136 mid+0x1 (inlined)\n\t401136 out+0x1 (/p)\n\t401200 main (/p)\n\n"
    )
    inlined = ("/p", CpuMode.USER, (("in", "", 0), ("mid", "", 0), ("out", "", 0)))
    assert stacks(plain) == [[inlined, ("/p", CpuMode.USER, (("main", "", 0),))]]
    lines = f"{BEGIN}\n\t401136 in\n  a.c:3 (inlined)\n\t401136 out (/p)\n  a.c:9\n\t401200 main (/p)\n  p[401200]\n\n"
    sourced = ("/p", CpuMode.USER, (("in", "a.c", 3), ("out", "a.c", 9)))
    assert stacks(lines) == [[sourced, ("/p", CpuMode.USER, (("main", "", 0),))]]
    marked = lines.replace("in\n  a.c:3 (inlined)", "in (inlined)\n  a.c:3")
    assert marked != lines
    assert stacks(marked) == stacks(lines)


def test_other_records_and_comments_are_no_samples_and_other_lines_are_counted() -> None:
    text = (
        "# hostname : h\nprog 17 6.000000: PERF_RECORD_COMM exec: prog:17/17\n"
        f"{BEGIN}\n{FRAMES}prog 17 6.000300: DEFERRED CALLCHAIN [cookie: 1]\n\t401136 a (/p)\n\n$ echo\n{BEGIN}\n\n"
    )
    found = read(text)
    assert (len(found.samples), found.lines_not_read) == (2, 1)
    assert found.samples.stack.tolist() == [0, -1]


def test_samples_without_a_line_of_their_own() -> None:
    found = read("\t401136 a (/p)\n\t401200 main (/p)\n\n\t401136 a (/p)\n\n")
    assert (found.events, found.samples.stack.tolist()) == ([""], [0, 1])


def test_frames_behind_an_empty_line_belong_to_no_sample() -> None:
    """They are counted; whose they are cannot be told."""
    whole = f"{BEGIN}\n{FRAMES}"
    found = read(f"\t401136 a (/p)\n\n{whole}\t401136 b (/p)\n\t401200 main (/p)\n\n{whole}")
    assert (found.samples.stack.tolist(), found.lines_not_read, len(found.events)) == ([0, 0], 3, 1)
    assert [frame[2][0][0] for frame in found.frames] == ["work", "asm_exc"]


@pytest.mark.parametrize(
    ("text", "comms"),
    [
        ("\n\t          401136 work\n\t          401200 main\n\n", [""]),
        ("\n\t          401136\n\t          401200\n\n", [""]),
        ("\n\t          401136 (/p)\n\t          401200 (/p)\n\n", [""]),
        ("two words \n\t          401136 work\n\t          401200 main\n\n", ["two words"]),
    ],
)
def test_texts_with_few_fields_are_known(text: str, comms: list[str]) -> None:
    """Of perf script -F ip,sym, -F ip, -F ip,dso and -F comm,ip,sym."""
    found = read(text)
    assert (found.comms, found.stacks.lengths.tolist(), found.lines_not_read) == (comms, [2], 0)


@pytest.mark.parametrize(
    "change", [str, lambda text: text.replace("\n", "\r\n"), str.rstrip], ids=["plain", "crlf", "cut"]
)
def test_line_ends_and_blocks_change_nothing(change: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> None:
    text = "".join(f"prog {row} 6.{row:06}: {row} cycles: \n\t{row:x} f{row % 7} (/p)\n{FRAMES}" for row in range(300))
    wanted = read(text)
    monkeypatch.setattr(module, "_BLOCK_SIZE", 997)
    found = read(change(text))
    assert found.frames == wanted.frames
    assert found.samples.tid.tolist() == wanted.samples.tid.tolist() == list(range(300))
    names = [[found.frames[frame] for frame in found.stacks.row(row).tolist()] for row in found.samples.stack.tolist()]
    assert names == stacks(text)
    assert found.lines_not_read == 0


def test_deep_stacks_keep_their_innermost_frames() -> None:
    sample = BEGIN + "\n" + "".join(f"\t401136 f{row % 9} (/p)\n" for row in range(MAX_FRAMES + 5)) + "\n"
    found = read(sample * 3)
    assert (found.stacks.lengths.tolist(), found.stacks_cut) == ([MAX_FRAMES], 1)
    assert found.frames[int(found.stacks.values[0])][2][0][0] == "f0"


def test_what_is_no_text_of_samples() -> None:
    for data in (
        b"",
        b"\n",
        b"y\n" * 999,
        b"a;b\n",
        b"PERFILE2\0\0",
        b"a;b 1\0",
        b"some words, and 12\n",
        b"Call graph:\n    36314 Thread_7: main  (serial)\n    + 36314 start  (in dyld) + 1\n",  # of macOS
        b"a;b 1 2\n" * 9,
    ):
        assert text_kind(data) is None


OWN = "    564bfb121154 touch+0x1b (/srv/app)"
PERIOD = "   1001001 "


@pytest.mark.parametrize(
    ("front", "thread"),
    [
        ("", ("", -1, -1, -1, NO_TIME)),
        ("prog ", ("prog", -1, -1, -1, NO_TIME)),
        ("            prog ", ("prog", -1, -1, -1, NO_TIME)),
        ("28857 ", ("", -1, 28857, -1, NO_TIME)),
        ("  28857 ", ("", -1, 28857, -1, NO_TIME)),
        ("28857/28858 ", ("", 28857, 28858, -1, NO_TIME)),
        ("  28857/28858   ", ("", 28857, 28858, -1, NO_TIME)),
        ("prog   28857/28858   ", ("prog", 28857, 28858, -1, NO_TIME)),
        ("28857 U     ", ("", -1, 28857, -1, NO_TIME)),
        ("prog 28857 [001] ", ("prog", -1, 28857, 1, NO_TIME)),
        ("prog 28857  6.000250: ", ("prog", -1, 28857, -1, 6_000_250_000)),
    ],
)
@pytest.mark.parametrize("period", [PERIOD, "         1 ", "123456789012 "], ids=["padded", "one", "wide"])
@pytest.mark.parametrize("is_flat", [False, True], ids=["stacks", "flat"])
def test_a_period_without_an_event_is_no_thread(
    front: str, thread: tuple[object, ...], period: str, is_flat: bool
) -> None:
    """As perf 6.1 and 7.2 print it: threads in a column of five or seven, periods in one of ten."""
    line = f"{front}{period}{OWN if is_flat else ''}"
    frames = "" if is_flat else FRAMES
    assert told(f"{line}\n{frames}" * 2) == (*thread, "", int(period))
    assert {len(stack) for stack in stacks(f"{line}\n{frames}" * 2)} == {1 if is_flat else 2}


def test_an_address_behind_a_thread_is_no_period() -> None:
    """``perf script -F comm,tid,addr,ip,sym,dso``: data addresses fill a column of sixteen."""
    assert told(f"prog 28857 {0:16} {OWN}\n" * 2)[1:3] == (-1, 28857)
    assert told(f"prog 28857 {0:16} {OWN}\n" * 2)[6] == 1


FLAT = "app  4242 [000]   100.000001:         50 page-faults: "


@pytest.mark.parametrize(
    "line",
    [
        f"    7fbb4570d010 [unknown] (//anon) {OWN}",
        f"    7fbb4570d010 table+0x7 (/srv/lib (x).so) {OWN}",
        f"    7fbb4570d010{'68100142':>16} |OP LOAD|LVL L1 hit|SNP None|LCK No|BLK  N/A   {99:16d} {OWN}",
        f" /user.slice/app.scope {OWN}",
        f" {OWN}            1000 4K N/A",
        f" {OWN}7f00000000001000 4K N/A",
        f" {OWN} 0x564bfb121150/0x564bfb121154/P/-/-/0//-  0x10/0x20/M/-/-/0//- ",
        f" {OWN} insn: 48 89 e5",
        f" {OWN}\n  app.c:12",
        f" {OWN}\n  app.c:12 ilen: 3 insn: 48 89 e5            1000 4K N/A",
        f" {OWN.partition(' (')[0]} ilen: 3 insn: 48 89 e5",
        f" {OWN.partition(' (')[0]} N/A 4K",
    ],
    ids=["addr", "named", "memory", "cgroup", "pages", "wide", "brstack", "insn", "srcline", "line and all",
         "no object", "sizes alone"],
)  # fmt: skip
def test_the_place_of_a_flat_sample_stands_between_other_fields(line: str) -> None:
    source = ("app.c", 12) if "app.c" in line else ("", 0)
    held = "/srv/app" if "(/srv/app)" in line else ""
    assert stacks(f"{FLAT}{line}\n" * 2) == [[(held, CpuMode.USER, (("touch", *source),))]] * 2


@pytest.mark.parametrize(
    "below",
    [" insn: 48 89 e5", " ilen: 3", " ilen: 3 insn: 53               0 N/A N/A", "\t IPC: 0.56 (14/25) ",
     f"{'1042ba000':>16}", f"{'0':>16}", f"{'7f00000000001000':>16} 4K N/A", " 4K", " N/A 2M"],
)  # fmt: skip
def test_fields_below_a_stack_are_no_frames_and_no_samples(below: str) -> None:
    found = read(f"{BEGIN}\n{FRAMES.rstrip()}\n{below}\n" * 2)
    assert (found.stacks.lengths.tolist(), found.samples.stack.tolist(), found.lines_not_read) == ([2], [0, 0], 0)


def test_numbers_behind_an_event_alone_make_no_frame_of_a_thread() -> None:
    assert told(f"  26023 page-faults: {'0':>40}\n{FRAMES}" * 2) == ("", -1, 26023, -1, NO_TIME, "page-faults", 1)


def test_places_of_the_kernel_fill_their_column() -> None:
    own = "ffffffff81000c82 asm_exc+0x22 ([kernel.kallsyms])"
    assert stacks(f"{FLAT}    7fbb4570d010 [unknown] (//anon) {own}\n")[0][0][2] == (("asm_exc", "", 0),)


@pytest.mark.parametrize(
    ("line", "name", "held"),
    [
        ("140001136 draw (/w/Program Files (x86)/game.exe)", "draw", "/w/Program Files (x86)/game.exe"),
        ("140001136 draw (C:\\Program Files (x86)\\game.exe)", "draw", "C:\\Program Files (x86)\\game.exe"),
        ("140001136 draw (/u/x (copy) (deleted))", "draw", "/u/x (copy) (deleted)"),
        ("140001136 std::function<void (int)>::operator()(int) const (/x)",
         "std::function<void (int)>::operator()(int) const", "/x"),
        ("140001136 main::{lambda(int)#1}::operator() (int) const (/x y [1])",
         "main::{lambda(int)#1}::operator() (int) const", "/x y [1]"),
        ("ffffffff81000000 [kernel.kallsyms]_stext ([kernel.kallsyms]_stext)",
         "[kernel.kallsyms]_stext", "[kernel.kallsyms]_stext"),
    ],
)  # fmt: skip
def test_paths_and_names_have_brackets(line: str, name: str, held: str) -> None:
    for one in (line, line.replace(f" ({held})", f"+0x6 ({held})")):
        ((frame,),) = stacks(f"{BEGIN}\n\t{one:>40}\n\n")
        assert (frame[0], frame[2]) == (held, ((name, "", 0),))


@pytest.mark.parametrize(
    "comm", ["foo: bar", "worker: 3", "a: b: c", "x (1) [2]: y", "CPU 0/KVM", "[007] x", "1 2", "#c"]
)
def test_names_of_threads_have_colons_and_numbers(comm: str) -> None:
    for event in ("cpu-clock:uH", "cpu_core/cycles/P", "sched:sched_switch"):
        line = f"{comm}  4242 [000]   100.000001:     250000 {event}: "
        assert told(f"{line}\n{FRAMES}") == (comm, -1, 4242, 0, 100_000_001_000, event, 250000)


HEX = ["dd", "bc", "ed", "cafe", "deadbeef", "add b", "a b", "ab12", "feed me", "fc 12 x"]
TITLES = ["nginx: worker p", "postgres: autov", "sshd: root@pts/", "kworker/0:1", "C2 CompilerThre", "(sd-pam)"]


@pytest.mark.parametrize("comm", [*HEX, *TITLES])
@pytest.mark.parametrize("thread", ["%5d ", "%7d ", "4242/%-5d "], ids=["6.1", "7.2", "pid"])
@pytest.mark.parametrize("held", [" (/demo/prog)", ""], ids=["object", "no object"])
@pytest.mark.parametrize("fields", [(), ("event",), ("period", "event"), ("misc", "event")])
def test_names_of_threads_without_a_time(comm: str, thread: str, held: str, fields: tuple[str, ...]) -> None:
    """Words that could be addresses, frames or events, in the columns that perf gives them, with a stack and flat."""
    misc, period, event = (name in fields for name in ("misc", "period", "event"))
    front = f"{comm:>16} {thread % 4242}{'U    ' * misc}{'   1001001 ' * period}{'  cpu-clock: ' * event}"
    expected = (comm, 4242 if "/" in thread else -1, 4242, -1, NO_TIME, "cpu-clock" * event, 1001001 if period else 1)
    flat = f"{front}     55883533419b work{held}\n"
    for text in (f"{front.lstrip()}\n{FRAMES}" * 3, *([flat * 3] if held or event else [])):
        assert told(text) == expected
        found = read(text)
        assert (len(found.samples.stack), found.lines_not_read) == (3, 0)
        assert {found.frames[found.stacks.row(row)[0]][2] for row in found.samples.stack.tolist()} == {
            (("work", "", 0),)
        }


@pytest.mark.parametrize("comm", TITLES)
@pytest.mark.parametrize("period", ["", "       1 "])
def test_tracepoints_of_threads_without_a_time(comm: str, period: str) -> None:
    line = (
        f"{comm}   4242 {period}sched:sched_switch: prev_comm=a: b prev_pid=7 prev_state=R+ ==> next_comm=c next_prio=9"
    )
    assert told(f"{line}\n{FRAMES}") == (comm, -1, 4242, -1, NO_TIME, "sched:sched_switch", 1)


def test_numbers_of_memory_between_an_event_and_its_place() -> None:
    line = "prog    17 cycles:     7ffe12345678   53     55883533419b work (/demo/prog)\n"
    assert told(line * 3) == ("prog", -1, 17, -1, NO_TIME, "cycles", 1)


def test_older_text_of_simpleperf() -> None:
    """A TAB behind addresses, and microseconds without zeros in front."""
    lines = [f"app\t42 [007] {time}:\t\t9 task-clock:u:\n   b3cea6c4\tA::a(int) (/x.so)\n\n" for time in
             ("5.936601", "6.8374", "6.10901", "6.374")]  # fmt: skip
    found = read("".join(lines))
    assert found.samples.time.tolist() == [5_936_601_000, 6_008_374_000, 6_010_901_000, 6_000_374_000]
    assert {frame[2] for frame in found.frames} == {(("A::a(int)", "", 0),)}
    assert found.events == ["task-clock:u"]


def test_tracing_data_of_simpleperf_is_no_sample() -> None:
    data = "\ttracing data:\n\t\tprev_comm : render\n\t\tfd : 3\n"
    found = read(f"render 1/2 [007] 5.936601: 1 sched:sched_switch:\n{FRAMES.rstrip()}\n{data}\n" * 2)
    assert (found.events, found.samples.stack.tolist(), found.lines_not_read) == (["sched:sched_switch"], [0, 0], 0)


def test_text_of_branches_is_no_text_of_samples() -> None:
    line = "7/9 4.880965552: 1 branches:uH:   call   401140 main+0xa (/p) =>   401100 work+0x0 (/p)\n"
    assert text_kind(line.encode() * 3) is None
    errors = " instruction trace error type 1 time 4.8 cpu 1 pid 7 tid 9 ip 0 code 6: Trace doesn't match\n"
    assert read(f"{BEGIN}\n{FRAMES}{errors}{BEGIN}\n{FRAMES}").lines_not_read == 0


@pytest.mark.parametrize("number", ["  21926 ", "   2004008 "], ids=["tid", "period"])
def test_a_number_alone_is_no_frame(number: str) -> None:
    found = read(f"{number}\n{FRAMES}" * 2)
    assert (found.stacks.lengths.tolist(), found.samples.stack.tolist(), found.lines_not_read) == ([2], [0, 0], 0)


@pytest.mark.parametrize("line", ["12 " * 20_000, "1 " + " " * 20_000 + "7", "a" + " " * 20_000 + "1" + " " * 20_000,
                                  "a: b" + " 1" * 9_000, "a: " + "b " * 9_000 + "1", "dd" + " 1:" * 9_000])  # fmt: skip
def test_long_lines_of_words_and_blanks_are_read_at_once(line: str) -> None:
    began = process_time()
    read(f"prog 16/17 6.000250: 9 cycles: \n{FRAMES}{line}\n{FRAMES}")
    assert process_time() - began < 2
