"""Recordings of Arm SPE through the commands: every kind of sample, and where it goes."""

import gzip
import json
import shutil
from collections import Counter
from pathlib import Path

import pytest

import perf2x as library
from perf2x.emitters.pprof import profile_pb2
from tests.support.command import perf2x
from tests.support.traced_program import FOLDER, spe_recording, taken

MEMORY = "mem_op,mem_level,snoop"


@pytest.fixture(scope="module")
def spe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("spe")
    (folder / "src").mkdir()
    shutil.copy(FOLDER / "hot-gcc", folder / "src/hot-gcc")
    (folder / "perf.data").write_bytes(spe_recording("hot-gcc"))
    return folder


def run(folder: Path, command: str, *words: str) -> str:
    ran = perf2x(command, folder / "perf.data", *words)
    assert ran.code == 0, ran.said
    return ran.out


def test_branches_that_were_taken_go_to_bolt(spe: Path) -> None:
    out = run(spe, "convert", "--symfs", str(spe), "--itrace", "b", "--to", "bolt", "-o", "-")
    lines = [line.split() for line in out.splitlines()]
    ours = {(int(source, 16), int(target, 16)): (int(count), int(missed)) for _, source, target, count, missed in lines}
    some = [one for at, one in enumerate(taken("hot-gcc")[::3]) if at % 4]
    count = Counter((one.from_ip, one.to_ip) for one in some)
    missed = Counter((one.from_ip, one.to_ip) for one in some if one.mispred)
    assert ours == {pair: (count[pair], missed[pair]) for pair in count}


def test_compilers_get_the_same_branches(spe: Path) -> None:
    lines = run(spe, "convert", "--symfs", str(spe), "--itrace", "b", "--to", "autofdo", "-o", "-").splitlines()
    assert any(line.startswith("odd:") for line in lines) and any("even:" in line for line in lines[1:])


def test_where_data_was_found_is_a_label(spe: Path) -> None:
    run(spe, "convert", "--itrace", "M", "--label", MEMORY, "--no-symbols", "-o", str(spe / "x.pb.gz"))
    profile = profile_pb2.Profile.FromString(gzip.decompress((spe / "x.pb.gz").read_bytes()))
    texts = profile.string_table
    labels = {
        tuple(texts[label.str] for label in sample.label if texts[label.key] in MEMORY) for sample in profile.sample
    }
    assert labels == {("STORE", "N/A", "N/A"), ("LOAD", "L1 hit", "None"), ("LOAD", "L2 hit", "None")}


def test_values_are_cycles(spe: Path) -> None:
    plain = json.loads(run(spe, "top", "--no-symbols", "--itrace", "M", "--format", "json"))
    cycles = json.loads(run(spe, "top", "--no-symbols", "--itrace", "M", "--value", "weight", "--format", "json"))
    memory = [5 + at % 9 for at, _ in enumerate(taken("hot-gcc")[::3]) if not at % 4]
    assert (plain["value"], cycles["value"]) == (len(memory), sum(memory))


def test_info_counts_each_kind(spe: Path) -> None:
    lines = run(spe, "info").splitlines()
    assert "hardware trace: Arm SPE of 1 CPU, MIDR 0x413fd0c1" in lines
    memory = len(range(0, len(taken("hot-gcc")[::3]), 4))
    assert f"  memory: {memory} samples, {memory} count" in lines


def test_formats_of_one_event_show_instructions(spe: Path) -> None:
    ran = perf2x("convert", spe / "perf.data", "--no-symbols", "-t", "collapsed", "-o", "-")
    assert "numbers are events of instructions; other events: memory, branch, l1d-access" in ran.said


def test_the_library_chooses_samples(spe: Path) -> None:
    loaded = library.read(str(spe / "perf.data"), itrace="b", symbolize=False)
    assert {event.name for event in loaded.events if event.samples} == {"branch"}


def test_stored_samples_are_chosen_already(spe: Path) -> None:
    pytest.importorskip("pyarrow")
    assert perf2x("fleet", "ingest", spe / "perf.data", "-o", spe / "stored", "-q").code == 0
    ran = perf2x("top", spe / "stored", "--itrace", "M")
    assert ran.code == 2 and "--itrace applies when a recording is added" in ran.said
    assert perf2x("top", spe / "stored", "--event", "memory", "--no-symbols").code == 0
