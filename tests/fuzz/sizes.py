"""Sizes of all temporary files of a command, named or not, in the process itself and in those that it forks."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from perf2x.base.files.atomic import AtomicFile


def largest(log: Path) -> int:
    """Return the size of the largest temporary file logged in ``log``; 0 without one."""
    return max(map(int, log.read_text().split()), default=0) if log.exists() else 0


def note_sizes(log: Path) -> None:
    """Make this process, and those forked from it, log the final sizes of their temporary files in ``log``.

    A second descriptor of each stays open until then, since a closed file has no size.
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
    """Wrap a function that makes unnamed files, so that it keeps a second descriptor of each."""

    def unnamed(*args: Any, **options: Any) -> Any:
        file = make(*args, **options)
        held.append(os.dup(file.fileno()))
        return file

    return unnamed
