"""Pushes through the CI files with perf2x itself: exit codes, and what the summary says first.

Six in a row through all three, and thirteen through the action, each compared with the same recording, as pushes to a
branch and to a pull request, whose comment they update.

``python -m tests.unit.cli.test_six_pushes`` prints them as a table.
"""

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.forge import Comm, Event, Mmap2, Sample, Session, write_file
from tests.support.comments import served
from tests.support.recordings import ROOT
from tests.support.tiny_elf import TinySection, TinySymbol, symbol_sections, tiny_elf
from tests.support.workflows import GitHub, GitLab, Program, Run

CI = ROOT / "examples" / "ci"
SERVICES = {"github-action.yml": GitHub, "github.yml": GitHub, "gitlab.yml": GitLab}
REAL = f"#!{sys.executable}\nfrom perf2x.cli import main\nmain()\n"
FUNCTIONS = ("parse", "render", "store", "main", "lex", "tokenize", "other", "second")
CODE = bytes(range(1, 0x81))
PUSHES: tuple[tuple[str, tuple[int, int, int], int, str, str], ...] = (
    ("first", (1600, 1400, 1000), 0, "no baseline", "there is no earlier recording to compare with"),
    (
        "unchanged",
        (1585, 1410, 1005),
        0,
        "passed",
        "nothing exceeds its limit (total=25%, share=5%); the total changed",
    ),
    (
        "one function +30 %",
        (2080, 1400, 1000),
        3,
        "failed",
        "the share of parse in app grew by +6.8 % of the total, from",
    ),
    ("everything 2x", (4200, 2810, 2020), 3, "failed", "the total grew by +101.6 % ("),
    (
        "faster",
        (1600, 400, 1000),
        0,
        "passed",
        "nothing exceeds its limit (total=25%, share=5%); the total changed by -",
    ),
    ("fork without secrets", (3200, 2800, 2000), 3, "failed", "the total grew by +166.7 % ("),
)
"""(what, samples of each function, exit code, verdict, start of the first reason)."""
GITLAB_FORK = (*PUSHES[-1][:2], 0, *PUSHES[0][3:])
"""GitLab runs what comes from a fork there, with the caches of the fork."""


def elf() -> bytes:
    text = TinySection(".text", CODE, address=0x1000, flags=6)
    symbols = [TinySymbol(name, 0x1000 + 16 * row, 16) for row, name in enumerate(FUNCTIONS)]
    return tiny_elf([text, *symbol_sections(symbols, 2)])


def recorded(costs: Mapping[str, int], event: Event = Event()) -> bytes:  # noqa: B008
    """A recording with so many milliseconds in each stack."""
    place = 0x400000 + elf().index(CODE)
    chains = [
        tuple(place + 16 * FUNCTIONS.index(name) + 4 for name in reversed(stack.split(";")))
        for stack, count in costs.items()
        for _ in range(count)
    ]
    samples = [
        Sample(ip=chain[0], time=9 + t, period=1_000_000, chain=(0xFFFFFFFFFFFFFE00, *chain))
        for t, chain in enumerate(chains)
    ]
    binary = Mmap2(pid=1, tid=1, addr=0x400000, len=0x10000, filename="/bin/app")
    return write_file(Session(events=(event,)), [Comm(pid=1, tid=1, comm="app"), binary, *samples])


def started(folder: Path) -> Program:
    """A program whose binary lies where perf2x looks."""
    program = Program(folder, REAL)
    (folder / "root" / "bin").mkdir(parents=True)
    (folder / "root" / "bin" / "app").write_bytes(elf())
    program.env["PERF2X_SYSROOT"] = str(folder / "root")
    return program


def six_pushes(folder: Path, name: str) -> list[Run]:
    """The runs, the last one a pull request from a fork, which may write nothing and has no secrets."""
    service = SERVICES[name]
    program = started(folder)
    there, runs = service(program.runs, program.env), list[Run]()
    for number, (what, costs, *_) in enumerate(PUSHES):
        program.becomes(recorded(dict(zip(FUNCTIONS, costs, strict=False))))
        if what.startswith("fork"):
            fork = there if service is GitHub else service(folder / "fork", program.env)
            runs.append(fork.pull_request(CI / name, "p1", f"c{number}"))
        else:
            runs.append(there.push(CI / name, f"c{number + 1}", f"c{number}"))
    return runs


@pytest.mark.slow
@pytest.mark.parametrize("name", SERVICES)
def test_six_pushes(tmp_path: Path, name: str) -> None:
    wanted = (*PUSHES[:-1], GITLAB_FORK if name == "gitlab.yml" else PUSHES[-1])
    for run, (what, _, code, verdict, reason) in zip(six_pushes(tmp_path, name), wanted, strict=True):
        lines = run.summary.splitlines()
        assert run.code == code, (what, run.said)
        assert lines[0] == f"### perf2x: {verdict}", what
        assert lines[2].removeprefix("- ").startswith(reason), (what, lines[2])
        assert (what == "faster") == ("shares that grew only because others shrank: " in run.summary), what
        compared = verdict != "no baseline"
        assert run.artifacts["profile"] >= {"report.md", "profile.html", "profile.pb.gz", "stats.json"}, what
        assert ({"diff.html", "diff.pb.gz"} <= run.artifacts["profile"]) == compared, what
        assert ("#### What changed" in lines) == compared, what
        if compared:
            _agree(what, lines, run.outputs.get("change"))


REST = {"main;render": 1400, "main;store": 1000}
BASE = {**REST, "main;parse": 1100, "main;parse;lex": 500}
PASSED = "nothing exceeds its limit (total=25%, share=5%); the total changed by"
THIRTEEN: tuple[tuple[str, Mapping[str, int], int, str, str, str], ...] = (
    (
        "faster",
        BASE | {"main;render": 400},
        0,
        "passed",
        f"{PASSED} -25.0 %",
        "only because others shrank: parse, store",
    ),
    ("same", BASE, 0, "passed", f"{PASSED} +0.0 %", ""),
    ("noise", BASE | {"main;render": 1420, "main;store": 985}, 0, "passed", f"{PASSED} +0.1 %", ""),
    ("+5 %", {stack: cost * 21 // 20 for stack, cost in BASE.items()}, 0, "passed", f"{PASSED} +5.0 %", ""),
    ("x2", BASE | {"main;parse": 5100}, 3, "failed", "the total grew by +100.0 %", "the share of parse in app grew by"),
    (
        "renamed",
        {**REST, "main;tokenize": 1100, "main;tokenize;lex": 500},
        0,
        "passed",
        PASSED,
        "renamed: parse → tokenize, together 27.5 %",
    ),
    (
        "split",
        {**BASE, "main;parse": 500, "main;parse;tokenize": 600},
        0,
        "passed",
        PASSED,
        "split: parse → tokenize, together 27.5 %",
    ),
    ("inlined", {**REST, "main;parse": 1600}, 0, "passed", PASSED, "inlined: lex → parse, together 40.0 %"),
    (
        "fewer samples",
        {"main;parse": 16, "main;parse;lex": 3, "main;render": 14, "main;store": 10},
        0,
        "too few samples to judge",
        "the recording has 43 samples",
        "",
    ),
    ("other machine", {stack: cost * 118 // 100 for stack, cost in BASE.items()}, 0, "passed", f"{PASSED} +18.0 %", ""),
    ("other perf", BASE, 0, "passed", f"{PASSED} +0.0 %", "comparing cpu-clock with task-clock:ppp"),
    ("no baseline", BASE, 0, "no baseline", "there is no earlier recording", ""),
    (
        "new benchmark",
        {"main;other": 2400, "main;second": 700},
        0,
        "no baseline",
        "the earlier recording is of anot",
        "",
    ),
)
"""(what, samples of each stack, exit code, verdict, start of the first reason, what else the summary says)."""


@pytest.mark.slow
def test_thirteen_pushes(tmp_path: Path) -> None:
    """Each after the same one; a run that says nothing leaves the baseline as it is."""
    program = started(tmp_path)
    there = GitHub(program.runs, program.env)
    program.becomes(recorded(BASE))
    there.push(CI / "github-action.yml", "base", "none")
    first = list(there.caches)
    for what, costs, code, verdict, reason, more in THIRTEEN:
        there.caches = [] if what == "no baseline" else list(first)
        before = len(there.baselines)
        other = Event("task-clock:ppp", config=1, precise_ip=3)
        program.becomes(recorded(costs, other if what == "other perf" else Event()))
        run = there.push(CI / "github-action.yml", what, "base")
        lines = run.summary.splitlines()
        assert (run.code, run.outputs["verdict"], lines[0]) == (code, verdict, f"### perf2x: {verdict}"), (what, lines)
        assert lines[2].startswith(f"- {reason}"), (what, lines[2])
        assert more in run.summary.replace("`", ""), (what, lines[:9])
        assert "&#" not in run.summary, what
        assert (len(there.baselines) - before) == (what != "fewer samples"), what


@pytest.mark.slow
def test_thirteen_pushes_are_answered(tmp_path: Path) -> None:
    """One comment on a pull request, which each push updates: the verdict of the summary, and what changed."""
    program = started(tmp_path)
    with served() as comments:
        program.env |= comments.env
        there = GitHub(program.runs, program.env, token="secret")
        program.becomes(recorded(BASE))
        there.push(CI / "github-action.yml", "base", "none")
        first = list(there.caches)
        for what, costs, code, verdict, _, _ in THIRTEEN:
            there.caches = [] if what == "no baseline" else list(first)
            other = Event("task-clock:ppp", config=1, precise_ip=3)
            program.becomes(recorded(costs, other if what == "other perf" else Event()))
            run = there.pull_request(CI / "github-action.yml", what, "base")
            (body,) = comments.bodies
            assert (run.code, there.caches) == (code, [] if what == "no baseline" else first), what
            said = run.summary.partition("\n### perf2x report: ")[0].rstrip()
            assert body.partition("\n")[2].startswith(f"{said}\n") and said.startswith(f"### perf2x: {verdict}"), what
            rows = [line.split(" | ") for line in body.splitlines() if line.startswith("| ")][2:]
            wanted = {
                "parse": "`main` 100%",
                "lex": "`parse` 100%",
                "tokenize": "`parse` 100%" if what == "split" else "`main` 100%",
            }
            alike = what in ("same", "noise", "+5 %", "other perf")
            assert ("\nNo function changed by more than" in body) == alike, (what, body)
            assert bool(rows) == (verdict in ("passed", "failed") and not alike), (what, body)
            assert ("[the difference, drawn](" in body) == ("/diff.pb.gz" in body) == (verdict in ("passed", "failed"))
            for name, by, _, after, *_ in rows[1:]:
                assert by == wanted.get(name[3:-1].partition("`")[0], by) * (after != "0.00 s"), (what, rows)
    methods = [call.split(" ")[0] for call in comments.calls if "/comments" in call]
    assert (methods.count("POST"), methods.count("PATCH")) == (1, len(THIRTEEN) - 1)


def _agree(what: str, lines: list[str], output: str | None) -> None:
    """Verdict, report and the action's output have the same numbers."""
    since = next(line for line in lines if re.search(r" before, .* after \(", line))
    change = re.search(r"\(([+-][\d.]+) %", since)
    assert change is not None
    if "the total" in lines[2].split(" grew ")[0] or "changed by" in lines[2]:
        assert f" by {change[1]} %" in lines[2], what
    if "share of" in lines[2]:
        sides = re.search(r"from ([\d.]+ %) to ([\d.]+ %)", lines[2])
        assert sides is not None, what
        rows = [line for line in lines if line.startswith("|") and "`parse`" in line]
        assert any(f"| {sides[2]} |" in row for row in rows), (what, rows)
    assert output is None or float(output) == float(change[1]), what


def main() -> None:
    """Print the table."""
    for name in SERVICES:
        with TemporaryDirectory() as folder:
            for run, (what, *_) in zip(six_pushes(Path(folder), name), PUSHES, strict=True):
                lines = run.summary.splitlines()
                print(f"{name:<18}{what:<22}exit {run.code}  {lines[0].split(': ')[1]:<12} {lines[2]}")


if __name__ == "__main__":
    main()
