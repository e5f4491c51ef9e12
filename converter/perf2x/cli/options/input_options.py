"""Inputs and verbosity: parameters with the same meaning in every command."""

import errno
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from perf2x.base.files.remote_files import is_address
from perf2x.errors import FormatError
from perf2x.model.setting import Argument, Setting

DEFAULT = "perf.data"

_SWITCHES = {"off": "; did you mean --no-inline?", "on": "; --inline takes no value"}
AS_PERF_TAKES_IT = ("--input", "-i")
Input = Annotated[str, Argument("The recording; - is standard input.", AS_PERF_TAKES_IT, "INPUT")]
Inputs = Annotated[
    tuple[str, ...],
    Argument(
        "Recordings. Files of one session are joined, separate recordings are added up; - is standard input.",
        AS_PERF_TAKES_IT,
        "INPUT",
        shown_default=DEFAULT,
    ),
]
Quiet = Annotated[bool, Setting("Print nothing on standard error.", ("--quiet", "-q"))]
Verbose = Annotated[bool, Setting("Print more on standard error.", ("--verbose", "-v"))]


def recordings(named: Sequence[str], writes: bool = False) -> tuple[str, ...]:
    """Return the inputs, ``perf.data`` by default.

    Raises FormatError for one that does not exist; perhaps it was meant as an output.
    """
    sources = tuple(named or (DEFAULT,))
    if DEFAULT in sources and not Path(DEFAULT).exists():
        raise FormatError("there is no perf.data here; pass a recording, or make one: perf record -g -- ./program")
    for source in sources:
        if source != "-" and not Path(source).exists() and not is_address(source) and not _is_dataset(source):
            hint = f"; to write it: -o {source}" if writes and source in sources[1:] else _SWITCHES.get(source, "")
            raise FormatError(f"{source}: {os.strerror(errno.ENOENT)}{hint}")
    return sources


def _is_dataset(source: str) -> bool:
    """Return whether an input is a dataset with tags after a question mark."""
    from perf2x.sources.dataset.dataset_address import is_dataset

    return "?" in source and is_dataset(source)
