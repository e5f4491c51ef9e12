"""Reads whole files that accompany a recording, such as symbol tables, perf maps and jitdumps.

No path can make perf2x read without end: files and pipes have a size limit, devices are refused.
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

SILENCE = 60.0
"""Seconds to wait for the next bytes of a pipe, as in ``--kallsyms <(ssh host cat /proc/kallsyms)``."""
_CHUNK = 1 << 20


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file.

    Also raises OSError for a pipe, on which a reader might wait, and for a device, which may have no end.
    """
    file = open(path, "rb", opener=_at_once)  # noqa: SIM115 - the caller closes it
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is a pipe or a device, not a file", str(path))
    return file


def read_file(path: Path, most: int) -> bytes:
    """Read a file, or a pipe to its end.

    Also raises OSError for a device, for more than ``most`` bytes, and for a pipe that sends nothing for SILENCE.
    """
    with open(path, "rb", 0, opener=_at_once) as file:
        status = os.fstat(file.fileno())
        if stat.S_ISFIFO(status.st_mode):
            data = b"".join(_sent(file.fileno(), path, most))
        elif not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is a device, not a file", str(path))
        else:
            data = file.read() if status.st_size <= most else b""
    if max(len(data), status.st_size) > most:
        raise OSError(errno.EFBIG, f"larger than {format_size(most)}", str(path))
    return data


def read_object_file(path: Path, most: int = MOST_IN_MEMORY) -> bytes:
    """Read a file as ``read_file`` does. Raises ObjectError when it cannot be read."""
    try:
        return read_file(path, most)
    except OSError as error:
        raise ObjectError(f"{shown_name(path)}: {error.strerror or error}") from None


def _at_once(path: str, flags: int) -> int:
    """Open a file; if it is a named pipe, do not wait until another process opens it for writing."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _sent(pipe: int, path: Path, most: int) -> Iterator[bytes]:
    """Yield what a pipe sends, at most a little more than ``most`` bytes."""
    import select  # hardly ever needed

    total = 0
    while total <= most:
        if not select.select([pipe], [], [], SILENCE)[0]:
            raise OSError(errno.ETIMEDOUT, f"nothing came through this pipe for {SILENCE:g} seconds", str(path))
        chunk = os.read(pipe, _CHUNK)
        if not chunk:
            return
        total += len(chunk)
        yield chunk
