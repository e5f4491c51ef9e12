"""Inputs and verbosity: parameters with the same meaning in every command."""

import errno
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from perf2x.base.errors import FormatError
from perf2x.base.files.remote import is_address

DEFAULT = "perf.data"

Input = Annotated[str, typer.Argument(metavar="INPUT", help="The recording; - is standard input.")]
Inputs = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="INPUT",
        show_default=DEFAULT,
        help="Recordings; files of one session are joined, others are summed. - is standard input.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing on standard error.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Print more on standard error.")]


def recordings(named: Sequence[str] | None) -> tuple[str, ...]:
    """The inputs, ``perf.data`` by default; FormatError for one that does not exist."""
    sources = tuple(named or (DEFAULT,))
    if DEFAULT in sources and not Path(DEFAULT).exists():
        raise FormatError("there is no perf.data here; name a recording, or make one: perf record -g -- ./program")
    for source in sources:
        if source != "-" and not Path(source).exists() and not is_address(source) and not _is_dataset(source):
            raise FormatError(f"{source}: {os.strerror(errno.ENOENT)}")
    return sources


def _is_dataset(source: str) -> bool:
    """Whether an input is a dataset with tags behind a question mark."""
    from perf2x.storage.dataset.dataset_address import is_dataset

    return "?" in source and is_dataset(source)
