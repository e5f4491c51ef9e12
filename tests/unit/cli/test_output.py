"""Nobody ever sees half an output."""

import gzip
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from perf2x.cli.output import writing
from perf2x.cli.output_flags import default_output
from perf2x.model.errors import OptionError, OutputError


def test_a_whole_output_replaces_the_old_one(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.write_bytes(b"old")
    target.chmod(0o640)
    with writing(str(target), inputs=()) as out:
        out.write(b"new")
        assert target.read_bytes() == b"old"
    assert target.read_bytes() == b"new"
    assert target.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [target]


def test_a_failure_leaves_the_old_one_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.write_bytes(b"old")
    with pytest.raises(ZeroDivisionError), writing(str(target), inputs=()) as out:
        out.write(b"half")
        raise ZeroDivisionError
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_full_disk_is_one_sentence(tmp_path: Path) -> None:
    with (
        pytest.raises(OutputError, match="No such file or directory"),
        writing(str(tmp_path / "no" / "out"), inputs=()),
    ):
        raise AssertionError("not reached")


def test_the_input_is_never_overwritten(tmp_path: Path) -> None:
    recording = tmp_path / "perf.data"
    recording.write_bytes(b"PERFILE2")
    link = tmp_path / "link"
    link.symlink_to(recording)
    for path in (recording, link):
        with pytest.raises(OptionError, match="is the input"), writing(str(path), inputs=(str(recording),)):
            raise AssertionError("not reached")
    assert recording.read_bytes() == b"PERFILE2"


def test_compressed_outputs_are_reproducible(tmp_path: Path) -> None:
    for name in ("one.gz", "two.gz"):
        with writing(str(tmp_path / name), inputs=(), compress=True) as out:
            out.write(b"text" * 1000)
    one, two = ((tmp_path / name).read_bytes() for name in ("one.gz", "two.gz"))
    assert one == two and gzip.decompress(one) == b"text" * 1000


def test_a_device_is_written_not_replaced() -> None:
    with writing(os.devnull, inputs=()) as out:
        out.write(b"gone")
    assert Path(os.devnull).is_char_device()


INTERRUPTED = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # who runs the tests in the background ignores it
from perf2x.cli.exits import guarded
from perf2x.cli.output import writing
from perf2x.cli.output_flags import default_output
import click
@click.command()
@guarded
def work():
    with writing(sys.argv[1], inputs=()) as out:
        out.write(b"half"); out.flush(); print("ready", flush=True); time.sleep(60)
sys.argv, path = sys.argv[:1], sys.argv[1]
sys.argv.append(path)
work(args=[])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_an_interrupt_leaves_nothing(tmp_path: Path) -> None:
    target = tmp_path / "out"
    command = [sys.executable, "-c", INTERRUPTED, str(target)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert said == "perf2x: interrupted; nothing was written\n"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("source", ["run.data", "run.data.gz", "run.data.tar.gz", "some/where/run.data.zst", "run"])
def test_the_output_is_called_after_the_input(source: str) -> None:
    assert default_output(source, ".pb.gz") == "run.pb.gz"
