"""Reads whole files that accompany a recording, such as symbol tables, perf maps and jitdumps.

Files and pipes have a size limit, and devices, such as /dev/zero, are refused. So perf2x never reads without end.
"""

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from perf2x.base.files.temporary import shown_name
from perf2x.base.files.unpack_limit import MOST_IN_MEMORY, format_size
from perf2x.errors import ObjectError

PIPE_TIMEOUT = 60.0
"""Seconds to wait for the next bytes of a pipe, as in ``--kallsyms <(ssh host cat /proc/kallsyms)``."""
_CHUNK_SIZE = 1 << 20


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file. Raises OSError if it cannot be opened, or if it is a pipe or a device."""
    file = open(path, "rb", opener=_without_waiting)  # noqa: SIM115 - the caller closes it
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is a pipe or a device, not a file", str(path))
    return file


def read_file(path: Path, max_size: int) -> bytes:
    """Read a file, or a pipe to its end.

    Raises OSError if it cannot be read, if it has more than ``max_size`` bytes, if it is a device, or if it is a pipe
    that sends nothing for PIPE_TIMEOUT.
    """
    with open(path, "rb", 0, opener=_without_waiting) as file:
        status = os.fstat(file.fileno())
        if stat.S_ISFIFO(status.st_mode):
            data = b"".join(_read_pipe(file.fileno(), path, max_size))
        elif not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is a device, not a file", str(path))
        else:
            data = file.read() if status.st_size <= max_size else b""
    if max(len(data), status.st_size) > max_size:
        raise OSError(errno.EFBIG, f"larger than {format_size(max_size)}", str(path))
    return data


def read_object_file(path: Path, max_size: int = MOST_IN_MEMORY) -> bytes:
    """Do what ``read_file`` does, but raise ObjectError instead of OSError."""
    try:
        return read_file(path, max_size)
    except OSError as error:
        raise ObjectError(f"{shown_name(path)}: {error.strerror or error}") from None


def _without_waiting(path: str, flags: int) -> int:
    # without O_NONBLOCK, open(2) of a named pipe waits until another process opens it for writing
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _read_pipe(pipe: int, path: Path, max_size: int) -> Iterator[bytes]:
    """Yield what a pipe sends, up to its end, or until there are more than ``max_size`` bytes."""
    import select  # hardly ever needed

    total = 0
    while total <= max_size:
        if not select.select([pipe], [], [], PIPE_TIMEOUT)[0]:
            raise OSError(errno.ETIMEDOUT, f"nothing came through this pipe for {PIPE_TIMEOUT:g} seconds", str(path))
        chunk = os.read(pipe, _CHUNK_SIZE)
        if not chunk:
            return
        total += len(chunk)
        yield chunk
