"""Inputs and verbosity: parameters with the same meaning in every command."""

import errno
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from msgspec import Struct

from perf2x.base.errors import FormatError
from perf2x.base.files.remote import is_address
from perf2x.base.files.unpack_limit import parse_size
from perf2x.cli.options import Rare

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


class UnpackFlags(Struct, frozen=True):
    """Bounds of inputs."""

    max_unpacked: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Maximum size of a decompressed input, or of input from a pipe: 500M, 20G.",
            show_default="200 times its size",
        ),
        Rare,
    ] = None

    def part(self) -> dict[str, Any]:
        """Fields of LoadOptions."""
        return {"max_unpacked": self.most()}

    def most(self) -> int | None:
        """Bytes that each compressed input may unpack to; None: the default."""
        return None if self.max_unpacked is None else parse_size(self.max_unpacked)


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
