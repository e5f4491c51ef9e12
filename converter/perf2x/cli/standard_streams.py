"""Opens standard streams that the caller closed (``>&-``, some cron daemons), so that Python has None for them."""

import contextlib
import os
import sys

# By descriptor. The wrong direction makes standard input and output fail, as on a closed descriptor.
_STREAMS = (("stdin", os.O_WRONLY, "r"), ("stdout", os.O_RDONLY, "w"), ("stderr", os.O_WRONLY, "w"))


def open_standard_streams() -> None:
    """Open the null device for each closed stream, whose descriptor the next opened file would get."""
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
