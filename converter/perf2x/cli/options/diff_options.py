"""Options of ``perf2x diff`` alone."""

from typing import Annotated, Literal

import typer

_OUTPUT = "Output"
_TABLE = "Table"
_CI = "For CI"

Before = Annotated[str, typer.Argument(metavar="BEFORE", help="The recording to compare with.")]
After = Annotated[str, typer.Argument(metavar="AFTER", help="The newer recording.")]
To = Annotated[
    Literal["html", "pprof", "collapsed"] | None,
    typer.Option(
        "--to",
        "-t",
        help="Also write the difference: a page in red and blue, a profile with its base, or stacks with two columns.",
        rich_help_panel=_OUTPUT,
    ),
]
Output = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        show_default="diff.html, …",
        help="Name of the output, whose suffix tells the format; - is standard output.",
        rich_help_panel=_OUTPUT,
    ),
]
Sort = Annotated[
    Literal["self", "total"],
    typer.Option("--sort", help="Column to sort by and to hold gates against.", rich_help_panel=_TABLE),
]
Normalize = Annotated[
    bool,
    typer.Option("--normalize", help="Compare shares: scale AFTER to the whole of BEFORE.", rich_help_panel=_TABLE),
]
FailAbove = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-above",
        metavar="[WHAT=]PCT",
        help="Exit with 3 when a line, or the whole, grew by more than PCT % of BEFORE's whole and sampling noise "
        "does not explain it. WHAT: total, function, object, or some of them by name, function:parse*. Repeatable.",
        rich_help_panel=_CI,
    ),
]
Confidence = Annotated[
    str,
    typer.Option(
        "--confidence",
        metavar="0.95",
        help="Probability that two recordings of the same program pass, however many rows are compared.",
        rich_help_panel=_CI,
    ),
]
AnyChange = Annotated[
    bool,
    typer.Option(
        "--any-change", help="Let --fail-above count changes that sampling noise explains, too.", rich_help_panel=_CI
    ),
]
All = Annotated[bool, typer.Option("--all", help="Also show rows that did not change.", rich_help_panel=_TABLE)]
