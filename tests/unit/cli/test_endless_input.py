"""Input without an end, or of the wrong kind: refused by its first bytes, in the user's words."""

import gzip
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.support.command import perf2x, recording

CALLS = recording("calls")
pytestmark = pytest.mark.skipif(not Path("/dev/zero").exists(), reason="the system has no /dev/zero")


def piped(source: str, *words: object, feed: str = "cat") -> subprocess.CompletedProcess[str]:
    """Run the command behind a pipe that never ends."""
    shell = f'{feed} {source} | exec "$0" -m perf2x "$@"'
    command = ["sh", "-c", shell, sys.executable, *map(str, words)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3] / "converter")}
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=environment)


@pytest.mark.parametrize(
    "words",
    [("info",), ("convert", "-t", "html", "-o", "out"), ("bundle", "-o", "out"), ("dump",)],
    ids=lambda words: words[0],
)
def test_a_device_is_known_by_its_first_bytes(words: tuple[str, ...], tmp_path: Path) -> None:
    ran = perf2x(words[0], "/dev/zero", *(str(tmp_path / word) if word == "out" else word for word in words[1:]))
    assert ran.code == 1
    assert ran.err.startswith(r"perf2x: /dev/zero: not a perf.data file: starts with b'\x00\x00")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", ["info", pytest.param("bundle", marks=pytest.mark.slow)])
def test_so_is_an_endless_pipe(command: str) -> None:
    ran = piped("", command, "-", feed="yes")
    assert ran.returncode == 1
    assert ran.stderr.startswith("perf2x: standard input: not a perf.data file: starts with b'y")


def test_a_pipe_that_begins_well_ends_at_a_limit(tmp_path: Path) -> None:
    ran = piped(f"{CALLS} /dev/zero", "convert", "-", "--max-unpacked", "20M", "-t", "html", "-o", tmp_path / "out")
    assert ran.returncode == 1
    assert ran.stderr == "perf2x: standard input: it sends more than 20 MiB; --max-unpacked raises the limit\n"


@pytest.mark.parametrize(
    ("option", "what"), [("--kallsyms", "copy of /proc/kallsyms"), ("--vmlinux", "file"), ("--archive", "file")]
)
def test_files_that_options_name_are_no_devices(option: str, what: str) -> None:
    ran = perf2x("top", CALLS, option, "/dev/zero")
    assert (ran.code, ran.err) == (2, f"perf2x: {option} /dev/zero: not a {what}\n")


@pytest.mark.parametrize("option", ["--vmlinux", "--archive"])
def test_nor_pipes(option: str, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    ran = perf2x("top", CALLS, option, pipe)
    assert (ran.code, ran.err) == (2, f"perf2x: {option} {pipe}: not a file\n")


@pytest.mark.parametrize("option", ["--symfs", "--buildid-dir", "--perf-map-dir"])
def test_directories_that_options_name_are_no_files(option: str) -> None:
    ran = perf2x("top", CALLS, option, CALLS)
    assert (ran.code, ran.err) == (2, f"perf2x: {option} {CALLS}: not a directory\n")


def test_kallsyms_may_come_through_a_pipe(tmp_path: Path) -> None:
    packed = Path(CALLS).with_name("kallsyms.xz")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["sh", "-c", 'exec cat "$0" > "$1"', packed, pipe]) as writer:
        try:
            ran = perf2x("top", CALLS, "--kallsyms", pipe, "--json")
        finally:
            writer.kill()  # it would wait for ever where nobody opened the pipe
    assert ran.out == perf2x("top", CALLS, "--kallsyms", packed, "--json").out


def test_a_bundle_takes_kallsyms_from_a_pipe(tmp_path: Path) -> None:
    packed, pipe = Path(CALLS).with_name("kallsyms.xz"), tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["sh", "-c", 'cat "$0" > "$1"', packed, pipe]):
        assert perf2x("bundle", CALLS, "--kallsyms", pipe, "-o", tmp_path / "piped").code == 0
    assert perf2x("bundle", CALLS, "--kallsyms", packed, "-o", tmp_path / "named").code == 0
    assert (tmp_path / "piped").read_bytes() == (tmp_path / "named").read_bytes()


def _bundle(folder: Path, **members: bytes) -> Path:
    path = folder / "b.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        for name, data in members.items():
            source = folder / "member"
            source.write_bytes(data)
            tar.add(source, name)
    return path


NO_RECORDINGS = {
    "a file": {"perf.data": b"no recording, surely"},
    "a packed file": {"perf.data": gzip.compress(b"no recording, surely")},
    "a directory": {"perf.data/data": b"no recording, surely"},
    "a directory without its first file": {"perf.data/data.0": b"no recording, surely"},
}


@pytest.mark.parametrize("case", NO_RECORDINGS)
@pytest.mark.parametrize("command", ["info", "top", "report"])
def test_errors_name_the_bundle(case: str, command: str, tmp_path: Path) -> None:
    path = _bundle(tmp_path, **NO_RECORDINGS[case])
    ran = perf2x(command, path)
    assert ran.code == 1
    assert ran.err.startswith(f"perf2x: {path}, perf.data"), ran.err


def test_reasons_name_the_bundle(tmp_path: Path) -> None:
    map_of = Path(recording("perf_map"))
    path = tmp_path / "b.tar.gz"
    assert perf2x("bundle", map_of, "--perf-map-dir", map_of.parent, "-o", path).code == 0
    told = perf2x("info", "--symbols", "--json", path).out
    assert f"not in {path}, maps/perf-20105.map" in told
    assert "perf2x-unpacked" not in told


def test_messages_name_kallsyms_in_a_bundle(tmp_path: Path) -> None:
    path = _bundle(
        tmp_path, **{"perf.data/data": Path(CALLS).read_bytes(), "perf.data/kcore_dir/kallsyms": b"no symbols\n"}
    )
    ran = perf2x("top", path, "-v")
    assert f"{path}, perf.data/kcore_dir/kallsyms: it has no symbols" in ran.err
    assert "perf2x-unpacked" not in ran.err
