"""Replaces standard streams that the caller closed (``>&-``, some cron daemons), which are None in Python."""

import contextlib
import os
import sys

_STREAMS = (("stdin", os.O_WRONLY, "r"), ("stdout", os.O_RDONLY, "w"), ("stderr", os.O_WRONLY, "w"))
"""Flags that make input and output fail as on a closed descriptor; messages are discarded."""


def open_standard_streams() -> None:
    """Open the null device for each closed stream; otherwise the next opened file would get the stream's descriptor."""
    for number, (name, flags, mode) in enumerate(_STREAMS):
        if getattr(sys, name) is None:
            with contextlib.suppress(OSError):  # no such device: it stays None
                _open_null(number, flags)
                setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", errors="surrogateescape", closefd=False))


def _open_null(number: int, flags: int) -> None:
    opened = os.open(os.devnull, flags)
    if opened != number:
        os.dup2(opened, number)
        os.close(opened)
    os.set_inheritable(number, True)
