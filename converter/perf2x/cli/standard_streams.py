"""Opens standard streams that the caller closed (``>&-``, some cron daemons) and that are therefore None in Python."""

import contextlib
import os
import sys

# Name of each stream, flags to open the null device with, and mode of the file object, by descriptor. The flags are the
# wrong way round for input and output, so that using them fails, as on a closed descriptor. Standard error can be
# written, and discards messages.
_STREAMS = (("stdin", os.O_WRONLY, "r"), ("stdout", os.O_RDONLY, "w"), ("stderr", os.O_WRONLY, "w"))


def open_standard_streams() -> None:
    """Open the null device for each closed stream.

    Otherwise, the next file that is opened would get the stream's descriptor, and for example receive messages.
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
    opened = os.open(os.devnull, flags)
    if opened != descriptor:
        os.dup2(opened, descriptor)
        os.close(opened)
    os.set_inheritable(descriptor, True)
