"""Opens standard streams that the caller closed (``>&-``, some cron daemons) and that are therefore None in Python."""

import contextlib
import os
import sys

# For the descriptors 0, 1 and 2: name of the stream, flags to open the null device with, and mode of the file object.
# Standard input is opened for writing and standard output for reading, so that using them fails, as it does on a closed
# descriptor. Standard error is opened for writing, and discards messages.
_STREAMS = (("stdin", os.O_WRONLY, "r"), ("stdout", os.O_RDONLY, "w"), ("stderr", os.O_WRONLY, "w"))


def open_standard_streams() -> None:
    """Open the null device for each closed stream.

    Otherwise, the next file that perf2x opens would get the stream's descriptor, and messages might be written to it.
    """
    for descriptor, (name, flags, mode) in enumerate(_STREAMS):
        if getattr(sys, name) is None:
            with contextlib.suppress(OSError):  # without a null device, the stream stays None
                _open_null(descriptor, flags)
                setattr(
                    sys, name, os.fdopen(descriptor, mode, encoding="utf-8", errors="surrogateescape", closefd=False)
                )


def _open_null(descriptor: int, flags: int) -> None:
    """Open the null device as this descriptor, which child processes inherit."""
    null = os.open(os.devnull, flags)
    if null != descriptor:
        os.dup2(null, descriptor)
        os.close(null)
    os.set_inheritable(descriptor, True)
