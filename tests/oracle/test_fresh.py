"""The comparison with fresh recordings finds what it is there to find, and its rules know no more than they should."""

from collections import Counter
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.oracle.fresh.comparison import Findings, compare
from tests.oracle.fresh.known import ONES, Recorded, frame_rule, name_rule, stack_rule
from tests.oracle.fresh.recording import Commands
from tests.support.command import perf2x
from tests.support.recordings import CORPUS
from tests.support.tiny_elf import TinySection, tiny_elf

DATA = CORPUS / "calls" / "perf.data"
NAMED = "7f0000001010 work+0x10 (/bin/busy)"
CHAIN = SimpleNamespace(chain=[1, 2], stack=None)


@cache
def script() -> str:
    return perf2x("script", DATA, "--ns", "-F", "+pid,+symoff", "--no-symbols").out


class Stored(Commands):
    """Both programs say what ours says of a recording in the corpus, but for what is told to differ."""

    damage: tuple[str, str] = ("", "")
    more_folds = lost = 0

    def samples_by_perf(self, path: Path) -> tuple[list[str], dict[int, set[str]]]:
        return script().split("\n"), {}

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
        ("1010 [unknown] (/a)", "7f0000001010 read@plt+0x0 (/a)", False, "6.1 names PLTs otherwise"),
        ("1010 [unknown] (/a)", "7f0000001010 read+0x0 (/a)", False, None),
    ],
)
def test_rules_of_frames_are_narrow(perf: str, ours: str, caller: bool, rule: str | None) -> None:
    assert frame_rule(perf, ours, caller, Recorded(DATA), False) == rule


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
    assert (frame_rule(f"401010 [unknown] ({program})", ours, True, recorded, False) is not None) is is_known
    assert (frame_rule(f"1010 [unknown] ({program})", ours, True, recorded, False) is not None) is is_known
    for other in (f"401011 [unknown] ({program})", f"401010 [unknown] ({program}x)", f"401010 f+0x1 ({program})"):
        assert frame_rule(other, ours, True, recorded, False) is None


def test_rules_of_names_and_stacks_are_narrow() -> None:
    assert name_rule(":7", "busy", 7, ()) and not name_rule(":8", "busy", 7, ())
    assert name_rule("a", "b", 7, {"a", "b"}) and not name_rule("a", "b", 7, {"a"})
    assert not stack_rule([], [NAMED], CHAIN)
    assert not stack_rule([NAMED, ONES], [NAMED], CHAIN)
    assert not stack_rule([NAMED], [NAMED, NAMED], SimpleNamespace(chain=[1], stack=bytes(8)))
    assert stack_rule([NAMED], [NAMED, NAMED], SimpleNamespace(chain=[1], stack=b""))
    assert stack_rule([], [NAMED], SimpleNamespace(chain=[2**64 - 512, 1, 2**64 - 1], stack=None))
