"""Nobody ever sees half an output."""

import errno
import gzip
import io
import os
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from perf2x.base.files.atomic import open_output
from perf2x.errors import OptionError, OutputError
from tests.support.command import perf2x, recording


def test_a_whole_output_replaces_the_old_one(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.write_bytes(b"old")
    target.chmod(0o640)
    with open_output(str(target), inputs=()) as out:
        out.write(b"new")
        assert target.read_bytes() == b"old"
    assert target.read_bytes() == b"new"
    assert target.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [target]


def test_a_failure_leaves_the_old_one_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.write_bytes(b"old")
    with pytest.raises(ZeroDivisionError), open_output(str(target), inputs=()) as out:
        out.write(b"half")
        raise ZeroDivisionError
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_full_disk_is_one_sentence(tmp_path: Path) -> None:
    with (
        pytest.raises(OutputError, match="No such file or directory"),
        open_output(str(tmp_path / "no" / "out"), inputs=()),
    ):
        raise AssertionError("not reached")


def test_the_input_is_never_overwritten(tmp_path: Path) -> None:
    recording = tmp_path / "perf.data"
    recording.write_bytes(b"PERFILE2")
    link = tmp_path / "link"
    link.symlink_to(recording)
    for path in (recording, link):
        with pytest.raises(OptionError, match="is also an input"), open_output(str(path), inputs=(str(recording),)):
            raise AssertionError("not reached")
    assert recording.read_bytes() == b"PERFILE2"


def test_compressed_outputs_are_reproducible(tmp_path: Path) -> None:
    for name in ("one.gz", "two.gz"):
        with open_output(str(tmp_path / name), inputs=(), compress=True) as out:
            out.write(b"text" * 1000)
    one, two = ((tmp_path / name).read_bytes() for name in ("one.gz", "two.gz"))
    assert one == two and gzip.decompress(one) == b"text" * 1000


def test_a_device_is_written_not_replaced() -> None:
    with open_output(os.devnull, inputs=()) as out:
        out.write(b"gone")
    assert Path(os.devnull).is_char_device()


INTERRUPTED = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # who runs the tests in the background ignores it,
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # and under nohup this
from perf2x.cli.error_handling import exit_cleanly_on_signals, report_errors
exit_cleanly_on_signals()
from perf2x.base.files.atomic import open_output
import typer
@report_errors()
def work():
    with open_output(path, inputs=()) as out:
        out.write(b"half"); out.flush(); print("ready", flush=True); time.sleep(60)
path = sys.argv.pop()
typer.run(work)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize(
    ("number", "code", "word"),
    [
        (2, 130, "interrupted"),
        (15, 143, "terminated"),
        pytest.param(1, 143, "terminated", marks=pytest.mark.slow),
    ],
)
def test_an_interrupted_command_leaves_no_file(number: int, code: int, word: str, tmp_path: Path) -> None:
    target = tmp_path / "out"
    command = [sys.executable, "-c", INTERRUPTED, str(target)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        time.sleep(0.05)
        process.send_signal(number)
        _, said = process.communicate(timeout=30)
    assert process.returncode == code
    assert said == f"perf2x: {word}\n"
    assert not list(tmp_path.iterdir())


class Full(io.RawIOBase):
    """A file on a disk that has room for so many bytes."""

    def __init__(self, room: int, number: int) -> None:
        super().__init__()
        self._room, self._number = room, number

    def writable(self) -> bool:
        return True

    def write(self, piece: Any, /) -> int:
        if self._room < len(piece):
            raise OSError(self._number, os.strerror(self._number))
        self._room -= len(piece)
        return len(piece)


OTHERS = ["collapsed", "chrome", "html", "svg", "speedscope", "firefox", "perfetto", "otlp"]


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("pprof", errno.ENOSPC),
        *(pytest.param("pprof", number, marks=pytest.mark.slow) for number in (errno.EIO, errno.EDQUOT)),
        *(pytest.param(name, errno.ENOSPC, marks=pytest.mark.slow) for name in OTHERS),
    ],
)
def test_a_disk_that_fills_up_at_any_point_is_reported(
    name: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the first byte, in the middle, in gzip's trailer at the end; with compression of ours and without."""
    for packed in ("", ".gz"):
        target = tmp_path / f"out{packed}"
        words = ("convert", recording("calls"), "--no-symbols", "-q", "-t", name, "-o", target)
        assert perf2x(*words).code == 0
        whole = target.read_bytes()
        target.unlink()
        for room in (0, len(whole) // 2, len(whole) - 1):
            with monkeypatch.context() as patched:
                full = partial(Full, room, number)
                patched.setattr(os, "fdopen", lambda handle, mode, closefd, full=full: full())
                ran = perf2x(*words)
            assert (ran.code, ran.err) == (1, f"perf2x: cannot write {target}: {os.strerror(number)}\n")
            assert not list(tmp_path.iterdir())


def shell(*words: object, **how: Any) -> "subprocess.CompletedProcess[str]":
    """The command in a process of its own."""
    start = [sys.executable, "-c", "from perf2x.cli import main; main()", *map(str, words)]
    return subprocess.run(start, stderr=subprocess.PIPE, text=True, check=False, **how)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has such a device")
@pytest.mark.parametrize(
    "words",
    [
        ("convert", recording("calls"), "-t", "pprof", "-o", "-"),
        *(
            pytest.param(words, marks=pytest.mark.slow)
            for words in (
                ("dump", recording("calls"), "-n", "1"),
                ("convert", recording("calls"), "-t", "collapsed", "-o", "-"),
                ("top", recording("calls")),
                ("info", recording("calls"), "--json"),
                ("bundle", recording("calls"), "-o", "-"),
                ("--help",),
            )
        ),
    ],
    ids=" ".join,
)
def test_full_standard_output_is_reported(words: tuple[str, ...]) -> None:
    with Path("/dev/full").open("wb") as full:
        ran = shell(*words, stdout=full)
    assert (ran.returncode, ran.stderr) == (1, "perf2x: cannot write to standard output: No space left on device\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has such a device")
def test_a_full_device_is_reported() -> None:
    ran = perf2x("convert", recording("calls"), "-t", "pprof", "-o", "/dev/full")
    assert (ran.code, ran.err) == (1, "perf2x: cannot write /dev/full: No space left on device\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has such a device")
def test_a_full_log_does_not_stop_a_conversion(tmp_path: Path) -> None:
    target = tmp_path / "out.folded"
    words = [sys.executable, "-c", "from perf2x.cli import main; main()", "convert", recording("calls"), "-o", target]
    with Path("/dev/full").open("wb") as full:
        assert subprocess.run(words, stderr=full, check=False).returncode == 0
    assert target.stat().st_size


def test_a_closed_pipe_ends_the_command_quietly() -> None:
    words = [sys.executable, "-c", "from perf2x.cli import main; main()", "dump", recording("events")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


MEMORY_ERRORS = [
    MemoryError("Unable to allocate 8.00 GiB for an array"),
    OSError(errno.ENOMEM, "Cannot allocate memory"),
    RuntimeError("can't start new thread"),
    ImportError("libscipy_openblas64_.so: failed to map segment from shared object"),
    SystemError("error return without exception set"),
    ValueError("array is too big; `arr.size * arr.dtype.itemsize` is larger than the maximum possible size."),
    ValueError("Maximum allowed dimension exceeded"),
    OverflowError("cannot fit 'int' into an index-sized integer"),
    OverflowError("Python int too large to convert to C ssize_t"),
]


@pytest.mark.parametrize(
    ("command", "error"),
    [
        *(("convert", error) for error in MEMORY_ERRORS),
        *((command, MEMORY_ERRORS[0]) for command in ("top", "info", "diff", "bundle")),
    ],
)
def test_a_memory_error_is_reported_in_one_sentence(
    command: str, error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("perf2x.kernel.load.load", load)
    monkeypatch.setattr("perf2x.kernel.conversion.load", load)
    source, target = recording("calls"), tmp_path / "out.folded"
    words = {"convert": ["-o", target], "bundle": ["-o", target], "diff": [source]}.get(command, [])
    ran = perf2x(command, source, *words)
    assert ran.code == 1
    assert ran.err.startswith("perf2x: not enough memory") and ran.err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_other_errors_keep_their_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(*_: object, **__: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("perf2x.kernel.load.load", load)
    with pytest.raises(RuntimeError, match="a bug"):
        perf2x("top", recording("calls"))


@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
@pytest.mark.parametrize(
    "megabytes", [pytest.param(50, marks=pytest.mark.slow), 110, pytest.param(160, marks=pytest.mark.slow)]
)
def test_a_memory_limit_is_reported_in_one_sentence(megabytes: int, tmp_path: Path) -> None:
    """The place that hits the limit (Python, numpy or perf2x) depends on the machine; none prints a traceback."""
    import resource

    limit = megabytes << 20
    target = tmp_path / "out.folded"
    ran = shell(
        "convert", recording("calls"), "-o", target, "-q",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )  # fmt: skip
    assert "Traceback" not in ran.stderr
    assert ran.returncode == (0 if target.exists() else 1), ran.stderr
    assert ran.returncode == 0 or "emory" in ran.stderr
    assert {path.name for path in tmp_path.iterdir()} <= {"out.folded"}
