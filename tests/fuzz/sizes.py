"""The size of every temporary file that a command makes, names or not, in the process itself and those it forks."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from perf2x.files.atomic import AtomicFile


def largest(log: Path) -> int:
    """Bytes of the largest temporary file of those noted in ``log``; 0 without one."""
    return max(map(int, log.read_text().split()), default=0) if log.exists() else 0


def note_sizes(log: Path) -> None:
    """Make this process, and those forked from it, note in ``log`` how large their temporary files were at the end.

    A second descriptor of each stays open until then: a file that is closed has no size to ask for.
    """
    held: list[int] = []
    noted = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    leave, made, create = os._exit, tempfile.mkstemp, AtomicFile.__init__

    def at_the_end(code: int) -> NoReturn:
        sizes = [os.fstat(descriptor).st_size for descriptor in held]
        os.write(noted, f"{max(sizes, default=0)}\n".encode())
        leave(code)

    def named(*args: Any, **options: Any) -> tuple[int, str]:
        descriptor, name = made(*args, **options)
        held.append(os.dup(descriptor))
        return descriptor, name

    def created(self: AtomicFile, path: Path, mode: int) -> None:
        create(self, path, mode)
        held.append(os.dup(self.file.fileno()))

    os._exit = at_the_end
    tempfile.mkstemp = named
    tempfile.TemporaryFile = _held(tempfile.TemporaryFile, held)
    AtomicFile.__init__ = created  # type: ignore[method-assign]


def _held(make: Callable[..., Any], held: list[int]) -> Any:
    """The same function for unnamed files, whose descriptors are doubled."""

    def unnamed(*args: Any, **options: Any) -> Any:
        file = make(*args, **options)
        held.append(os.dup(file.fileno()))
        return file

    return unnamed
