"""``perf2x annotate``: the text of listings, its JSON, and what it refuses; transcripts/annotate.txt has sessions."""

import json
import re
import shlex
import sys
from pathlib import Path

import pytest

from perf2x.base.binaries import disassembler
from perf2x.cli.render.annotate_page import GAP, code_rows, instruction_text, source_rows
from perf2x.model.profile.listings import CodeListing, FunctionListing, InstructionCost, LineCost, SourceListing
from tests.support.command import perf2x
from tests.support.recordings import ROOT

DATA = ROOT / "tests" / "unit" / "features" / "annotate" / "data"
RECORDING = (DATA / "inlines.data", "--symfs", DATA, "-q")


def instruction(address: int, text: str = "nop", target: int = -1, **more) -> InstructionCost:
    facts = {
        "note": "",
        "path": "",
        "line": 0,
        "function": "f",
        "is_own": True,
        "self_costs": (0,),
        "total_costs": (0,),
        **more,
    }
    return InstructionCost(address=address, text=text, target=target, **facts)


def test_instructions_between_lines() -> None:
    pytest.importorskip("capstone")
    ran = perf2x("annotate", "walk", *RECORDING, "--assembly", "--source-dir", DATA, "--wide")
    assert ran.code == 0, ran.err
    lines = [line.rstrip() for line in ran.out.splitlines()]
    heads = [line.strip() for line in lines if "inlines.cpp:" in line]
    assert "inlines.cpp:20  if (state & 1)" in heads
    assert "inlines.cpp:6 (anonymous namespace)::scramble  value ^= value << 13;" in heads
    assert not [line for line in lines if line.startswith("/demo/inlines.cpp")]  # instructions alone
    (marked,) = [line for line in lines if "▸40119c" in line]
    assert marked.endswith("addl %ecx, %eax")
    assert len([line for line in lines if "jmp 0x40119c ↓" in line]) == 1


def test_lines_and_instructions() -> None:
    pytest.importorskip("capstone")
    ran = perf2x("annotate", "walk", *RECORDING, "--assembly", "--source", "--json")
    (one,) = json.loads(ran.out)["functions"]
    assert sum(line["self"] for source in one["sources"] for line in source["lines"]) == one["self"]
    (code,) = one["code"]
    assert sum(row["self"] for row in code["instructions"] if row["function"] == "walk") == one["self"]
    assert code["instructions"][0] == {
        "address": 0x401150, "text": "testl %edi, %edi", "note": "", "path": "/demo/inlines.cpp", "line": 18,
        "function": "walk", "self": 0, "total": 0,
    }  # fmt: skip


def test_without_capstone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "capstone", None)
    monkeypatch.setattr(disassembler, "_decoder", disassembler._decoder.__wrapped__)
    ran = perf2x("annotate", "walk", *RECORDING, "--assembly")
    assert (ran.code, ran.out) == (2, "")
    assert "pip install 'perf2x[assembly]'" in ran.said


def test_lines_without_assembly_need_no_capstone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "capstone", None)
    assert perf2x("annotate", "walk", *RECORDING).code == 0


def test_recorded_paths_are_read_only_with_source(tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    (tmp_path / "demo").mkdir()
    for name in ("inlines", "inlines.cpp"):
        (tmp_path / "demo" / name).write_bytes((DATA / "demo" / name).read_bytes())
    words = ("annotate", "walk", DATA / "inlines.data", "--symfs", tmp_path, "-q")
    out = perf2x(*words).out
    assert "odd += state" not in out and "not read; to read it, pass --source or --source-dir DIR\n" in out
    assert "inlines.cpp: the source file was not found\n" in perf2x(*words, "--source-dir", tmp_path / "none").out
    assert "odd += state" in perf2x(*words, "--source").out


def test_names_that_would_rewrite_the_screen() -> None:
    """Sources and instructions come from files that anybody may have written."""
    source = SourceListing("/a\x1b[2J.c", (LineCost(3, (1,), (1,)),), {3: "\x1b]0;x\x07\tint a;\u202e"}, "")
    (row,) = source_rows(source)
    assert row.text == "\\x1b]0;x\\x07  int a;\\u202e"
    shown = instruction_text(instruction(1, "jmp \x1b", note="f\n"), 0)
    assert shown == "jmp \\x1b  <f\\n>"
    one = FunctionListing("f", "o", (1,), (1,), text={"/x/a.c": {1: "\x1b"}})
    code = CodeListing("o", "f", 0, (instruction(1, path="/x/a.c", line=1, function="\r"),), "")
    assert [each.text for each in code_rows(code, one)] == ["a.c:1 \\r  \\x1b", "  nop"]


def test_lines_that_are_not_shown() -> None:
    costs = (LineCost(0, (2,), (2,)), LineCost(2, (1,), (1,)), LineCost(9, (1,), (4,)))
    source = SourceListing("/a.c", costs, {1: "a", 2: "b", 9: "c"}, "")
    assert [(row.position, row.text, row.self_costs) for row in source_rows(source)] == [
        ("?", "", (2,)), ("1", "a", ()), ("2", "b", (1,)), ("", GAP, ()), ("9", "c", (1,))
    ]  # fmt: skip


def test_jumps_point_the_way() -> None:
    rows = (instruction(0x10, "jmp 0x11", 1), instruction(0x11, "jmp 0x10", 0), instruction(0x12, "jmp 0x12", 2))
    code = CodeListing("o", "f", 0x10, rows, "")
    shown = [(row.position, row.text.strip()) for row in code_rows(code, FunctionListing("f", "o", (0,), (0,)))]
    assert shown == [("▸10", "jmp 0x11 ↓"), ("▸11", "jmp 0x10 ↑"), ("▸12", "jmp 0x12 ↑")]


def test_lines_fit_the_terminal() -> None:
    for columns in (40, 60):
        ran = perf2x("annotate", "walk", *RECORDING, "--source-dir", DATA, env={"COLUMNS": str(columns)})
        assert max(map(len, ran.out.splitlines())) <= columns
        assert "…" in ran.out
    assert "…" not in perf2x("annotate", "walk", *RECORDING, "--source-dir", DATA, "--wide").out


def test_each_function_that_a_name_may_mean_has_a_command_to_copy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    deferred = ROOT / "examples" / "deferred"
    # a directory of the same name stays
    monkeypatch.chdir(tmp_path)
    (tmp_path / "go(unsigned long)").mkdir()
    words = ["annotate", "--debug-dir", "go(unsigned long)", "go(unsigned long)", str(deferred / "perf.data")]
    words += ["--symfs", str(deferred / "symfs"), "--names", "full", "-q"]
    monkeypatch.setattr("sys.argv", ["perf2x", *words])
    ran = perf2x(*words)
    *listed, said = ran.err.splitlines()
    costs, commands = zip(*(line.split("  perf2x ") for line in listed), strict=True)
    assert (ran.code, ran.out, len(listed)) == (2, "", 10)
    assert sorted(costs, key=lambda cost: -float(cost.rstrip(" %"))) == [*costs]
    assert re.match(r"perf2x: 'go\(unsigned long\)' may be any of \d\d functions; name one of them in full$", said)
    again = shlex.split(commands[0])
    assert again[2] == "go(unsigned long)" and again[3].startswith("work::Recurse<unsigned long, ")
    assert perf2x(*again).code == 0


def test_too_many_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perf2x.features.annotate.make_listings.MAX_FUNCTIONS", 2)
    ran = perf2x("annotate", "*", *RECORDING)
    assert (ran.code, "it matches 7 functions, more than 2" in ran.said) == (2, True)


def embedded(folder: Path, *words: object) -> dict:
    """Listings in a page."""
    out = folder / "page.html"
    ran = perf2x("convert", *RECORDING, "-o", out, "--set", "compress=no", *words)
    assert ran.code == 0, ran.err
    held = out.read_text().partition('<script id="data" type="text/plain">')[2].partition("</script>")[0]
    return json.loads(held).get("listings", {})


def test_pages_embed_the_hottest_functions(tmp_path: Path) -> None:
    pytest.importorskip("capstone")
    assert embedded(tmp_path) == {}
    held = embedded(tmp_path, "--source-dir", DATA, "--assembly")
    assert [one["name"] for one in held["functions"]] == ["walk", "(anonymous namespace)::scramble"]
    assert held["measures"] == [[0, "period"], [0, "samples"]]
    walk = held["functions"][0]
    assert [21, "            odd += state % 7;"] in [row[:2] for row in walk["sources"][0]["rows"]]
    assert sum(row[5][1] for row in walk["code"][0]["rows"] if len(row) > 5) == 185
    (one,) = embedded(tmp_path, "--source", "--hottest", 1)["functions"]
    assert (one["name"], one["code"]) == ("walk", [])
    assert one["sources"][0]["rows"]


def test_formats_without_a_place_for_listings(tmp_path: Path) -> None:
    ran = perf2x("convert", *RECORDING, "-o", tmp_path / "out.folded", "--source")
    assert (ran.code, ran.said) == (2, "perf2x: collapsed cannot take --source; html can")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("hiding", [("--anonymize", "secret"), ("--no-symbols",)])
def test_listings_would_tell_hidden_names(hiding: tuple[str, ...], tmp_path: Path) -> None:
    ran = perf2x("convert", *RECORDING, "-o", tmp_path / "out.html", "--source", *hiding)
    assert (ran.code, f"reveal the names that {hiding[0]} hides" in ran.said) == (2, True)
