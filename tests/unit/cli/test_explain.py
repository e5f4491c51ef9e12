"""``perf2x explain`` and ``perf2x info --symbols -v``: formats and exit codes."""

import csv
import io
import json
import lzma
from importlib import import_module
from pathlib import Path

import pytest

from tests.support.command import perf2x, recording
from tests.support.recordings import CORPUS
from tests.support.tiny_elf import TinySection, tiny_elf

SYMFS = CORPUS / "common" / "symfs"
CALLS = SYMFS / "demo" / "calls"


def test_others_are_shown_when_one_is_no_object() -> None:
    ran = perf2x("explain", "/no/such/file", CALLS, __file__, "--symfs", SYMFS, "--json")
    assert ran.code == 1
    found = json.loads(ran.out)
    assert [one["path"] for one in found["objects"]] == [str(CALLS)]
    assert [one["path"] for one in found["refused"]] == ["/no/such/file", __file__]
    assert ran.err.splitlines() == [f"perf2x: {one['error']}" for one in found["refused"]]


def test_all_formats_agree() -> None:
    facts = json.loads(perf2x("explain", CALLS, "--symfs", SYMFS, "--format", "json").out)
    names = facts["objects"][0]["answers"]["names"]
    assert names == {"good": True, "text": f".symtab in {CALLS}"}
    for shape in ("table", "markdown"):
        ran = perf2x("explain", CALLS, "--symfs", SYMFS, "--format", shape)
        assert ran.code == 0 and names["text"] in ran.out
    rows = dict(csv.reader(io.StringIO(perf2x("explain", CALLS, "--symfs", SYMFS, "--format", "csv").out)))
    assert rows["objects.0.answers.names.text"].lstrip("'") == names["text"]


def test_paths_and_commands_are_whole_to_be_copied(tmp_path: Path) -> None:
    deep = tmp_path / ("long" * 50) / "calls"
    deep.parent.mkdir()
    deep.write_bytes(CALLS.read_bytes())
    for shape in ("table", "markdown", "json", "csv"):
        assert f".symtab in {deep}" in perf2x("explain", deep, "--format", shape).out


def test_without_an_object_it_is_a_usage_error() -> None:
    assert perf2x("explain").code == 2


def test_info_explains_each_object_when_asked() -> None:
    words = ("info", recording("calls"), "--symbols", "--symfs", SYMFS, "--json")
    plain, verbose = json.loads(perf2x(*words).out), json.loads(perf2x(*words, "-v").out)
    explained = verbose["symbols"].pop("explained")
    assert verbose["symbols"].pop("not_explained") == 0
    assert verbose == plain
    lacking = [one for one in plain["symbols"]["objects"] if one["unnamed"]]
    told = [(one["name"], one["frames"], one["why"]) for one in explained]
    assert told == [(one["name"], one["unnamed"], one["reason"]) for one in lacking]
    shown = perf2x("info", recording("calls"), "--symbols", "--symfs", SYMFS, "-v", "--format", "markdown").out
    assert "--kallsyms FILE" in shown and "\n- `try: " in shown


def test_info_explains_a_bounded_number_of_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("perf2x.cli.commands.info"), "_MAX_EXPLAINED", 1)
    words = ("info", recording("calls"), "--symbols", "--symfs", SYMFS, "-v")
    known = json.loads(perf2x(*words, "--json").out)["symbols"]
    lacking = [one for one in known["objects"] if one["unnamed"]]
    assert len(known["explained"]) == 1 and known["not_explained"] == len(lacking) - 1 > 0
    frames = sum(one["unnamed"] for one in lacking[1:])
    objects = f"{len(lacking) - 1} more object{'s' if len(lacking) > 2 else ''}"
    said = f"without names: {objects}, {frames:,} frames; only those with the most are explained"
    assert said in perf2x(*words).out.splitlines()
    assert said in perf2x(*words, "--format", "markdown").out
    monkeypatch.setattr(import_module("perf2x.cli.commands.info"), "_MAX_EXPLAINED", len(lacking))
    assert "more object" not in perf2x(*words).out


def test_compressed_sections_stay_below_the_bound(tmp_path: Path) -> None:
    packed = TinySection(".gnu_debugdata", lzma.compress(bytes(1 << 20)))
    (tmp_path / "prog").write_bytes(tiny_elf([TinySection(".text", b"\x90" * 64, 0x1000, flags=6), packed]))
    words = ("explain", tmp_path / "prog", "--symfs", tmp_path, "--json")

    def troubles(*more: str) -> str:
        return "".join(json.loads(perf2x(*words, *more).out)["objects"][0]["troubles"])

    assert "magic number" in troubles()
    assert "magic number" not in troubles("--max-unpacked", "10K")


def test_without_symbols_there_is_nothing_to_explain() -> None:
    assert perf2x("info", recording("calls"), "-v").out == perf2x("info", recording("calls")).out
