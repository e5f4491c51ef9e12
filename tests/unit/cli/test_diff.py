"""``perf2x diff``: tables of changes."""

import json
import re
from pathlib import Path

import pytest

from perf2x.model.profile.profile import Profile
from perf2x.testing import ProfileBuilder
from perf2x.tools.diff.changes import normalized
from tests.support.command import perf2x
from tests.unit.cli.diff_inputs import QUICK, forged, labelled, read_pprof
from tests.unit.emitters.flame.test_html import data as page_data


def test_the_table_on_a_terminal(pair: tuple[Path, Path]) -> None:
    ran = perf2x("diff", *pair, *QUICK, "--value", "samples")
    assert ran.code == 0
    assert ran.out == (
        "cpu-clock: 10 before, 12 after (+20.0 %); ~ may be noise\n"
        "self before  after      ×  of the total  total before  after      ×  of the total  object  function\n"
        "          2      5  ×2.50      ~+30.0 %             2      5  ×2.50      ~+30.0 %  o1.so   [o1.so]\n"
        "          8      6  ×0.75      ~-20.0 %             8      6  ×0.75      ~-20.0 %  o2.so   [o2.so]\n"
        "          0      1    new      ~+10.0 %             0      1    new      ~+10.0 %  o3.so   [o3.so]\n"
    )
    ran = perf2x("diff", *pair, "--no-symbols", "--value", "samples", "--sort", "total")
    assert (
        "          0      0               +0.0 %            10     12  ×1.20      ~+20.0 %  o5.so   [o5.so]\n"
        in ran.out
    )
    ran = perf2x("diff", *pair, "--no-symbols", "--value", "samples", "--all")
    assert "  o5.so   [o5.so]\n" in ran.out and "left out: " not in ran.err


@pytest.mark.parametrize(
    ("columns", "sort", "heads"),
    [
        (70, "total", "self change  total before  after      ×  of the total  function"),
        (60, "self", "self before  after      ×  of the total  function"),
        (60, "total", "total before  after      ×  of the total  function"),
        (45, "total", "self change  total change  function"),
    ],
)
def test_a_narrow_table_names_what_its_shares_are_of(
    columns: int, sort: str, heads: str, pair: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert heads in perf2x("diff", *pair, *QUICK, "--value", "samples", "--sort", sort).out.splitlines()


def test_changes_that_noise_explains_are_marked(grown: tuple[Path, Path]) -> None:
    for words in ((), ("--value", "samples")):
        out = perf2x("diff", *grown, *QUICK, *words).out
        assert re.search(r" \+30\.0 %  o1\.so", out) and re.search(r" ~\+10\.0 %  o2\.so", out)
    assert "~" not in perf2x("diff", grown[0], grown[0], *QUICK, "--all").out


def test_json_has_intervals(grown: tuple[Path, Path]) -> None:
    facts = json.loads(perf2x("diff", *grown, *QUICK, "--json").out)
    rows = {row["name"]: row for row in facts["rows"]}
    assert facts["confidence"] == 0.95
    assert rows["[o1.so]"]["significant"] == {"self": True, "total": True}
    assert rows["[o2.so]"]["significant"] == {"self": False, "total": False}
    for row in rows.values():
        for column in ("self", "total"):
            (low, high), change = row["interval"][column], row[column][1] - row[column][0]
            assert low < change < high
            assert row["significant"][column] == (low > 0 or high < 0)
    wider = json.loads(perf2x("diff", *grown, *QUICK, "--json", "--confidence", "99%").out)
    assert wider["rows"][0]["interval"]["self"][0] < facts["rows"][0]["interval"]["self"][0]


def test_rows_that_did_not_move_are_left_out(tmp_path: Path) -> None:
    """One sample of 2000 is 0.05 % and reads as 0.1 %; of 2001 it reads as 0.0 %. --all shows both."""
    for whole, shown in ((2000, ["o1.so"]), (2001, [])):
        before = forged(tmp_path / "before.data", [0x1010] * 10 + [0x2010] * (whole - 10))
        after = forged(tmp_path / "after.data", [0x1010] * 11 + [0x2010] * (whole - 10))
        words = ("diff", before, after, "--no-symbols", "--by", "object")
        facts = json.loads(perf2x(*words, "--json", "-q").out)
        assert [row["name"] for row in facts["rows"] if row["name"] == "o1.so"] == shown
        every = json.loads(perf2x(*words, "--json", "-q", "--all").out)
        assert len(every["rows"]) == len(facts["rows"]) + facts["unmoved"] == 3 and every["unmoved"] == 0
    ran = perf2x(*words)
    assert ran.out.splitlines()[1:] == ["no object changed"] and "left out" not in ran.err
    assert "no object changed" in perf2x(*words, "--format", "markdown").out


def test_what_is_left_out_is_counted(pair: tuple[Path, Path]) -> None:
    before, after = pair
    ran = perf2x("diff", before, after, "--no-symbols", "--normalize", "--by", "object")
    assert "o5.so" not in ran.out and "left out: 1 object whose self did not change (--all shows them)" in ran.err
    assert "o5.so" in perf2x("diff", before, after, "--no-symbols", "--normalize", "--by", "object", "--all").out


@pytest.mark.parametrize("names", [("cpu-clock", "cpu-clock:pppH"), ("cpu-clock:pppH", "cpu-clock")])
def test_events_that_differ_in_modifiers_are_one(tmp_path: Path, names: tuple[str, str]) -> None:
    pair = [forged(tmp_path / f"{row}.data", [0x1010] * 10, event=name) for row, name in enumerate(names)]
    ran = perf2x("diff", *pair, *QUICK, "--to", "pprof", "-o", tmp_path / "diff.pb.gz")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"{names[0]}: 10.00 µs before, 10.00 µs after (+0.0 %)")
    message = read_pprof(tmp_path / "diff.pb.gz")
    assert labelled(message, "pprof::base") == {"true": [-10, -10000], "": [10, 10000]}
    assert perf2x("diff", *pair, *QUICK, "--event", "cpu-clock").code == 0


def test_modes_that_differ_are_said(tmp_path: Path) -> None:
    pair = [forged(tmp_path / f"{name}.data", [0x1010] * 10, event=f"cpu-clock:{name}") for name in ("u", "k")]
    ran = perf2x("diff", *pair, *QUICK)
    assert ran.code == 0
    assert ran.err.startswith("perf2x: comparing cpu-clock:u with cpu-clock:k, which count in different modes")


def test_shares_compare_recordings_of_different_length(pair: tuple[Path, Path]) -> None:
    facts = json.loads(perf2x("diff", *pair, *QUICK, "--normalize", "--json").out)
    moved = {row["name"]: row["self"] for row in facts["rows"]}
    assert moved["[o2.so]"] == [8000, 5000]
    assert facts["after"] == 12000


def test_scaling_keeps_the_whole_of_many_small_samples() -> None:
    def made(samples: int) -> Profile:
        builder = ProfileBuilder()
        builder.event("faults", "count")
        builder.thread()
        for row in range(samples):
            builder.sample([builder.function(f"f{row}")], value=1)
        return builder.build()

    after = normalized(made(40), made(100), "period")
    assert int(after.samples.value.sum()) == 40
    assert set(after.samples.value.tolist()) == {0, 1}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("diff", "A", "B", "--to", "svg"), "--to svg: choose from html, pprof, collapsed"),
        (("diff", "A", "B", "-o", "x"), "the name does not determine the format"),
        (("diff", "A", "B", "--fail-above", "thread=5"), "expected 5%, total=5%"),
        (("diff", "A", "B", "--fail-above", "function:=5"), "expected 5%, total=5%"),
        (("diff", "A", "B", "--fail-above", "-1"), "expected a percentage"),
        (("diff", "A", "B", "--confidence", "1"), "expected a number between 0 and 1"),
        (("diff", "A", "B", "--confidence", "95"), "expected a number between 0 and 1"),
        (("convert", "A", "A", "-t", "pprof"), "is given twice"),
        (("convert", "A", "B", "-t", "pprof", "--tag", "x"), "expected KEY=VALUE"),
        (
            ("convert", "A", "-t", "collapsed", "--tag", "k=1"),
            "collapsed cannot take --tag; otlp and pprof can",
        ),
        (("convert", "A", "B", "-t", "html", "--tag", "k=1"), "html cannot take --tag; otlp and pprof can"),
        (("convert", "A", "-t", "pprof", "--tag", "k=1", "--tag", "k=2"), "given 2 times for 1 inputs"),
    ],
)
def test_usage(words: tuple[str, ...], sentence: str, pair: tuple[Path, Path]) -> None:
    named = [{"A": str(pair[0]), "B": str(pair[1])}.get(word, word) for word in words]
    ran = perf2x(*named, "--no-symbols")
    assert (ran.code, ran.out) == (2, "")
    assert sentence in ran.said


def test_renamed_objects_are_compared_and_named(renamed_pair: tuple[Path, Path], tmp_path: Path) -> None:
    """In every form, by the name before; the gate holds its limits against them, too."""
    ran = perf2x("diff", *renamed_pair, "--no-symbols", "--fail-above", "object:libz.so.1.2=5%")
    note = "perf2x: treating libz.so.1.3 as the renamed libz.so.1.2; use --map OLD=NEW to override\n"
    assert ran.code == 3 and ran.err.startswith(note) and "libz.so.1.2 grew by +25.0 %" in ran.err
    assert "libz.so.1.3" not in ran.out and "gone" not in ran.out
    facts = json.loads(perf2x("diff", *renamed_pair, *QUICK, "--json").out)
    assert facts["renamed_objects"] == [["libz.so.1.2", "libz.so.1.3"]]
    assert [row["self"] for row in facts["rows"] if row["object"] == "libz.so.1.2"] == [[100_000, 150_000]]
    markdown = perf2x("diff", *renamed_pair, *QUICK, "--format", "markdown").out
    assert "; treating `libz.so.1.3` as the renamed `libz.so.1.2`" in markdown
    report = perf2x("report", renamed_pair[1], "--before", renamed_pair[0], "--no-symbols").out
    assert "- `treating libz.so.1.3 as the renamed libz.so.1.2; use --map OLD=NEW to override`" in report
    page = tmp_path / "diff.html"
    assert perf2x("diff", *renamed_pair, *QUICK, "-o", page).code == 0
    assert note.removeprefix("perf2x: ").strip() in page_data(page.read_text())["facts"]


def test_given_names_decide_what_is_compared(renamed_pair: tuple[Path, Path]) -> None:
    words = ("diff", *renamed_pair, "--no-symbols", "--json", "--all")
    apart = json.loads(perf2x(*words, "--map", "libz.so.1.2=libz.so.1.2").out)
    assert apart["renamed_objects"] == [] and len(apart["rows"]) == 4
    other = json.loads(perf2x(*words, "--map", "app=libz.so.1.3").out)
    assert other["renamed_objects"] == [["app", "libz.so.1.3"]]
    for text, said in (
        ("app", "--map app: expected OLD=NEW"),
        ("ap=app", "no object 'ap'; did you mean app? The recording before has"),
    ):
        ran = perf2x(*words, "--map", text)
        assert (ran.code, ran.out) == (2, "") and said in ran.said
    ran = perf2x("report", renamed_pair[0], "--map", "app=app")
    assert ran.code == 2 and "--map needs an earlier recording" in ran.said
