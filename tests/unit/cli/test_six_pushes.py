"""Six pushes through the three CI files with perf2x itself: exit codes, and what the summary says first.

``python -m tests.unit.cli.test_six_pushes`` prints them as a table.
"""

import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.forge import Comm, Event, Mmap2, Sample, Session, write_file
from tests.support.recordings import ROOT
from tests.support.tiny_elf import TinySection, TinySymbol, symbol_sections, tiny_elf
from tests.support.workflows import GitHub, GitLab, Program, Run

CI = ROOT / "examples" / "ci"
SERVICES = {"github-action.yml": GitHub, "github.yml": GitHub, "gitlab.yml": GitLab}
REAL = f"#!{sys.executable}\nfrom perf2x.cli import main\nmain()\n"
FUNCTIONS = ("parse", "render", "store")
CODE = bytes(range(1, 0x31))
PUSHES: tuple[tuple[str, tuple[int, int, int], int, str, str], ...] = (
    ("first", (1600, 1400, 1000), 0, "no baseline", "there is no earlier recording to compare with"),
    (
        "unchanged",
        (1585, 1410, 1005),
        0,
        "passed",
        "nothing exceeds its limit (total=25%, share=5%); the whole changed",
    ),
    (
        "one function +30 %",
        (2080, 1400, 1000),
        3,
        "failed",
        "the share of parse in app grew by +6.8 % of the whole, from",
    ),
    ("everything 2x", (4200, 2810, 2020), 3, "failed", "the whole grew by +101.6 % ("),
    (
        "faster",
        (1560, 1400, 1000),
        0,
        "passed",
        "nothing exceeds its limit (total=25%, share=5%); the whole changed by -",
    ),
    ("fork without secrets", (3200, 2800, 2000), 3, "failed", "the whole grew by +102.0 % ("),
)
"""(what, samples of each function, exit code, verdict, start of the first reason)."""
GITLAB_FORK = (*PUSHES[-1][:2], 0, *PUSHES[0][3:])
"""GitLab runs what comes from a fork there, with the caches of the fork."""


def elf() -> bytes:
    text = TinySection(".text", CODE, address=0x1000, flags=6)
    symbols = [TinySymbol(name, 0x1000 + 16 * row, 16) for row, name in enumerate(FUNCTIONS)]
    return tiny_elf([text, *symbol_sections(symbols, 2)])


def recorded(costs: tuple[int, int, int]) -> bytes:
    """A recording with so many milliseconds in each function."""
    place = 0x400000 + elf().index(CODE)
    leaves = [place + 16 * row + 4 for row, count in enumerate(costs) for _ in range(count)]
    samples = [Sample(ip=ip, time=9 + t, period=1_000_000, chain=(ip,)) for t, ip in enumerate(leaves)]
    binary = Mmap2(pid=1, tid=1, addr=0x400000, len=0x10000, filename="/bin/app")
    return write_file(Session(events=(Event(),)), [Comm(pid=1, tid=1, comm="app"), binary, *samples])


def six_pushes(folder: Path, name: str) -> list[Run]:
    """The runs, the last one a pull request from a fork, which may write nothing and has no secrets."""
    service = SERVICES[name]
    program = Program(folder, REAL)
    (folder / "root" / "bin").mkdir(parents=True)
    (folder / "root" / "bin" / "app").write_bytes(elf())
    program.env["PERF2X_SYSROOT"] = str(folder / "root")
    there, runs = service(program.runs, program.env), list[Run]()
    for number, (what, costs, *_) in enumerate(PUSHES):
        program.becomes(recorded(costs))
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
        compared = verdict != "no baseline"
        assert run.artifacts["profile"] >= {"report.md", "profile.html", "profile.pb.gz", "stats.json"}, what
        assert ({"diff.html", "diff.pb.gz"} <= run.artifacts["profile"]) == compared, what
        assert ("#### What changed" in lines) == compared, what
        if compared:
            _agree(what, lines, run.outputs.get("change"))


def _agree(what: str, lines: list[str], output: str | None) -> None:
    """Verdict, report and the action's output have the same numbers."""
    (since,) = (line for line in lines if line.startswith("Since "))
    change = re.search(r"\(([+-][\d.]+) %", since)
    assert change is not None
    if "the whole" in lines[2].split(" grew ")[0] or "changed by" in lines[2]:
        assert f" by {change[1]} %" in lines[2], what
    if "share of" in lines[2]:
        sides = re.search(r"from ([\d.]+ %) to ([\d.]+ %)", lines[2])
        assert sides is not None and any(f"| {sides[1]} | {sides[2]} | `parse` |" in line for line in lines), what
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
