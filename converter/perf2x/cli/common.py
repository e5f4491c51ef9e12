"""Parameters that mean the same in every command."""

from typing import Annotated

import typer

Input = Annotated[str, typer.Argument(metavar="[INPUT]", help="The recording; - is standard input.")]
Inputs = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[INPUT]...",
        show_default="perf.data",
        help="Recordings; several are added up, files of one session stitched together. - is standard input.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing on standard error.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Say more on standard error.")]
