"""Tasks of workers that end well, badly or not at all; processes find them by this module's name."""

import os
import signal
import time
from pathlib import Path

from perf2x.base.errors import OutputError
from perf2x.base.files.temporary import private_directory
from tests.support.sockets import listening


def double(item: int, _: object) -> int:
    return 2 * item


def listeners(_: int, __: object) -> list[str]:
    """Where the first process and its workers take connections."""
    return listening(os.getppid())


def die_once(item: int, job: Path) -> int:
    """Kill the process, but for each item only once."""
    mark = job / str(item)
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return item


def die_of_two(item: int, _: object) -> int:
    if item == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return item


def stumble(item: int, _: object) -> int:
    """Raise what no task should."""
    raise (KeyError("attr"), MemoryError())[item]


def full(_: int, __: object) -> int:
    raise OutputError("disk full")


def be_interrupted(item: int, _: object) -> int:
    """Get Ctrl-C, as all processes of a terminal do."""
    os.kill(os.getpid(), signal.SIGINT)
    return item


def keep_a_file(item: int, job: Path) -> int:
    """Work for ever with a temporary file, or wait until another worker does."""
    name = job / "name"
    while item:
        time.sleep(0.01)
        if name.exists():
            return item
    with private_directory() as folder:
        (job / "new").write_text(str(folder))
        (job / "new").rename(name)
        time.sleep(600)
    return item
