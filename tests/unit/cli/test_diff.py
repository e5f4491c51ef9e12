"""``perf2x diff``, and recordings that are added up."""

import base64
import gzip
import io
import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from perf2x.analysis.diff import normalized
from perf2x.emit.flame.diff_page import DifferencePage
from perf2x.emit.pprof.profile_pb2 import Profile as Pprof
from perf2x.plugins.contracts import ProfileBuilder
from perf2x.tables.profile import Profile
from tests.forge import Comm, Event, Features, Mmap2, Sample, Session, write_file
from tests.support.command import folded, perf2x, recording


def forged(path: Path, leaves: Sequence[int], comm: str = "app", hostname: str = "", event: str = "cpu-clock") -> Path:
    """One sample of 1000 at each leaf, called from 0x5000; objects every 0x1000 bytes."""
    objects = [
        Mmap2(pid=1, tid=1, addr=base, len=0x1000, filename=f"/lib/o{base >> 12}.so")
        for base in range(0x1000, 0x9000, 0x1000)
    ]
    chains = [(0xFFFFFFFFFFFFFE00, leaf, 0x5001) for leaf in leaves]
    samples = [Sample(ip=chain[1], time=9 + t, period=1000, chain=chain) for t, chain in enumerate(chains)]
    session = Session(events=(Event(event),), features=Features(hostname=hostname or path.stem))
    path.write_bytes(write_file(session, [Comm(pid=1, tid=1, comm=comm), *objects, *samples]))
    return path


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """Ten samples before and twelve after: o1 grew from 2 to 5, o2 shrank from 8 to 6, o3 is new with 1."""
    before = forged(tmp_path / "before.data", [0x1010] * 2 + [0x2010] * 8)
    return before, forged(tmp_path / "after.data", [0x1010] * 5 + [0x2010] * 6 + [0x3010])


QUICK = ("--no-symbols", "-q")


def test_what_a_person_sees(pair: tuple[Path, Path]) -> None:
    ran = perf2x("diff", *pair, *QUICK, "--value", "samples")
    assert ran.code == 0
    assert ran.out == (
        "cpu-clock: 10 before, 12 after (+20.0 %); ~ may be chance\n"
        "self before  after    change  total before  after    change  object  function\n"
        "          2      5  ~+30.0 %             2      5  ~+30.0 %  o1.so   [o1.so]\n"
        "          8      6  ~-20.0 %             8      6  ~-20.0 %  o2.so   [o2.so]\n"
        "          0      1  ~+10.0 %             0      1  ~+10.0 %  o3.so   [o3.so]\n"
        "          0      0    +0.0 %            10     12  ~+20.0 %  o5.so   [o5.so]\n"
    )


@pytest.fixture
def grown(tmp_path: Path) -> tuple[Path, Path]:
    """200 samples before and 280 after: o1 grew from 100 to 160, o2 from 100 to 120."""
    before = forged(tmp_path / "before.data", [0x1010] * 100 + [0x2010] * 100)
    return before, forged(tmp_path / "after.data", [0x1010] * 160 + [0x2010] * 120)


def test_changes_that_noise_explains_are_marked(grown: tuple[Path, Path]) -> None:
    for words in ((), ("--value", "samples")):
        out = perf2x("diff", *grown, *QUICK, *words).out
        assert re.search(r" \+30\.0 %  o1\.so", out) and re.search(r" ~\+10\.0 %  o2\.so", out)
    assert "~" not in perf2x("diff", grown[0], grown[0], *QUICK, "--all").out


def test_the_gate_counts_what_noise_does_not_explain(grown: tuple[Path, Path]) -> None:
    words = ("diff", *grown, "--no-symbols", "--fail-above", "function=5")
    plain = {"GITHUB_ACTIONS": "", "GITLAB_CI": ""}
    ran = perf2x(*words, env=plain)
    assert ran.code == 3
    said = [line for line in ran.err.splitlines() if "--fail-above" in line]
    assert said == [
        "perf2x: [o2.so] in o2.so grew by more than 5 %, but sampling noise explains it (--fail-above); "
        "record more samples to be sure",
        "perf2x: [o1.so] in o1.so grew by +30.0 % of the whole (+11.6 % to +48.6 %), more than 5 % (--fail-above)",
    ]
    said = perf2x(*words, "-q", "--any-change", env=plain).err.splitlines()
    assert said == [
        "perf2x: [o1.so] in o1.so grew by +30.0 % of the whole, more than 5 % (--fail-above)",
        "perf2x: [o2.so] in o2.so grew by +10.0 % of the whole, more than 5 % (--fail-above)",
    ]
    assert perf2x(*words, "-q", "--confidence", "0.9999999", env=plain).code == 0


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


@pytest.mark.parametrize("bar", ["object:o1.so=1", "function:[[]o1*=1", "total=1"])
def test_the_gate_is_as_sure_as_asked(tmp_path: Path, bar: str) -> None:
    """100 to 131 samples are beyond 95 % limits, 100 to 130 are not (the exact values stand in test_noise.py)."""
    before = forged(tmp_path / "before.data", [0x1010] * 100)
    for samples, code in ((130, 0), (131, 3)):
        after = forged(tmp_path / "after.data", [0x1010] * samples)
        assert perf2x("diff", before, after, *QUICK, "--fail-above", bar).code == code, samples


def grown_by(folder: Path, more: int) -> tuple[Path, Path]:
    """Three objects of 100 samples, the first of which grows, and one of 4."""
    rest = [0x2010] * 100 + [0x3010] * 100 + [0x4010] * 4
    return (
        forged(folder / "before.data", [0x1010] * 100 + rest),
        forged(folder / "after.data", [0x1010] * (100 + more) + rest),
    )


@pytest.mark.parametrize(
    ("bars", "enough"),
    [
        (("object:o1.so=1",), 31),
        (("object:o1.so=1", "object:o2.so=1"), 36),
        (("object=5",), 38),  # o4 cannot grow by 5 %, and is not looked at
        (("object=5", "object:o1.so=1"), 38),  # looked at once
        (("object=5", "total=50"), 40),
    ],
)
def test_the_gate_is_as_sure_of_all_comparisons_together(tmp_path: Path, bars: tuple[str, ...], enough: int) -> None:
    words = [word for bar in bars for word in ("--fail-above", bar)]
    assert perf2x("diff", *grown_by(tmp_path, enough - 1), *QUICK, *words).code == 0
    assert perf2x("diff", *grown_by(tmp_path, enough), *QUICK, *words).code == 3


def test_table_and_gate_say_the_same(tmp_path: Path) -> None:
    """36 more are no chance among two comparisons, and could be among all lines of the table."""
    pair = grown_by(tmp_path, 36)
    assert re.search(r"100\.00 µs +136\.00 µs +~\+11\.8 %", perf2x("diff", *pair, *QUICK).out)
    words = ("--fail-above", "function:[[]o1*=1", "--fail-above", "function:[[]o2*=1")
    ran = perf2x("diff", *pair, *QUICK, *words)
    assert ran.code == 3
    assert re.search(r"100\.00 µs +136\.00 µs +\+11\.8 %", ran.out)


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
    assert ran.out.splitlines()[1:] == ["no object moved"] and "left out" not in ran.err
    assert "no object moved" in perf2x(*words, "--format", "markdown").out


def test_what_is_left_out_is_counted(pair: tuple[Path, Path]) -> None:
    before, after = pair
    ran = perf2x("diff", before, after, "--no-symbols", "--normalize", "--by", "object")
    assert "o5.so" not in ran.out and "left out: 1 object that did not move (--all shows them)" in ran.err
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
    assert ran.err.startswith("perf2x: compares cpu-clock:u with cpu-clock:k, which count in different modes")


def test_shares_compare_recordings_of_different_length(pair: tuple[Path, Path]) -> None:
    facts = json.loads(perf2x("diff", *pair, *QUICK, "--normalize", "--json").out)
    moved = {row["name"]: row["self"] for row in facts["rows"]}
    assert moved["[o2.so]"] == [8000, 5000]
    assert facts["after"] == 12000


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (("--fail-above", "29%"), 3, "[o1.so] in o1.so grew by +30.0 % of the whole, more than 29 % (--fail-above)"),
        (("--fail-above", "30"), 0, ""),
        (("--fail-above", "19", "--by", "object"), 3, "the whole grew by +20.0 %, more than 19 %"),
        (("--fail-above", "19", "--normalize"), 3, "[o1.so] in o1.so grew by +21.7 %"),
        (("--fail-above", "25", "--normalize"), 0, ""),
        (("--fail-above", "total=19"), 3, "the whole grew by +20.0 %, more than 19 %"),
        (("--fail-above", "total=20%"), 0, ""),
        (("--fail-above", "function=29"), 3, "[o1.so] in o1.so grew by +30.0 % of the whole"),
        (("--fail-above", "object=29"), 3, "perf2x: o1.so grew by +30.0 % of the whole"),
        (("--fail-above", "object:o2.so=0"), 0, ""),
        (("--fail-above", "function:[[]o3*=9"), 3, "[o3.so] in o3.so grew by +10.0 %"),
        (("--fail-above", "function:[o3.so]=10", "--fail-above", "total=50"), 0, ""),
        (("--fail-above", "function:[o5.so]=19", "--sort", "total"), 3, "[o5.so] in o5.so grew by +20.0 %"),
    ],
)
def test_the_gate(pair: tuple[Path, Path], words: tuple[str, ...], code: int, sentence: str) -> None:
    ran = perf2x("diff", *pair, *QUICK, *words, "--any-change", env={"GITHUB_ACTIONS": "", "GITLAB_CI": ""})
    assert ran.code == code
    assert sentence in ran.err
    assert (ran.err == "") == (code == 0)


def test_a_gate_for_what_was_never_sampled_says_so_and_stays_open(pair: tuple[Path, Path]) -> None:
    ran = perf2x("diff", *pair, *QUICK, "--fail-above", "object:o9.so=1")
    assert ran.code == 0
    assert ran.err == "perf2x: --fail-above: no object 'o9.so'; the file has: o1.so, o2.so, o3.so, o5.so\n"


def test_two_columns_hold_both_recordings(pair: tuple[Path, Path]) -> None:
    lines = perf2x("diff", *pair, *QUICK, "--to", "collapsed", "-o", "-").out.splitlines()
    assert lines == ["app;[o5.so];[o1.so] 2000 5000", "app;[o5.so];[o2.so] 8000 6000", "app;[o5.so];[o3.so] 0 1000"]


def test_two_columns_of_real_recordings_add_up() -> None:
    words = (recording("zstd"), recording("pipe_zstd"))
    lines = perf2x("diff", *words, *QUICK, "--to", "collapsed", "-o", "-").out.splitlines()
    rows = [line.rsplit(" ", 2) for line in lines]
    assert {row[0]: int(row[1]) for row in rows if row[1] != "0"} == folded(words[0], value="period")
    assert {row[0]: int(row[2]) for row in rows if row[2] != "0"} == folded(words[1], value="period")


def read_pprof(path: Path) -> Pprof:
    message = Pprof()
    message.ParseFromString(gzip.decompress(path.read_bytes()))
    return message


def labelled(message: Pprof, key: str) -> dict[str, list[int]]:
    """Sum of values by the text of a label, "" for samples without it."""
    text, sums = message.string_table, dict[str, list[int]]()
    for sample in message.sample:
        found = next((text[label.str] for label in sample.label if text[label.key] == key), "")
        whole = sums.setdefault(found, [0] * len(sample.value))
        sums[found] = [a + b for a, b in zip(whole, sample.value, strict=True)]
    return sums


def test_pprof_finds_its_base_in_the_difference(pair: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "diff.pb.gz"
    assert perf2x("diff", *pair, *QUICK, "--to", "pprof", "-o", out).code == 0
    assert labelled(read_pprof(out), "pprof::base") == {"true": [-10, -10000], "": [12, 12000]}


@pytest.mark.parametrize("normalize", [False, True])
def test_go_pprof_sees_the_difference_as_it_would_make_it_itself(
    pair: tuple[Path, Path], tmp_path: Path, normalize: bool
) -> None:
    go = shutil.which("go")
    if go is None:
        pytest.skip("no go tool pprof here")
    words = ("--normalize",) if normalize else ()
    out = [tmp_path / f"{name}.pb.gz" for name in ("diff", "before", "after")]
    assert perf2x("diff", *pair, *QUICK, *words, "-o", out[0]).code == 0
    for path, source in zip(out[1:], pair, strict=True):
        assert perf2x("convert", source, *QUICK, "-o", path).code == 0

    def top(*said: object) -> list[str]:
        command = [go, "tool", "pprof", "-top", "-nodefraction=0", *map(str, said)]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return text[text.index("      flat") :].splitlines()

    theirs = top(*(["-normalize"] if normalize else []), "-diff_base", out[1], out[2])
    assert len(theirs) == (4 if normalize else 5)
    assert top(out[0]) == theirs


def page_of(path: Path) -> dict[str, Any]:
    held = re.search(r'<script id="data" type="text/plain">(.*?)</script>', path.read_text(), re.DOTALL)
    assert held is not None
    found: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(held.group(1))))
    return found


def test_the_page_holds_both_recordings(tmp_path: Path) -> None:
    sources = recording("zstd"), recording("pipe_zstd")
    out = tmp_path / "diff.html"
    ran = perf2x("diff", *sources, "--no-symbols", "-o", out, "--normalize")
    assert f"wrote html to {out}" in ran.err
    held = page_of(out)
    assert held["compare"] == {"normalize": True, "samples": False}
    parent, frame, strings = held["nodes"]["parent"], held["nodes"]["frame"], held["strings"]
    for column, source in (("beforeValue", sources[0]), ("value", sources[1])):
        stacks: dict[str, int] = {}
        rows = held["rows"]
        for thread, node, value in zip(rows["thread"], rows["node"], rows[column], strict=True):
            path = []
            while node >= 0:
                path.append(strings[held["frames"]["name"][frame[node]]])
                node = parent[node]
            comm = held["threads"][thread]["name"].replace(" ", "_")
            key = ";".join([comm, *reversed(path)])
            stacks[key] = stacks.get(key, 0) + value
        assert {key: value for key, value in stacks.items() if value} == folded(source, value="period")


def test_the_page_knows_a_function_again_that_moved(tmp_path: Path) -> None:
    sides = []
    for line in (3, 30):
        builder = ProfileBuilder()
        builder.event()
        thread = builder.thread("app", line)
        program = builder.mapping("/bin/app", 0x1000 * line)
        builder.sample([builder.location(0x1000 * line + 1, program, [("main", f"/build{line}/a.c", line)])], thread)
        sides.append(builder.build())
    out = io.BytesIO()
    DifferencePage(compress=False).emit(*sides, out)
    (tmp_path / "x").write_bytes(out.getvalue())
    text = out.getvalue().decode()
    held = json.loads(text[text.index('{"title"') : text.index("</script>", text.index('{"title"'))])
    assert held["nodes"] == {"parent": [-1], "frame": [0]}
    assert (held["rows"]["count"], held["rows"]["beforeCount"]) == ([1], [1])
    assert [thread["name"] for thread in held["threads"]] == ["app"]


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


def test_independent_recordings_are_added_up_and_keep_their_tags(pair: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "sum.pb.gz"
    tags = ("--tag", "commit=old", "--tag", "commit=new", "--tag", "host=ci")
    assert perf2x("convert", *pair, *QUICK, *tags, "-o", out).code == 0
    message = read_pprof(out)
    assert labelled(message, "commit") == {"old": [10, 10000], "new": [12, 12000]}
    assert labelled(message, "host") == {"ci": [22, 22000]}
    assert message.duration_nanos == 9 + 11
    assert folded(*pair) == {
        "app;[o5.so];[o1.so]": 7, "app;[o5.so];[o2.so]": 14, "app;[o5.so];[o3.so]": 1,
    }  # fmt: skip


def test_the_order_of_inputs_does_not_matter(pair: tuple[Path, Path], tmp_path: Path) -> None:
    out = [tmp_path / "a.pb.gz", tmp_path / "b.pb.gz"]
    for path, inputs in zip(out, (pair, pair[::-1]), strict=True):
        assert perf2x("convert", *inputs, *QUICK, "-o", path).code == 0
    assert out[0].read_bytes() == out[1].read_bytes()


@pytest.mark.parametrize("name", ["html", "chrome", "speedscope", "firefox"])
def test_timelines_of_several_recordings_can_be_written(pair: tuple[Path, Path], tmp_path: Path, name: str) -> None:
    assert perf2x("convert", *pair, *QUICK, "-t", name, "-o", tmp_path / "out").code == 0


def test_real_recordings_add_up(tmp_path: Path) -> None:
    words = (recording("calls"), recording("family"))
    expected: dict[str, int] = {}
    for word in words:
        for stack, number in folded(word).items():
            expected[stack] = expected.get(stack, 0) + number
    assert folded(*words) == expected


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("diff", "A", "B", "--to", "svg"), "'svg' is not one of 'html', 'pprof', 'collapsed'"),
        (("diff", "A", "B", "-o", "x"), "the name does not tell the format"),
        (("diff", "A", "B", "--fail-above", "thread=5"), "expected 5%, total=5%"),
        (("diff", "A", "B", "--fail-above", "function:=5"), "expected 5%, total=5%"),
        (("diff", "A", "B", "--fail-above", "-1"), "expected a percentage"),
        (("diff", "A", "B", "--confidence", "1"), "expected a number between 0 and 1"),
        (("diff", "A", "B", "--confidence", "95"), "expected a number between 0 and 1"),
        (("convert", "A", "A", "-t", "pprof"), "is given twice"),
        (("convert", "A", "B", "-t", "pprof", "--tag", "x"), "expected KEY=VALUE"),
        (("convert", "A", "-t", "collapsed", "--tag", "k=1"), "collapsed has no labels, so it cannot keep --tag"),
        (("convert", "A", "B", "-t", "html", "--tag", "k=1"), "html has no labels, so it cannot keep --tag"),
        (("convert", "A", "-t", "pprof", "--tag", "k=1", "--tag", "k=2"), "given 2 times for 1 inputs"),
    ],
)
def test_usage(words: tuple[str, ...], sentence: str, pair: tuple[Path, Path]) -> None:
    named = [{"A": str(pair[0]), "B": str(pair[1])}.get(word, word) for word in words]
    ran = perf2x(*named, "--no-symbols")
    assert (ran.code, ran.out) == (2, "")
    assert sentence in ran.said
