"""Opens standard streams that the caller closed (``>&-``, some cron daemons); Python sets them to None."""

import contextlib
import os
import sys

# For each descriptor: name of the stream, flags to open the null device with, and mode of the file object. Standard
# input is opened for writing and standard output for reading, so that using them fails, as on a closed descriptor.
_STREAMS = (("stdin", os.O_WRONLY, "r"), ("stdout", os.O_RDONLY, "w"), ("stderr", os.O_WRONLY, "w"))


def open_standard_streams() -> None:
    """Open the null device for each closed stream. Otherwise, the next opened file would get its descriptor."""
    for descriptor, (name, flags, mode) in enumerate(_STREAMS):
        if getattr(sys, name) is None:
            with contextlib.suppress(OSError):
                _open_null(descriptor, flags)
                setattr(
                    sys, name, os.fdopen(descriptor, mode, encoding="utf-8", errors="surrogateescape", closefd=False)
                )


def _open_null(descriptor: int, flags: int) -> None:
    null = os.open(os.devnull, flags)
    if null != descriptor:
        os.dup2(null, descriptor)
        os.close(null)
    os.set_inheritable(descriptor, True)
