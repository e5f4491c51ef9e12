"""Advice on recordings: each mistake of beginners by a recording of it, none on a good one, and everywhere the same."""

import base64
import gzip
import json
import re
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from perf2x import Filters, Loaded, SymbolOptions, read
from perf2x.base.abi.uapi import CpuMode
from perf2x.features.recording_advice.choose_advice import ChainReport, advice, chain_report
from perf2x.model.profile.profile import Profile
from perf2x.model.profile.stack_tree import keep_samples
from perf2x.symbolizer.symbol_report import SymbolReport
from tests.support.command import perf2x
from tests.support.recordings import CORPUS, ROOT

BEGINNERS = Path(__file__).parent / "data" / "beginners"
SYMFS = SymbolOptions(symfs=BEGINNERS / "symfs")

MISTAKES = {
    "no_stacks": ("no_stacks", "so each sample is one frame: record with perf record -g"),
    "no_pointers": ("cut_stacks", "100 % of the user stacks end after one or two frames"),
    "stripped": ("unnamed", "100 % of the samples are in functions without a name, "),
    "few": ("samples", "only 49 samples: a share of 10 % is uncertain by ±9 points"),
    "no_kernel": ("no_kernel", "as perf_event_paranoid allows no more: sudo perf record"),
    "kernel_stacks": (
        "kernel_stacks",
        "Only the kernel's part of the stacks was recorded: for callers in user code",
    ),
}


def chains_of(loaded: Loaded) -> ChainReport:
    return next(one for one in loaded.reports if isinstance(one, ChainReport))


def source(name: str) -> str:
    return str(BEGINNERS / f"{name}.data")


def said(loaded: Loaded) -> dict[str, str]:
    return {one.about: one.sentence() for one in loaded.advice}


@pytest.mark.parametrize("name", MISTAKES)
def test_each_mistake_gets_one_advice(name: str) -> None:
    found = said(read(source(name), symbols=SYMFS))
    about, words = MISTAKES[name]
    found.pop("missing_callers", None)  # of spin, which has no frame
    if name == "few":  # 3 of 49 samples are in the kernel
        del found["unnamed"]
    assert list(found) == [about, "undated"]
    assert words in found[about]


def test_good_recordings_get_none() -> None:
    assert list(said(read(source("good"), symbols=SYMFS))) == ["missing_callers"]  # user code, as asked, with -k mono
    good = [recording for recording in CORPUS.glob("unwind*/perf.data") if recording.parent.name != "unwind_jit"]
    for recording in [*good, CORPUS / "ends" / "perf.data"]:  # perf 7.2 writes the first word of its command alone
        found = said(read(recording, symbols=SymbolOptions(symfs=CORPUS / "common" / "symfs")))
        leaves = ["missing_callers"] * (recording.parent.name == "ends")  # by frame pointer, the others by copies
        assert set(found) <= {"samples", "undated", "unnamed", *leaves}, recording


@pytest.mark.parametrize("name", ["top", "convert", "info", "report"])
def test_commands_say_it_once_and_quiet_says_nothing(name: str, tmp_path: Path) -> None:
    output = ["-t", "collapsed", "-o", tmp_path / "out"] if name == "convert" else []
    ran = perf2x(name, source("no_pointers"), *output)
    assert (ran.out + ran.err).count("100 % of the user stacks end") == (name != "info")  # it reads no stacks
    assert (ran.code, perf2x(name, source("no_stacks"), *output, "--quiet").err) == (0, "")
    ran = perf2x(name, source("no_stacks"), *output)
    assert (ran.out + ran.err).count("No call stacks were recorded") == 1
    assert ("wall-clock" in ran.out + ran.err) == (name == "info")


def test_dates_are_missed_where_they_are_shown(tmp_path: Path) -> None:
    assert "wall-clock" not in perf2x("convert", source("no_stacks"), "-o", tmp_path / "out.pb.gz").err
    ran = perf2x("convert", source("no_stacks"), "-o", tmp_path / "out.otlp.pb")
    assert "hint: This recording has no wall-clock time. Record with perf record -k mono" in ran.err
    ran = perf2x("convert", source("no_stacks"), "-o", tmp_path / "out.otlp.pb", "--start-time", "2026-11-02T10:00:00Z")
    assert "wall-clock" not in ran.err


def test_programs_read_it(tmp_path: Path) -> None:
    ran = perf2x("convert", source("few"), "-t", "collapsed", "-o", tmp_path / "out", "--stats", "json")
    assert [one["about"] for one in json.loads(ran.err)["advice"]][-2:] == ["samples", "undated"]
    assert [one["about"] for one in json.loads(perf2x("info", source("few"), "--json").out)["advice"]] == [
        "samples",
        "undated",
    ]
    facts = json.loads(perf2x("report", source("no_stacks"), "--format", "json").out)
    assert facts["next"][0]["about"] == "no_stacks"
    assert facts["paths"] == []  # of one frame


def test_the_report_marks_callers_that_may_be_others() -> None:
    for path, marked in ((source("no_pointers"), True), (ROOT / "examples" / "words" / "perf.data", False)):
        page = perf2x("report", path, "--no-symbols").out
        assert ("called by (some are missing)" in page, "called by |" in page) == (marked, not marked)
        assert ("Hottest paths (some callers are missing)" in page) == (marked and "Hottest paths" in page)


def test_the_page_has_it(tmp_path: Path) -> None:
    perf2x("convert", source("no_stacks"), "-o", tmp_path / "out.html")
    text = (tmp_path / "out.html").read_text()
    data = re.search(r'type="text/plain">(.*?)</script>', text, re.DOTALL)
    assert data
    (about, words), *_ = json.loads(gzip.decompress(base64.b64decode(data[1])))["advice"]
    assert about == "no_stacks" and words.startswith("No call stacks")


def test_several_recordings_are_judged_together() -> None:
    loaded = read([source("no_stacks"), source("good")], symbols=SYMFS)
    assert list(said(loaded)) == ["missing_callers", "undated"]  # half of the samples have stacks
    assert chains_of(loaded).without_stack == chains_of(read(source("no_stacks"), symbols=None)).samples
    assert list(said(read([source("few"), source("no_pointers")], symbols=SYMFS))) == ["cut_stacks", "undated"]


def test_filters_of_frames_do_not_count_as_cut_stacks() -> None:
    assert "cut_stacks" not in said(read(source("good"), symbols=SYMFS, filters=Filters(max_stack=1)))


def test_a_single_sample_is_spoken_of_as_one() -> None:
    profile = keep_samples(read(source("few"), symbols=None, timeline=True).profile, np.arange(1))
    (words,) = [one.sentence() for one in advice(ChainReport(), profile, None, "x") if one.about == "samples"]
    assert words.startswith("There is only 1 sample: too few to tell shares.")


def test_names_are_missed_by_cost() -> None:
    found = read(BEGINNERS / "stripped.data", symbols=SYMFS).symbols
    assert found is not None
    (worst, *_) = found.objects
    for unnamed, is_told in ((5, False), (6, True)):
        row = replace(worst, named=1, unnamed=99, samples=100, unnamed_samples=unnamed)
        profile = read(source("good"), symbols=None).profile
        told = [one.text for one in advice(ChainReport(), profile, SymbolReport((row,)), "x") if one.about == "unnamed"]
        assert bool(told) == is_told
        assert all(text.startswith(f"{unnamed} % of the samples are in functions without a name") for text in told)


def test_the_command_of_a_hint_has_what_was_typed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    source_name = source("stripped")
    typed = ["top", source_name, "--debug-dir", str(BEGINNERS), "--perf-map-dir=/", "-n", "1"]
    monkeypatch.setattr("sys.argv", ["perf2x", *typed])
    (hint,) = [line for line in perf2x(*typed).err.splitlines() if "without a name" in line]
    again = f"perf2x info --symbols -v {source_name} --debug-dir {BEGINNERS} --perf-map-dir=/"
    assert hint.endswith(f"; for what would help: {again}")
    facts = json.loads(perf2x("info", *typed[1:4], "--json").out)
    assert again in [one["text"].rpartition(": ")[2] for one in facts["advice"]]
    perf2x("convert", source_name, "-o", tmp_path / "page.html")
    data = re.search(
        r'<script id="data" type="text/plain">(.*?)</script>', (tmp_path / "page.html").read_text(), re.DOTALL
    )
    assert data is not None
    told = dict(json.loads(gzip.decompress(base64.b64decode(data[1])))["advice"])
    assert told["unnamed"].endswith(f"; for what would help: perf2x info --symbols -v {source_name}")
    said = perf2x(*again.split()[1:]).out
    assert "without names:" in said and "perf2x info" not in said


def test_few_exact_counts_are_no_mistake() -> None:
    profile = read(source("few"), symbols=None).profile
    (event,) = profile.events
    for change in ({"frequency": 0, "period": 1}, {"is_wait": True}):
        exact = _with_event(profile, event, change)
        assert [one.about for one in advice(ChainReport(), exact, None, "x")] == ["undated"]


def _with_event(profile: Profile, event, change) -> Profile:
    return replace(profile, events=(replace(event, **change),))


@pytest.mark.parametrize("path", [CORPUS / "zstd" / "perf.data", CORPUS / "task_end" / "perf.data", source("good")])
def test_cut_stacks_are_those_found_one_by_one(path: Path) -> None:
    loaded = read(path, symbols=None)
    profile = loaded.profile
    walked = cut = 0
    for row, count in zip(profile.samples.stack.tolist(), profile.samples.count.tolist(), strict=True):
        frames = []
        while row >= 0:
            frames.insert(0, int(profile.stacks.location[row]))
            row = int(profile.stacks.parent[row])
        user = [
            at for at in frames if profile.locations.mode[at] == CpuMode.USER and not profile.locations.synthetic[at]
        ]
        if user and user[0] == frames[0]:
            walked += count
            cut += count * (len(user) == 1 or (len(user) == 2 and bool(profile.locations.mapping[user[0]] < 0)))
    assert (chains_of(loaded).by_frame_pointer, chains_of(loaded).cut_off) == (walked, cut)
    assert chain_report(profile, loaded.recording.session, None) == chains_of(loaded)


def test_no_stacks_at_all_are_no_cut_ones() -> None:
    loaded = read(source("good"), symbols=None, stacks=False)
    assert chains_of(loaded).by_frame_pointer == 0
    assert np.all(loaded.profile.samples.stack == -1)
