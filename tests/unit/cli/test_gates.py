"""``--stats`` and the gates that end a command with exit code 3."""

import json
import re
from pathlib import Path

import pytest

from tests.forge import CallchainDeferred, Comm, Event, Lost, LostSamples, Sample, Session, Stamp, write_file
from tests.support.command import Ran, perf2x, recording
from tests.support.recordings import ROOT


def convert(*words: object, env: dict[str, str] | None = None) -> Ran:
    clean = {"GITHUB_ACTIONS": "", "GITLAB_CI": "", **(env or {})}
    return perf2x("convert", *words, "--to", "collapsed", "-q", env=clean)


@pytest.fixture
def lossy(tmp_path: Path) -> Path:
    """Three samples, and one that the kernel could not write."""
    path = tmp_path / "lossy.data"
    records = [Comm(pid=1, tid=1, comm="a"), *(Sample(ip=0x1000, time=t) for t in (1, 2, 3)), LostSamples(lost=1)]
    path.write_bytes(write_file(Session(events=(Event(),)), records))
    return path


def test_a_gate_fails_above_its_limit_and_not_at_it(lossy: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.folded"
    ran = convert(lossy, "--no-symbols", "-o", out, "--fail-if", "lost=24.9%")
    assert ran.code == 3
    assert ran.err == "perf2x: 25.00 % of the samples were lost, more than 24.9 % (--fail-if lost)\n"
    assert out.exists(), "the output is written all the same: it is what people look at next"
    assert convert(lossy, "--no-symbols", "-o", out, "--fail-if", "lost=25").code == 0


def test_lost_records_are_lost_samples_too(tmp_path: Path) -> None:
    """PERF_RECORD_LOST counts what did not fit into the buffer, PERF_RECORD_LOST_SAMPLES what the kernel dropped."""
    path = tmp_path / "lossy.data"
    samples = [Sample(ip=0x1000, time=t) for t in (1, 2, 3)]
    path.write_bytes(write_file(Session(events=(Event(),)), [*samples, Lost(lost=2), LostSamples(lost=1)]))
    ran = convert(path, "--no-symbols", "-o", "-", "--fail-if", "lost=49")
    assert "50.00 % of the samples were lost" in ran.err
    assert convert(path, "--no-symbols", "-o", "-", "--fail-if", "lost=50").code == 0


def test_strict_fails_for_every_loss(lossy: Path) -> None:
    ran = convert(lossy, "--no-symbols", "-o", "-", "--strict")
    assert ran.code == 3
    assert "1 lost sample (--strict)" in ran.err
    assert convert(recording("calls"), "--no-symbols", "-o", "-", "--strict").code == 0


def test_names_and_user_stacks_have_gates_too() -> None:
    assert convert(recording("calls"), "-o", "-", "--fail-if", "unresolved=0").code == 3
    assert convert(recording("calls"), "-o", "-", "--fail-if", "unresolved=100").code == 0
    assert convert(recording("forker"), "--no-symbols", "-o", "-", "--fail-if", "missing-user=100").code == 0
    ran = convert(recording("delay_and_control"), "--no-symbols", "-o", "-", "--fail-if", "missing-user=0")
    assert "miss their user stack" in ran.err


def test_a_user_stack_that_only_another_thread_has_is_missing_too(tmp_path: Path) -> None:
    """Of four samples one has no record of its cookie, and one only that of a thread that is not its own."""
    path = tmp_path / "deferred.data"
    event = Event(flags=frozenset({"sample_id_all", "defer_callchain", "defer_output"}))
    kernel = (2**64 - 128, 0xFFFFFFFF81000000)

    def sample(time: int, cookie: int) -> Sample:
        return Sample(pid=1, tid=1, ip=kernel[1], mode=1, time=time, chain=(*kernel, 2**64 - 640, cookie))

    records = [
        Comm(pid=1, tid=1, comm="a"),
        *(sample(time, cookie) for time, cookie in ((10, 5), (11, 5), (20, 6), (30, 7))),
        CallchainDeferred(cookie=5, ips=(2**64 - 512, 0x1000), stamp=Stamp(pid=1, tid=1, time=12)),
        CallchainDeferred(cookie=6, ips=(2**64 - 512, 0x1000), stamp=Stamp(pid=1, tid=2, time=22)),
    ]
    path.write_bytes(write_file(Session(events=(event,)), records))
    ran = convert(path, "--no-symbols", "-o", "-", "--fail-if", "missing-user=49")
    assert ran.code == 3
    assert "50.00 % of the samples miss their user stack" in ran.err
    assert convert(path, "--no-symbols", "-o", "-", "--fail-if", "missing-user=50").code == 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--fail-if", "lost=many"), "--fail-if lost=many: expected a percentage"),
        (("--fail-if", "found=5"), "--fail-if found=5: expected lost=PCT, missing-user=PCT or unresolved=PCT"),
        (("--fail-if", "lost=101"), "--fail-if lost=101: expected a percentage"),
        (("--fail-if", "lost=101"), "expected a percentage"),
        (("--fail-if", "unresolved=5", "--no-symbols"), "needs names, so it excludes --no-symbols"),
        (("--stats", "yaml"), "write json for standard error"),
    ],
)
def test_usage(words: tuple[str, ...], sentence: str, tmp_path: Path) -> None:
    ran = convert(recording("calls"), "-o", tmp_path / "x", *words)
    assert ran.code == 2
    assert sentence in ran.err
    assert not list(tmp_path.iterdir())


def test_failures_are_shown_in_the_form_of_github_and_gitlab(lossy: Path) -> None:
    words = (lossy, "--no-symbols", "-o", "-", "--fail-if", "lost=0")
    github = convert(*words, env={"GITHUB_ACTIONS": "true"}).err
    assert github == "::error title=perf2x::25.00 %25 of the samples were lost, more than 0 %25 (--fail-if lost)\n"
    assert convert(*words, env={"GITLAB_CI": "true", "NO_COLOR": ""}).err.startswith("\x1b[1;31mperf2x: 25.00 %")
    assert "\x1b" not in convert(*words, env={"GITLAB_CI": "true", "NO_COLOR": "1"}).err


def test_github_is_warned_of_losses_without_a_gate(lossy: Path) -> None:
    words = ("convert", lossy, "--no-symbols", "--to", "collapsed", "-o", "-")
    assert "::warning title=perf2x::1 lost sample; " in perf2x(*words, env={"GITHUB_ACTIONS": "true"}).err
    assert "::" not in perf2x(*words, env={"GITHUB_ACTIONS": ""}).err
    assert "::" not in perf2x(*words, "-q", env={"GITHUB_ACTIONS": "true"}).err


def stats(*words: object) -> dict[str, object]:
    ran = perf2x("convert", *words, "--to", "collapsed", "-o", "-", "--stats", "json")
    assert ran.code in (0, 3), ran.err
    found: dict[str, object] = json.loads(ran.err.partition("\nperf2x:")[0])
    return found


def test_stats_count_kept_and_lost_samples(lossy: Path) -> None:
    found = stats(lossy, "--no-symbols", "--fail-if", "lost=1", "--time", "0.000000002,")
    assert found["samples"] == {"recorded": 3, "kept": 2}
    assert found["lost"] == {"samples": 1, "records": 0}
    assert found["percent"] == {"unresolved": 0.0, "lost": 25.0, "missing_user": 0.0}
    assert found["symbols"] is None
    assert len(found["gates"]) == 1  # type: ignore[arg-type]


def test_all_keys_are_documented() -> None:
    found = stats(recording("calls"))
    table = (ROOT / "docs" / "stats.md").read_text()
    documented = {
        key.partition("[")[0].partition(".")[0]
        for row in re.findall(r"^\| (`.*?) \|", table, flags=re.M)
        for key in re.findall(r"`([a-z_0-9\[\].]+)`", row)
        if not key.startswith(".")
    }
    assert documented == set(found)


def documented_paths() -> list[str]:
    """``events[].name`` and the like: a span that begins with a dot names a brother of the one before it."""
    table = (ROOT / "docs" / "stats.md").read_text()
    paths: list[str] = []
    for row in re.findall(r"^\| (`.*?) \|", table, flags=re.M):
        for span in re.findall(r"`([a-z_0-9\[\].]+)`", row):
            paths.append(paths[-1].rpartition(".")[0] + span if span.startswith(".") else span)
    return paths


def test_every_documented_key_exists(tmp_path: Path) -> None:
    cut = tmp_path / "cut.data"
    cut.write_bytes(Path(recording("calls")).read_bytes()[:-100])
    found = stats(cut, "--fail-if", "unresolved=0")
    assert found["gates"] and found["diagnostics"]
    assert len(documented_paths()) > 20
    for path in documented_paths():
        here: object = found
        for step in path.split("."):
            assert isinstance(here, dict) and step.removesuffix("[]") in here, path
            here = here[step.removesuffix("[]")]
            if step.endswith("[]"):
                assert isinstance(here, list) and here, path
                here = here[0]


def test_stats_are_written_to_a_file(tmp_path: Path) -> None:
    place = tmp_path / "stats.json"
    ran = perf2x("convert", recording("calls"), "--no-symbols", "-t", "collapsed", "-o", "-", "--stats", place)
    assert "wrote collapsed" in ran.err
    assert json.loads(place.read_text())["schema"] == 1
