"""The comparison with fresh recordings finds what it is there to find, and its rules know no more than they should."""

import shutil
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests import forge
from tests.forge import kernel as k
from tests.forge.histories import EVENT
from tests.oracle.fresh.comparison import Findings, compare
from tests.oracle.fresh.known import NO_SECTION, ONES, Recorded, frame_rule, name_rule, stack_rule
from tests.oracle.fresh.recording import SHELL, Commands, Tasks, product
from tests.support.command import perf2x
from tests.support.recordings import CORPUS
from tests.support.tiny_elf import TinySection, TinySymbol, symbol_sections, tiny_elf

DATA = CORPUS / "calls" / "perf.data"
NAMED = "7f0000001010 work+0x10 (/bin/busy)"
LAST = "the frame pointer at a function's last instruction"
ENDED = "perf forgets what a process had mapped at its end"
LATE = "perf takes the records of small flushes out of order"
CLONES = "6.1 leaves clones out of names"
CHAIN = SimpleNamespace(chain=[1, 2], stack=None)


@cache
def script() -> str:
    return perf2x("script", DATA, "--ns", "-F", "+pid,+symoff", "--no-symbols").out


class Stored(Commands):
    """Both programs say what ours says of a recording in the corpus, but for what is told to differ."""

    damage: tuple[str, str] = ("", "")
    more_folds = lost = shell_id = 0
    forks = ""

    def samples_by_perf(self, path: Path) -> tuple[list[str], Tasks]:
        return script().split("\n"), tasks(self.forks)

    def shell(self, path: Path) -> int:
        return self.shell_id

    def losses_by_perf(self, path: Path) -> int:
        return self.lost

    def ask(self, folder: Path, *words: str) -> str:
        return script().replace(*self.damage) if words[0] == "script" else perf2x("info", DATA, "--json").out

    def folds(self, folder: Path, names: object) -> Counter[str]:
        ran = perf2x("convert", DATA, "--to", "collapsed", "--value", "samples", "--no-symbols", "-o", "-", "-q")
        pairs = (line.rpartition(" ") for line in ran.out.splitlines())
        folds = Counter({stack: int(count) for stack, _, count in pairs})
        folds["calls;more"] += self.more_folds
        return +folds


def tasks(lines: str) -> Tasks:
    told = Tasks()
    for line in lines.splitlines():
        told.take(line)
    return told


def found(**differing: object) -> Findings:
    commands = Stored(("perf",), ("perf2x",), Path())
    for name, value in differing.items():
        object.__setattr__(commands, name, value)
    findings = Findings()
    compare(commands, [DATA], findings)
    return findings


def test_equal_answers_have_no_difference() -> None:
    findings = found()
    assert (findings.samples, findings.unknown, findings.known) == (335, Counter(), Counter())


@pytest.mark.parametrize(
    ("damage", "kind"),
    [
        (("2747.931925913", "2747.931925914"), "sample that perf2x does not have"),
        (("2747.931925913:    2004008", "2747.931925913:    2004009"), "sample that perf2x does not have"),
        (("21926/21926    2747.929919697", "21926/21927    2747.929919697"), "sample that perf does not have"),
        (("\tffffffff815a1b49 ", "\tffffffff815a1b48 "), "frame"),
        (("(/demo/calls)", "(/demo/other)"), "frame"),
        (("\n\t  30303900736c6c [unknown] ([unknown])", ""), "length of a stack"),
        (("calls   21926/21926    2747.929919697", "other   21926/21926    2747.929919697"), "name of a thread"),
        (("2004008 cpu-clock: \n", "2004008 cpu-clock: text\n"), "text behind the event"),
    ],
)
def test_each_difference_of_a_sample_is_found(damage: tuple[str, str], kind: str) -> None:
    assert kind in found(damage=damage).unknown


WHOLE_MACHINE = """
   swapper     0     0.000000: PERF_RECORD_FORK(1:1):(0:0)
   swapper     0     0.000000: PERF_RECORD_FORK(70:70):(1:1)
        sh    70     1.000000: PERF_RECORD_FORK(80:80):(70:70)
        sh    80     1.000000: PERF_RECORD_FORK(21926:21926):(80:80)
     calls 21926     1.000000: PERF_RECORD_FORK(21926:21930):(21926:21926)
"""


@pytest.mark.parametrize(
    ("forks", "shell", "is_strange"),
    [
        (WHOLE_MACHINE, 70, False),
        (WHOLE_MACHINE, 80, False),
        (WHOLE_MACHINE, 21926, False),
        (WHOLE_MACHINE, 90, True),
        (WHOLE_MACHINE.replace("(80:80):(70:70)", "(80:80):(21926:21926)"), 90, True),
        (WHOLE_MACHINE.replace("(21926:21926)", "(1926:1926)", 1).replace("21926:21930", "1926:1930"), 80, True),
        (WHOLE_MACHINE.replace("(1:1)", "(2:2)"), 90, False),
        ("", 90, False),
    ],
)
def test_frames_of_programs_that_no_mode_started_are_told_apart(forks: str, shell: int, is_strange: bool) -> None:
    findings = found(damage=("\tffffffff815a1b49 ", "\tffffffff815a1b48 "), forks=forks, shell_id=shell)
    assert (findings.elsewhere, findings.unknown) == (
        (Counter({"frame of another program": 1}), Counter()) if is_strange else (Counter(), Counter({"frame": 1}))
    )


def test_other_differences_of_strange_programs_fail() -> None:
    renamed = ("calls   21926/21926    2747.929919697", "other   21926/21926    2747.929919697")
    assert found(damage=renamed, forks=WHOLE_MACHINE, shell_id=9).unknown["name of a thread"] == 1


def test_a_program_that_goes_in_between_differs_nowhere() -> None:
    """Its names are in the first answer alone; perf, asked first, has them, too."""

    class Vanishing(Stored):
        def ask(self, folder: Path, *words: str) -> str:
            text = super().ask(folder, *words)
            if words[0] == "script":
                object.__setattr__(self, "damage", ("", ""))
            return text

        def samples_by_perf(self, path: Path) -> tuple[list[str], Tasks]:
            return script().replace(*self.damage).split("\n"), tasks("")

    commands, findings = Vanishing(("perf",), ("perf2x",), Path()), Findings()
    object.__setattr__(commands, "damage", ("[unknown] (/demo/calls)", "work+0x1 (/demo/calls)"))
    compare(commands, [DATA], findings)
    assert not findings.unknown


def test_differences_of_sums_are_found() -> None:
    assert found(more_folds=1).unknown == Counter({"folded stacks": 1})
    assert found(lost=7).unknown == Counter({"lost samples": 1})


@pytest.mark.parametrize(
    ("perf", "ours", "caller", "rule"),
    [
        ("1010 work+0x10 (/bin/busy)", NAMED, False, "6.1 prints offsets in files"),
        ("1011 work+0x10 (/bin/busy)", NAMED, False, None),
        ("1010 other+0x10 (/bin/busy)", NAMED, False, None),
        ("1010 work+0x11 (/bin/busy)", NAMED, False, None),
        ("7f0000001010 next+0x0 (/bin/busy)", NAMED, True, "a call at the end of a function"),
        ("7f0000001010 next+0x0 (/bin/busy)", NAMED, False, None),
        ("7f0000001010 next+0x0 (/bin/other)", NAMED, True, None),
        ("7f0000001010 [unknown] ([unknown])", NAMED, True, None),
        ("ffffffff81000010 [unknown] ([unknown])", "ffffffff81000010 f+0x1 ([kernel.kallsyms])", True, None),
        ("1010 f<int>+0x2 (/a)", "7f0000001010 int f<int>(int)+0x2 (/a)", False, "6.1 leaves types out of names"),
        ("1010 f<int>+0x2 (/a)", "7f0000001010 int g<int>(int)+0x2 (/a)", False, None),
        ("1010 T::f(int)+0x2 (/a)", "7f0000001010 T::f(int) [clone .lto_priv.0]+0x2 (/a)", False, CLONES),
        ("1010 T::f(int)+0x2 (/a)", "7f0000001010 T::f(int) [clone .lto_priv.0]+0x3 (/a)", False, None),
        ("1010 T::g(int)+0x2 (/a)", "7f0000001010 T::f(int) [clone .lto_priv.0]+0x2 (/a)", False, None),
        ("1010 f.llvm.17.cold+0x2 (/a)", "1010 f.cold+0x2 (/a)", False, "hashes of LLVM before another suffix"),
        ("1010 f.llvm.17.cold+0x2 (/a)", "1010 f.cold+0x2 (/b)", False, None),
        ("1010 f.llvm.17.cold+0x2 (/a)", "1010 f.warm+0x2 (/a)", False, None),
        ("1010 f.llvm.17+0x2 (/a)", "1010 f+0x2 (/a)", False, None),
        ("1010 [unknown] (/a)", "7f0000001010 read@plt+0x0 (/a)", False, "6.1 names PLTs otherwise"),
        ("1010 [unknown] (/a)", "7f0000001010 read+0x0 (/a)", False, None),
    ],
)
def test_rules_of_frames_are_narrow(perf: str, ours: str, caller: bool, rule: str | None) -> None:
    assert frame_rule(perf, ours, caller, Recorded(DATA), None) == rule


@pytest.mark.parametrize(
    ("sections", "is_known"),
    [
        ([".gopclntab"], True),
        ([".data.rel.ro.gopclntab"], True),
        ([".gopclntab", ".symtab"], False),
        ([".text"], False),
        (None, False),
    ],
)
def test_names_that_only_gos_own_table_has(sections: list[str] | None, is_known: bool, tmp_path: Path) -> None:
    program, recorded = tmp_path / "program", Recorded(DATA)
    program.write_bytes(b"text" if sections is None else tiny_elf([TinySection(name, b"\0" * 8) for name in sections]))
    ours = f"401010 main.work+0x10 ({program})"
    assert (frame_rule(f"401010 [unknown] ({program})", ours, True, recorded, None) is not None) is is_known
    assert (frame_rule(f"1010 [unknown] ({program})", ours, True, recorded, None) is not None) is is_known
    for other in (f"401011 [unknown] ({program})", f"401010 [unknown] ({program}x)", f"401010 f+0x1 ({program})"):
        assert frame_rule(other, ours, True, recorded, None) is None


@pytest.mark.parametrize("is_64", [True, False])
@pytest.mark.parametrize(
    ("table", "symbol", "is_known"),
    [
        (".symtab", TinySymbol("data", 0, type=1, section=9), True),
        (".dynsym", TinySymbol("f", 0, type=2, section=9), True),
        (".symtab", TinySymbol("ifunc", 0, type=10, section=4), True),
        (".symtab", TinySymbol("in the last section", 0, type=2, section=3), False),
        (".symtab", TinySymbol("label", 0, type=0, section=9), False),
        (".symtab", TinySymbol("absolute", 0, type=1, section=0xFFF1), False),
        (".other", TinySymbol("f", 0, type=2, section=9), False),
    ],
)
def test_files_in_whose_symbols_perf_gives_up(
    table: str, symbol: TinySymbol, is_known: bool, is_64: bool, tmp_path: Path
) -> None:
    program, recorded = tmp_path / "program", Recorded(DATA)
    program.write_bytes(tiny_elf(symbol_sections([TinySymbol("g", 0), symbol], 1, is_64, table=table), is_64))
    rule = NO_SECTION if is_known else None
    for perf in ("401010 [unknown]", "401010 alias+0x10", "1010 [unknown]"):
        assert frame_rule(f"{perf} ({program})", f"401010 work+0x10 ({program})", False, recorded, None) == rule
    for perf in (f"401010 [unknown] ({program}x)", f"401010 alias+0x11 ({program})", f"401011 [unknown] ({program})"):
        assert frame_rule(perf, f"401010 work+0x10 ({program})", False, recorded, None) is None


@pytest.mark.skipif(shutil.which("perf") is None, reason="needs perf")
def test_perf_gives_up_in_symbols_at_one_of_no_section(tmp_path: Path) -> None:
    """The small one of what BOLT made of Rust's compiler."""
    symbols = [TinySymbol("before", 4096, 16, section=3), TinySymbol("data", 0, 4, 1, section=9)]
    tables = symbol_sections([*symbols, TinySymbol("after", 4112, 16, section=3)], 1)
    program = tmp_path / "program"
    program.write_bytes(tiny_elf([*tables, TinySection(".text", b"TEXT" * 8, 4096, flags=6)]))
    text = 0x7F0000000000 + program.read_bytes().index(b"TEXTTEXT")
    stacks = [(k.CONTEXT_KERNEL, 2**63, k.CONTEXT_USER, text + offset, text + offset) for offset in (4, 4, 20)]
    samples = [
        forge.Sample(mode=k.KERNEL, ip=2**63, chain=chain, period=1, pid=1, tid=1, time=time)
        for time, chain in enumerate(stacks, 2)
    ]
    mapping = forge.Mmap2(pid=1, tid=1, addr=text & ~0xFFF, len=4096, filename=str(program), stamp=forge.Stamp(1, 1, 1))
    (tmp_path / "perf.data").write_bytes(
        forge.write_file(forge.Session((replace(EVENT, flags=EVENT.flags | {"exclude_guest"}),)), [mapping, *samples])
    )
    (tmp_path / SHELL).write_text("1")
    findings = Findings()
    compare(Commands(("perf",), product(()), tmp_path), [tmp_path / "perf.data"], findings)
    assert (findings.samples, findings.known[NO_SECTION], findings.unknown) == (3, 3, Counter())


@pytest.mark.parametrize(
    ("end", "fork", "order", "rule"),
    [
        (9, 1, "fork sample", ENDED),
        (11, 1, "fork sample", None),
        (11, 1, "sample fork", LATE),
        (11, 11, "sample fork", None),
        (9, 1, "sample fork", ENDED),
        (11, 0, "sample", None),
    ],
)
def test_processes_whose_mappings_perf_does_not_know(
    end: int, fork: int, order: str, rule: str | None, tmp_path: Path
) -> None:
    records: dict[str, forge.Record] = {
        "fork": forge.Fork(pid=2, ppid=1, tid=2, ptid=1, time=fork, stamp=forge.Stamp(2, 2, fork)),
        "sample": forge.Sample(pid=2, tid=2, time=10),
    }
    last = forge.Exit(pid=2, ppid=1, tid=2, ptid=1, time=end, stamp=forge.Stamp(2, 2, end))
    path = tmp_path / "perf.data"
    path.write_bytes(forge.write_file(forge.Session((EVENT,)), [*(records[name] for name in order.split()), last]))
    recorded = Recorded(path)
    assert recorded.why_unmapped(2, 2, 10) == rule
    assert recorded.why_unmapped(3, 2, 10) is recorded.why_unmapped(2, 2, None) is None
    bare, ours = "1010 [unknown] ([unknown])", "1010 work+0x10 (/bin/busy)"
    assert frame_rule(bare, ours, False, recorded, rule) == rule
    assert frame_rule("1010 [unknown] (/bin/busy)", ours, False, recorded, rule) is None


def test_rules_of_names_and_stacks_are_narrow() -> None:
    assert name_rule(":7", "busy", 7, ()) and not name_rule(":8", "busy", 7, ())
    assert name_rule("a", "b", 7, {"a", "b"}) and not name_rule("a", "b", 7, {"a"})
    here = Recorded(DATA)
    assert not stack_rule([], [NAMED], CHAIN, here)
    assert not stack_rule([NAMED, ONES], [NAMED], CHAIN, here)
    assert not stack_rule([NAMED], [NAMED, NAMED], SimpleNamespace(chain=[1], stack=bytes(8)), here)
    assert stack_rule([NAMED], [NAMED, NAMED], SimpleNamespace(chain=[1], stack=b""), here)
    assert stack_rule([], [NAMED], SimpleNamespace(chain=[2**64 - 512, 1, 2**64 - 1], stack=None), here)


@pytest.mark.parametrize(
    ("ip", "perf", "ours", "is_known"),
    [
        (0x40001, 2, 4, True),
        (2**64 - 1, 2, 4, True),
        (0x40001, 3, 4, True),
        (0x40001, 1, 4, False),
        (0x40001, 4, 3, False),
        (0x40000, 2, 4, False),
        (0x50001, 2, 4, False),
        (0x60000, 2, 4, False),
    ],
)
def test_stacks_that_end_above_a_last_instruction(
    ip: int, perf: int, ours: int, is_known: bool, tmp_path: Path
) -> None:
    program, path = tmp_path / "program", tmp_path / "perf.data"
    program.write_bytes(bytes(0x200) + b"\x90\xc3")
    mapping = forge.Mmap2(pid=1, tid=1, addr=0x40000, len=16, pgoff=0x200, filename=str(program))
    gone = replace(mapping, addr=0x60000, filename="/gone")
    other = replace(mapping, addr=0x50000, pid=2)
    event, registers = EVENT, forge.Registers()
    if ip == 2**64 - 1:  # the kernel interrupted the last instruction
        event = replace(EVENT, sample_type=EVENT.sample_type | k.REGS_USER, sample_regs_user=0x181)
        registers = forge.Registers(2, (0x50001, 0x60000, 0x40001))
    sample = forge.Sample(ip=ip, pid=1, tid=1, time=7, regs_user=registers)
    path.write_bytes(forge.write_file(forge.Session((event,)), [mapping, gone, other, sample]))
    recorded = Recorded(path)
    found = recorded.sample(1, 7)
    found.stack = bytes(8)
    for ending in ([], [ONES]):
        frames = [NAMED] * perf + ending
        assert (stack_rule(frames, [NAMED] * ours, found, recorded) == LAST) is is_known
    found.stack = None
    assert stack_rule([NAMED] * perf, [NAMED] * ours, found, recorded) != LAST
