"""Parameters that mean the same in every command."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from perf2x.cli.parameters import Argument, Option
from perf2x.model.errors import FormatError

DEFAULT = "perf.data"

Input = Annotated[str, Argument(metavar="[INPUT]", help="The recording; - is standard input.")]
Inputs = Annotated[
    list[str] | None,
    Argument(
        metavar="[INPUT]...",
        shown_default="perf.data",
        help="Recordings; several are added up, files of one session stitched together. - is standard input.",
    ),
]
Quiet = Annotated[bool, Option("--quiet", "-q", help="Say nothing on standard error.")]
Verbose = Annotated[bool, Option("--verbose", "-v", help="Say more on standard error.")]

Format = Annotated[
    str,
    Option(metavar="table|json|markdown|csv", help="How to print it; markdown is for job summaries.", panel="Table"),
]
AsJson = Annotated[bool, Option("--json", help="The same as --format json.", panel="Table")]
Wide = Annotated[bool, Option("--wide", help="Show names whole, however wide the table gets.", panel="Table")]


def recordings(named: Sequence[str] | None) -> tuple[str, ...]:
    """The inputs, ``perf.data`` for none; FormatError says how to get one when that is what is missing."""
    sources = tuple(named or (DEFAULT,))
    if DEFAULT in sources and not Path(DEFAULT).exists():
        raise FormatError("there is no perf.data here; name a recording, or make one: perf record -g -- ./program")
    return sources
