"""Runs a case in a forked process with limits on time, memory and file size."""

import os
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path

from tests.fuzz.cases import INGEST, OUTPUT, Case
from tests.fuzz.server import answer_with
from tests.fuzz.sizes import largest, note_sizes

MEMORY = 3 << 30
"""Bytes of address space; unused mappings of numpy and its threads count."""
FILE_SIZE = 256 << 20
CRASHED = 70
"""Exit code for an uncaught exception."""
REFUSED = 3
"""Exit code for a recording that an ingest could not read: its row is written."""


@dataclass(frozen=True)
class Result:
    """The result of a case."""

    code: int
    """The exit code, or minus the number of the signal."""
    out: bytes
    err: str
    seconds: float
    memory: int
    """Largest resident size, in bytes."""
    files: dict[str, bytes]
    """Files in the output directory afterwards, by name; in that for temporary files, by path."""
    temporary: int = 0
    """Size of the largest temporary file, in bytes."""


def run(case: Case, seconds: float) -> Result:
    """Lay the case out in its own directory, and run it there."""
    with tempfile.TemporaryDirectory(prefix="perf2x-fuzz-") as name:
        folder = Path(name)
        case.lay_out(folder)
        began = time.monotonic()
        with warnings.catch_warnings():  # the other threads are those of numpy's libraries, which wait for work
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        if pid == 0:
            _child(case, folder, seconds)
        code, memory = _wait(pid, began + seconds)
        took = time.monotonic() - began
        out = folder / OUTPUT
        files = {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*") if path.is_file()}
        files |= {path.relative_to(folder).as_posix(): _content(path) for path in (folder / "scratch").rglob("*")}
        err = (folder / "stderr").read_bytes().decode("utf-8", "backslashreplace")
        return Result(code, (folder / "stdout").read_bytes(), err, took, memory, files, largest(folder / "sizes"))


def _content(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""


def _wait(pid: int, deadline: float) -> tuple[int, int]:
    while True:
        ended, status, usage = os.wait4(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status), usage.ru_maxrss * 1024
        if time.monotonic() > deadline:
            os.killpg(pid, signal.SIGKILL)
            _, status, usage = os.wait4(pid, 0)
            return os.waitstatus_to_exitcode(status), usage.ru_maxrss * 1024
        time.sleep(0.002)


def _child(case: Case, folder: Path, seconds: float) -> None:
    """Run the command in this process; never returns."""
    os.setpgid(0, 0)
    for number, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(folder / name, os.O_CREAT | os.O_WRONLY), number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.stdout, sys.stderr = (open(number, "w", closefd=False) for number in (1, 2))  # noqa: SIM115
    room = MEMORY + int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (room, room))  # over what the tests before have mapped
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_SIZE, FILE_SIZE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    settle(folder)
    note_sizes(folder / "sizes")
    if case.seed.served is not None:
        answer_with((folder / case.seed.file).read_bytes(), case.seed.served)
    os.chdir(folder)
    code = CRASHED
    try:
        code = command([word.replace("{dir}", str(folder)) for word in case.words])
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:  # noqa: BLE001 - this is the place where nothing may get past
        traceback.print_exc()
        sys.stderr.flush()
    os._exit(code)


def settle(folder: Path) -> None:
    """Use ``folder`` as home and for temporary files; disable browsers and servers."""
    home = str(folder / "home")
    for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY", *(name for name in os.environ if "DEBUGINFOD" in name)):
        os.environ.pop(name, None)
    os.environ |= {"HOME": home, "XDG_CACHE_HOME": home, "TMPDIR": str(folder / "scratch")}
    tempfile.tempdir = None


def command(words: list[str]) -> int:
    """Run ``perf2x`` in this process and return its exit code; `INGEST` is no command, but a worker's task."""
    if words[0] == INGEST[0]:
        return _ingest_one(*words[1:])
    from perf2x.cli import main

    sys.argv = ["perf2x", *words]
    try:
        main()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return 0


def _ingest_one(recording: str, folder: str) -> int:
    """Add a recording to a dataset; a row with its error is the answer to a bad one."""
    from perf2x.symbolizer.symbol_options import SymbolOptions
    from tests.support.datasets import add_recordings

    totals = add_recordings(Path(folder), [Path(recording)], symbols=SymbolOptions())
    if not totals.failed:
        return 0
    print(*totals.errors, file=sys.stderr)
    return REFUSED
