"""``--per``, ``--per-value`` and limits of shares: the same numbers in table, gate, report and files."""

import json
import re
from pathlib import Path

import pytest

from tests.forge import Comm, Event, Mmap2, Sample, Session, write_file
from tests.forge import kernel as k
from tests.support.command import perf2x
from tests.unit.cli.diff_inputs import QUICK, forged, labelled, page_of, read_pprof

PLAIN = {"GITHUB_ACTIONS": "", "GITLAB_CI": ""}
FIRST = ("-q", "--no-symbols")


def with_requests(path: Path, samples: int, requests: int) -> Path:
    """So many samples of 1000 of cpu-clock and one sample for so many requests."""
    kind = Event().sample_type | k.ID
    events = (Event(ids=(1,), sample_type=kind), Event("requests", type=2, config=77, ids=(2,), sample_type=kind))
    leaves = [Sample(ip=0x1010, id=1, time=9 + t, period=1000, chain=(0x1010,)) for t in range(samples)]
    count = Sample(ip=0x1020, id=2, time=8, period=requests, chain=(0x1020,))
    binary = Mmap2(pid=1, tid=1, addr=0x1000, len=0x1000, filename="/bin/app")
    path.write_bytes(write_file(Session(events=events), [Comm(pid=1, tid=1, comm="app"), binary, count, *leaves]))
    return path


@pytest.fixture
def longer(tmp_path: Path) -> tuple[Path, Path]:
    """Twice the samples, o1 from 100 to 260, o2 from 300 to 540."""
    before = forged(tmp_path / "before.data", [0x1010] * 100 + [0x2010] * 300)
    return before, forged(tmp_path / "after.data", [0x1010] * 260 + [0x2010] * 540)


def test_costs_are_per_unit_of_work(longer: tuple[Path, Path]) -> None:
    """Twice the cost for twice the work is no change; for work that grew by a quarter less than that it is."""
    words = ("diff", *longer, *QUICK, "--fail-above", "total=10")
    assert perf2x(*words, env=PLAIN).code == 3
    assert perf2x(*words, "--per", "1000,2000").code == 0
    ran = perf2x(*words, "--per", "1000,1600", env=PLAIN)
    assert (ran.code, ran.err.startswith("perf2x: the total grew by +25.0 %")) == (3, True)
    low, high = map(float, re.findall(r"[(]?([+-][\d.]+) %", ran.err)[1:3])
    assert 10 < low < 25 < high < 40
    assert ran.out.startswith(
        "cpu-clock: 400.00 µs before, 500.00 µs after (+25.0 %); per unit of work: 1,000 before, 1,600 after, "
        "scaled to 1,000"
    )


def test_everything_has_the_same_numbers(longer: tuple[Path, Path], tmp_path: Path) -> None:
    words = ("--per", "1000,1600", "--fail-above", "total=10", "--fail-above", "function=99")
    facts = json.loads(perf2x("diff", *longer, *QUICK, *words, "--json").out)
    wanted = [400_000, 500_000]
    assert [facts["before"], facts["after"]] == wanted and facts["work"] == [1000.0, 1600.0]
    rows = {row["name"]: row["self"] for row in facts["rows"]}
    assert rows == {"[o1.so]": [100_000, 162_500], "[o2.so]": [300_000, 337_500]}
    report = perf2x("report", longer[1], "--before", longer[0], *QUICK, *words, "--format", "json")
    told = json.loads(report.out)
    assert report.code == 3
    assert [told["difference"]["before"], told["difference"]["after"]] == wanted
    assert told["difference"]["work"] == [1000.0, 1600.0]
    assert {row["name"]: row["self"] for row in told["difference"]["rows"]} == rows
    assert told["verdict"] == facts["verdict"]
    assert told["verdict"]["outcome"] == "failed"
    assert told["verdict"]["reasons"][0].startswith("the total grew by +25.0 %")
    perf2x("diff", *longer, *QUICK, *words, "-o", tmp_path / "diff.pb.gz")
    assert labelled(read_pprof(tmp_path / "diff.pb.gz"), "pprof::base") == {
        "true": [-400, -400_000],
        "": [500, 500_000],
    }
    page = tmp_path / "diff.html"
    perf2x("diff", *longer, *QUICK, *words, "-o", page)
    held = page_of(page)
    assert [sum(held["rows"][column]) for column in ("beforeValue", "value")] == wanted
    assert held["facts"][-1] == "costs after are scaled to the work done before"
    assert held["facts"][1].endswith("1,600 units of work")


def test_noise_is_scaled_with_the_costs(longer: tuple[Path, Path]) -> None:
    """Limits of a change per unit of work are those of the same samples with other weights."""
    facts = [
        json.loads(perf2x("diff", *longer, *QUICK, "--by", "object", "--json", "--all", *words).out)
        for words in ((), ("--per", "1,2"))
    ]
    (plain, scaled) = ({row["name"]: row for row in one["rows"]}["o1.so"] for one in facts)
    low, high = scaled["interval"]["self"]
    assert low < 30_000 < high
    assert high - low < plain["interval"]["self"][1] - plain["interval"]["self"][0]


def test_an_event_counts_the_work(tmp_path: Path) -> None:
    pair = with_requests(tmp_path / "a.data", 100, 500), with_requests(tmp_path / "b.data", 210, 1000)
    for words in ((), ("--event", "cpu-clock")):
        ran = perf2x("diff", *pair, *QUICK, *words, "--per-value", "requests", "--fail-above", "total=9")
        assert ran.code == 0, ran.err
        assert "cpu-clock: 100.00 µs before, 105.00 µs after (+5.0 %); per unit of work: 500 before" in ran.out
    assert perf2x("diff", *pair, *QUICK, "--fail-above", "total=9").code == 3


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--per", "5"), "--per 5: expected the units of work in BEFORE and AFTER, such as 1000,1200"),
        (("--per", "0,5"), "such as 1000,1200"),
        (("--per", "nan,5"), "such as 1000,1200"),
        (("--per", "1,inf"), "such as 1000,1200"),
        (("--per", "1,2", "--normalize"), "--normalize and --per are two ways to compare"),
        (("--per", "1,2", "--per-value", "x"), "--per and --per-value are two ways to compare"),
        (("--per-value", "x"), "before.data: --per-value: event 'x' is not in this recording; it has cpu-clock"),
        (("--per-value", "cpu-clock", "--value", "weight"), "--per-value adds up periods, which --value weight"),
        (
            ("--fail-above", "total=10%", "--normalize"),
            "--fail-above total=… could never fail when shares are compared",
        ),
        (("--fail-above", "share:=5"), "share=5%"),
    ],
)
def test_what_cannot_be_compared_is_refused(longer: tuple[Path, Path], words: tuple[str, ...], sentence: str) -> None:
    for command in (("diff", *longer), ("report", longer[1], "--before", longer[0])):
        if command[0] == "diff" or "weight" not in words:
            ran = perf2x(*command, *words, *FIRST)
            assert (ran.code, ran.out) == (2, "")
            assert sentence in ran.said


def test_a_report_has_nothing_to_compare_with(longer: tuple[Path, Path]) -> None:
    for words in (("--normalize",), ("--per", "1,2"), ("--per-value", "x"), ("--any-change",)):
        ran = perf2x("report", longer[0], *FIRST, *words)
        assert (ran.code, f"{words[0]} needs an earlier recording" in ran.said) == (2, True)


def test_shares_do_not_mind_a_slower_machine(tmp_path: Path) -> None:
    """Everything doubles, and o1 from a quarter to a half of the total."""
    before = forged(tmp_path / "before.data", [0x1010] * 100 + [0x2010] * 300)
    twice = forged(tmp_path / "twice.data", [0x1010] * 200 + [0x2010] * 600)
    other = forged(tmp_path / "other.data", [0x1010] * 400 + [0x2010] * 400)
    words = (*QUICK, "--fail-above", "share=5")
    assert perf2x("diff", before, twice, *words).code == 0
    assert perf2x("diff", before, twice, *words, "--fail-above", "function=5").code == 3
    ran = perf2x("diff", before, other, *words, env=PLAIN)
    assert ran.code == 3
    assert ran.err.startswith(
        "perf2x: the share of [o1.so] in o1.so grew by +25.0 % of the total, from 25.0 % to 50.0 % ("
    )
    assert perf2x("diff", before, other, *QUICK, "--fail-above", "share:[[]o2*=0").code == 0
    ran = perf2x("diff", before, other, *QUICK, "--fail-above", "share:f=0")
    assert "--fail-above: no function 'f'" in ran.err
    report = perf2x("report", other, "--before", before, *FIRST).out
    assert (
        "| 100.00 µs | 400.00 µs | ×4.00 | +75.0 % | 100.00 µs | 400.00 µs | ×4.00 | +75.0 % | `o1.so` | `[o1.so]` |"
        in report
    )


@pytest.mark.parametrize(
    ("words", "code", "outcome", "reason"),
    [
        (("--fail-above", "total=300"), 2, "", ""),
        (("--fail-above", "total=90"), 3, "failed", "- the total grew by +100.0 %"),
        (("--fail-above", "total=99.5", "--confidence", "0.9999999999999"), 3, "failed", "- the total grew"),
        (
            ("--fail-above", "share=20"),
            0,
            "passed",
            "- nothing exceeds its limit (share=20); the total changed by +100",
        ),
        (("--fail-if", "lost=0"), 0, "passed", "- nothing exceeds its limit; the total changed by +100.0 %"),
    ],
)
def test_a_report_begins_with_the_verdict(
    longer: tuple[Path, Path], words: tuple[str, ...], code: int, outcome: str, reason: str
) -> None:
    ran = perf2x("report", longer[1], "--before", longer[0], *FIRST, *words)
    assert ran.code == code, ran.err
    if code != 2:
        lines = ran.out.splitlines()
        assert lines[0] == f"### perf2x: {outcome}"
        assert lines[2].startswith(reason)
        assert any(line.startswith("### perf2x report:") for line in lines)
    if words[0] == "--fail-above" and code != 2:
        assert perf2x("diff", *longer, *FIRST, *words, "--format", "markdown").out.splitlines()[0] == lines[0]


def test_a_bad_recording_is_unreliable_whatever_grew(longer: tuple[Path, Path]) -> None:
    words = ("-q", "--fail-if", "unresolved=5", "--fail-above", "total=10")
    ran = perf2x("report", longer[1], "--before", longer[0], *words, env=PLAIN)
    assert ran.code == 3
    assert ran.out.startswith("### perf2x: unreliable\n\n- 100.00 % of the samples are in functions without a name")
    assert "the total grew by" in ran.out.split("###")[1]
    assert [line.split(" %")[0] for line in ran.err.splitlines()] == [
        "perf2x: 100.00", "perf2x: the total grew by +100.0"
    ]  # fmt: skip


def test_the_first_recording_has_no_baseline(longer: tuple[Path, Path]) -> None:
    ran = perf2x("report", longer[0], *FIRST, "--fail-above", "total=10")
    assert ran.code == 0
    assert ran.out.startswith("### perf2x: no baseline\n\n- there is no earlier recording to compare with\n")
    assert perf2x("report", longer[0], *FIRST).out.startswith("### perf2x report:")
