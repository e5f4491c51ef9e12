"""Texts as inputs: every kind with every command and format; what a text cannot tell is refused as it was typed."""

import gzip
import io
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

from perf2x.base.installed_packages import entry_points_by_name
from perf2x.kernel.load import load
from perf2x.kernel.load_options import LoadOptions
from perf2x.kernel.registry import EMITTERS, load_emitter
from perf2x.model.format_features import SingleSampleSettings
from tests.forge.session import zstd
from tests.support.command import perf2x, recording
from tests.support.datasets import content
from tests.support.otlp_profiles import read_profiles
from tests.support.outputs import is_on_demand
from tests.support.recordings import CORPUS

TEXTS = {
    "perf script": (
        "# hostname : there\n# cmdline : /usr/bin/perf record -g ./prog\n"
        "prog 16/17 [001] 6.000100: 250 cycles: \n\t401136 work+0x6 (/demo/prog)\n\t401200 main+0x10 (/demo/prog)\n\n"
        "prog 16/18 [000] 6.000200: 250 cycles: \n\tffffffff81000c82 asm_exc+0x22 ([kernel.kallsyms])\n\n"
        "prog 16/17 [001] 6.000300: 9 sched:sched_switch: prev_comm=prog prev_pid=17 prev_state=S ==> next_comm=x\n"
        "\t401200 main+0x10 (/demo/prog)\n\n"
    ),
    "folded": "main;work 2\nmain;read_[k] 3\n",
}
KINDS = {"perf script": "text of perf script", "folded": "folded stacks"}
SAMPLES = {"perf script": 2, "folded": 5}
"""Samples of the first event."""
NEEDS = {name: load_emitter(name)().needs for name in entry_points_by_name(EMITTERS)}
REFUSED = {name: "no records" if needs.of(SingleSampleSettings).as_recorded else "has names, not addresses in files"
           for name, needs in NEEDS.items() if is_on_demand(name)}  # fmt: skip
FORMATS = [name for name in entry_points_by_name(EMITTERS) if name not in REFUSED]


@pytest.fixture(params=TEXTS)
def kind(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    (tmp_path / "text").write_text(TEXTS[request.param])
    return str(request.param)


def test_every_format_has_the_names(kind: str, tmp_path: Path) -> None:
    for name in FORMATS:
        ran = perf2x("convert", tmp_path / "text", "--to", name, "-o", tmp_path / "out", "-q")
        assert ran.code == 0, (name, ran.err)
        data = (tmp_path / "out").read_bytes()
        data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
        assert b"main" in data or name == "html", name


def test_tables_and_reports(kind: str, tmp_path: Path) -> None:
    text = tmp_path / "text"
    for words in (("top",), ("top", "--graph"), ("report",), ("info",), ("info", "--symbols", "-v")):
        ran = perf2x(words[0], text, *words[1:])
        assert ran.code == 0, ran.err
    counted = f"weight: {SAMPLES[kind]};" if kind == "folded" else f"{SAMPLES[kind]} samples"
    assert counted in perf2x("top", text).out
    assert f"kind: {KINDS[kind]}\n" in perf2x("info", text).out
    assert perf2x("diff", text, text).code == 0


@pytest.mark.parametrize("command", ["annotate", "bundle", *REFUSED])
def test_what_needs_code_or_records_is_refused(command: str, kind: str, tmp_path: Path) -> None:
    text, out = tmp_path / "text", tmp_path / "out"
    words = {"annotate": ("annotate", "main", text), "bundle": ("bundle", text, "-o", out)}
    ran = perf2x(*words.get(command, ("convert", text, "--to", command, "-o", out)))
    assert ran.code == 2
    assert REFUSED.get(command, "has names, not addresses in files") in ran.said
    assert not out.exists()


@pytest.mark.parametrize(
    "words",
    [
        ("--symfs", "{dir}"), ("--debug-dir", "{dir}"), ("--buildid-dir", "{dir}"), ("--perf-map-dir", "{dir}"),
        ("--allow-build-id-mismatch",), ("--source",), ("--assembly",), ("--off-cpu", "apart"),
        ("--value", "latency"), ("--value", "weight"), ("--parallelism", "1"), ("--kallsyms", "{dir}/kallsyms"),
        ("--vmlinux", "{dir}/kallsyms"), ("--archive", "{dir}/kallsyms"), ("--by", "data-object"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_options_that_a_text_cannot_honour_are_refused_as_they_were_typed(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    text = tmp_path / "text"
    text.write_text(TEXTS["perf script"])
    (tmp_path / "kallsyms").write_text("ffffffff81000000 T _text\n")
    given = [word.replace("{dir}", str(tmp_path)) for word in words]
    command = ("top",) if words[0] == "--by" else ("convert", "--to", "html", "-o", tmp_path / "out")
    ran = perf2x(*command, text, *given)
    assert ran.code == 2, ran.out
    assert f"{words[0]}" in ran.said
    assert "does not have the data" in ran.said


def test_a_text_of_addresses_alone_is_told_which_fields_to_print(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("prog 17 6.000250: cycles: \n\t          401136\n\t          401200\n\n")
    said = perf2x("top", text).err
    assert "perf script -F comm,tid,time,event,ip,sym,dso prints the names" in said
    assert "info --symbols" not in said
    text.write_text(TEXTS["perf script"])
    assert "-F comm" not in perf2x("top", text).err


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, zstd().compress], ids=["gz", "xz", "zst"])
def test_packed_texts_and_pipes(
    pack: Callable[[bytes], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = pack(TEXTS["folded"].encode())
    (tmp_path / "text").write_bytes(packed)
    ran = perf2x("convert", tmp_path / "text", "--to", "collapsed", "-o", "-", "-q")
    assert ran.out == "main;read 3\nmain;work 2\n"
    for data in (packed, TEXTS["folded"].encode()):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
        from perf2x.kernel.load import load
        from perf2x.kernel.load_options import LoadOptions

        assert load("-", LoadOptions()).samples == 5


def test_filters_ask_what_the_text_says(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text(TEXTS["perf script"])

    def folds(*words: str) -> str:
        return perf2x("convert", text, "--to", "collapsed", "-o", "-", "-q", *words).out

    assert folds() == "prog;asm_exc 250\nprog;main;work 250\n"
    assert folds("--tid", "18") == folds("--cpu", "0") == folds("--time", "6.00015,") == "prog;asm_exc 250\n"
    assert folds("--time", "0%-10%") == folds("--symbol", "work") == folds("--dso", "prog") == "prog;main;work 250\n"
    assert folds("--kernel-suffix", "--frames", "kernel") == "prog;asm_exc_[k] 250\n"
    assert folds("--anonymize", "x") != folds()
    text.write_text(TEXTS["folded"])
    for option, value in (("--time", "1,2"), ("--cpu", "1")):
        assert f"the samples have no {option[2:]}" in perf2x("top", text, option, value).said


@pytest.mark.parametrize("other", ["text", "recording"])
def test_inputs_are_summed(other: str, tmp_path: Path) -> None:
    texts = [tmp_path / "a", tmp_path / "b"]
    for text in texts:
        text.write_text(TEXTS["folded"])
    inputs = texts if other == "text" else [texts[0], recording("calls")]
    ran = perf2x("convert", *inputs, "--to", "collapsed", "--event", "weight", "-o", "-", "-q")
    assert ran.out == ("main;read 6\nmain;work 4\n" if other == "text" else "main;read 3\nmain;work 2\n")


def test_a_dataset_says_what_its_texts_say(kind: str, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    text, dataset = tmp_path / "text", tmp_path / "dataset"
    assert perf2x("fleet", "ingest", text, "-o", dataset, "-q").code == 0
    assert content(load(str(dataset), LoadOptions()).profile) == content(load(str(text), LoadOptions()).profile)
    for name in ("collapsed", "svg"):
        outs = [tmp_path / f"{name}-{number}" for number in range(2)]
        for source, out in zip((text, dataset), outs, strict=True):
            ran = perf2x("convert", source, "--to", name, "-o", out, "-q")
            assert ran.code == 0, ran.err
        assert outs[0].read_bytes() == outs[1].read_bytes(), name


def test_texts_in_one_dataset_keep_their_own_names(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    for name, function in (("a", "work"), ("b", "other")):
        (tmp_path / name).write_text(TEXTS["perf script"].replace("work", function))
    texts, words = [tmp_path / "a", tmp_path / "b"], ("--to", "collapsed", "-o", "-", "-q")
    assert perf2x("fleet", "ingest", *texts, "-o", tmp_path / "dataset", "-q").code == 0
    assert perf2x("convert", tmp_path / "dataset", *words).out == perf2x("convert", *texts, *words).out


def test_perfs_own_text_and_the_recording_have_the_same_table() -> None:
    script, words = CORPUS / "calls" / "script.txt.xz", ("--names", "full", "-q", "--limit", "5")
    symbols = ("--symfs", CORPUS / "common" / "symfs", "--kallsyms", CORPUS / "calls" / "kallsyms.xz")
    ours = perf2x("top", recording("calls"), *symbols, *words)
    assert perf2x("top", script, *words).out.splitlines()[2:] == ours.out.splitlines()[2:]


def test_an_object_with_code_of_the_kernel_and_of_programs_is_one(tmp_path: Path) -> None:
    text, out = tmp_path / "text", tmp_path / "out"
    text.write_text(TEXTS["perf script"].replace("[kernel.kallsyms]", "/demo/prog"))
    assert perf2x("convert", text, "--to", "otlp", "-o", out, "-q").code == 0
    read_profiles(out.read_bytes())  # which refuses an entry that stands twice
