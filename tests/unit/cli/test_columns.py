"""``--column``: other events and ratios beside the one that a table is about."""

import csv
import io
import json
from pathlib import Path

import pytest

from tests.forge import kernel as k
from tests.forge.events import Event
from tests.forge.records import Mmap
from tests.forge.samples import Sample
from tests.forge.session import Session, write_file
from tests.support.command import perf2x, recording
from tests.support.recordings import CORPUS

EVENTS = (recording("events"), "--symfs", CORPUS / "common" / "symfs", "-q")
RATIO = "page-faults/cpu-clock"
MAPS = [
    Mmap(pid=7, tid=7, addr=address, len=0x100, filename=f"/bin/{name}")
    for address, name in ((0x1000, "often"), (0x1100, "rarely"))
]
COLUMNS = ("--column", "page-faults", "--column", RATIO)


def rows(*words: object) -> dict[tuple[str, str], dict[str, object]]:
    ran = perf2x("top", *EVENTS, "-n", 0, "--json", *words)
    assert ran.code == 0, ran.err
    return {(row["name"], row["object"]): row for row in json.loads(ran.out)["rows"]}


def test_columns_are_the_tables_of_their_events() -> None:
    found, others = rows(*COLUMNS), rows("--event", "page-faults")
    assert others.keys() <= found.keys()
    for key, row in found.items():
        other = others.get(key, {"self": 0, "total": 0})
        assert (row["self_page-faults"], row["total_page-faults"]) == (other["self"], other["total"])
        if row[f"total_{RATIO}"] is not None:
            assert row[f"total_{RATIO}"] == pytest.approx(1e9 * other["total"] / row["total"], rel=1e-5)  # type: ignore[operator]
            assert row[f"total_{RATIO}_low"] <= row[f"total_{RATIO}"] <= row[f"total_{RATIO}_high"]  # type: ignore[operator]
    assert {row[f"total_{RATIO}"] is None for row in found.values()} == {True, False}


def test_the_event_that_is_chosen_stays_first() -> None:
    found = rows("--event", "page-faults", "--column", "cpu-clock")
    plain = rows("--event", "cpu-clock")
    assert {key: row["self_cpu-clock"] for key, row in found.items() if key in plain} == {
        key: row["self"] for key, row in plain.items()
    }


def test_every_format_has_them() -> None:
    table = perf2x("top", *EVENTS, "-n", 2, *COLUMNS, env={"COLUMNS": "150"}).out.splitlines()
    assert ", page-faults/cpu-clock 2,447,250 (" in table[0]
    assert "self page-faults self page-faults/cpu-clock object" in " ".join(table[1].split())
    narrow = perf2x("top", *EVENTS, "-n", 2, *COLUMNS, env={"COLUMNS": "40"}).out.splitlines()
    assert "self page-faults/cpu-clock" in " ".join(narrow)
    markdown = perf2x("top", *EVENTS, "-n", 2, *COLUMNS, "--format", "markdown").out
    assert "| self page-faults&#47;cpu-clock |" in markdown
    text = perf2x("top", *EVENTS, "-n", 0, *COLUMNS, "--format", "csv").out
    lines = list(csv.DictReader(io.StringIO(text)))
    as_json = rows(*COLUMNS)
    for line in lines:
        cell = as_json[line["name"], line["object"]][f"self_{RATIO}"]
        assert line[f"self_{RATIO}"] == ("" if cell is None else str(cell))
    facts = json.loads(perf2x("top", *EVENTS, "-n", 1, "--json", *COLUMNS).out)
    assert facts["columns"]["page-faults"] == 384_684
    assert facts["columns"][RATIO][0] == pytest.approx(1e9 * 384_684 / facts["value"], rel=1e-5)


def test_other_events_that_are_shown_are_not_said_to_be_left_out() -> None:
    words = (*EVENTS[:-1], "-n", 1)
    assert "other events: context-switches (" in perf2x("top", *words, "--column", RATIO).err
    assert "other events" not in perf2x("top", *words, "--column", "all").err


def test_diff_has_them_before_and_after() -> None:
    words = ("diff", EVENTS[0], *EVENTS, "--all", "-n", 0, *COLUMNS)
    found = json.loads(perf2x(*words, "--json").out)["rows"]
    plain = rows(*COLUMNS)
    assert len(found) > 3
    for row in found:
        for name in (f"self_{RATIO}", "total_page-faults"):
            assert row[name] == [plain[row["name"], row["object"]][name]] * 2
    text = perf2x(*words, env={"COLUMNS": "200"}).out
    assert "self page-faults/cpu-clock" in text and "→" in text
    cut = json.loads(perf2x(*words, "--json", "--per", "2,1").out)["rows"][0]
    assert cut["total_page-faults"][1] == 2 * cut["total_page-faults"][0]
    assert cut[f"total_{RATIO}"][1] == cut[f"total_{RATIO}"][0]
    as_csv = next(csv.DictReader(io.StringIO(perf2x(*words, "--format", "csv").out)))
    assert as_csv[f"self_{RATIO}_significant"] == "false"


def test_report_has_them() -> None:
    facts = json.loads(perf2x("report", *EVENTS, *COLUMNS, "--format", "json").out)
    plain = rows(*COLUMNS)
    for table in ("by_self", "by_total"):
        for row in facts[table]["rows"]:
            same = plain[row["name"], row["object"]]
            assert {key: row[key] for key in same} == same
    page = perf2x("report", *EVENTS, *COLUMNS).out
    assert ", page-faults/cpu-clock 2,447,250 (" in page
    assert "| self page-faults | self page-faults&#47;cpu-clock | object | function | called by" in page
    small = perf2x("report", *EVENTS, "--column", "all", "--max-bytes", 8000)
    assert small.code == 0 and len(small.out.encode()) <= 8000


def test_lines_have_them() -> None:
    words = ("annotate", "spin", *EVENTS, *COLUMNS)
    facts = json.loads(perf2x(*words, "--json").out)
    function, lines = facts["functions"][0], facts["functions"][0]["sources"][0]["lines"]
    plain = rows(*COLUMNS)[function["name"], function["object"]]
    assert function["self_page-faults"] == plain["self_page-faults"]
    assert function[f"self_{RATIO}"][0] == plain[f"self_{RATIO}"]
    assert sum(line["self_page-faults"] for line in lines) == plain["self_page-faults"]
    head = perf2x(*words).out.splitlines()[3]
    assert head.split() == ["self", "total", "page-faults", "page-faults/cpu-clock", "line"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("top", "--column", "ipc"),
            "--column ipc needs instructions, and cycles or cpu-cycles; the recording has cpu-clock:u",
        ),
        (("top", "--column", RATIO, "--value", "samples"), "--column shows counts of events; leave out --value"),
        (("top", "--column", RATIO, "--graph"), "--column is only for tables, not for --graph"),
        (("report", "--column", "bogus"), "--column bogus is not in this recording; the recording has cpu-clock:u"),
        (("report", "--column", RATIO, "--value", "samples"), "--column shows counts of events; leave out --value"),
    ],
)
def test_refusals(words: tuple[str, ...], said: str) -> None:
    ran = perf2x(words[0], *EVENTS, *words[1:])
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.said


def test_refusals_of_lines() -> None:
    ran = perf2x("annotate", "spin", *EVENTS, "--column", RATIO, "--value", "samples")
    assert ran.code == 2 and "--column shows counts of events; leave out --value" in ran.said


def test_a_recording_of_hardware_events(tmp_path: Path) -> None:
    """Two hundred samples of cycles and one hundred of instructions at one address, and a few elsewhere."""
    kind = Event().sample_type | k.IDENTIFIER
    events = tuple(
        Event(name=name, type=0, config=number, ids=(10 + number,), sample_type=kind, period=1000)
        for number, name in enumerate(("cycles", "instructions"))
    )
    places = ((0, 0x1000, 200), (1, 0x1000, 100), (0, 0x1100, 5), (1, 0x1100, 50))
    samples = [
        Sample(event=event, id=10 + event, ip=ip, chain=(k.CONTEXT_USER, ip), period=1000, time=at, pid=7, tid=7)
        for event, ip, count in places
        for at in range(count)
    ]
    path = tmp_path / "perf.data"
    path.write_bytes(write_file(Session(events=events), [*MAPS, *samples]))
    facts = json.loads(perf2x("top", path, "--column", "ipc", "--by", "object", "--json", "-q").out)
    found = {row["name"]: row["self_ipc"] for row in facts["rows"]}
    assert found == {"often": 0.5, "rarely": None}
    assert facts["columns"]["ipc"][0] == pytest.approx(150 / 205, rel=1e-5)
    refused = perf2x("top", path, "--column", "mpki")
    assert "--column mpki needs cache-misses or LLC-load-misses, and instructions; the recording has " in refused.said
