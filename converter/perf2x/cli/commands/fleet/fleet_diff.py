"""``perf2x fleet diff``: which functions changed between two parts of a fleet."""

from typing import Annotated

import typer

from perf2x.cli.messages import print_message
from perf2x.cli.option_groups import with_groups
from perf2x.cli.options.answer_options import AnswerFlags, QueryLimits
from perf2x.cli.options.gate_options import parse_percentage
from perf2x.cli.options.input_options import Quiet, UnpackFlags
from perf2x.cli.options.upkeep_options import Folder

Before = Annotated[
    str, typer.Argument(metavar="BEFORE", help="Tags of the recordings to compare with: date=2026-11-22,service=web.")
]
After = Annotated[str, typer.Argument(metavar="AFTER", help="Tags of the newer ones: date=2026-11-23,service=web.")]
Event = Annotated[
    str, typer.Option("--event", metavar="EVENT", help="The event to compare.", show_default="that with most samples")
]
Least = Annotated[
    str, typer.Option("--least", metavar="PCT", help="Leave out functions below PCT % of the CPU time of both parts.")
]
Confidence = Annotated[
    str, typer.Option("--confidence", metavar="PCT", help="Probability that equal parts show no significant change.")
]


class _Rows(AnswerFlags, frozen=True):
    limit: Annotated[
        int,
        typer.Option(
            "--limit", "-n", metavar="N", min=0, help="Show N rows of a table; 0: all.", rich_help_panel="Table"
        ),
    ] = 20


@with_groups
def fleet_diff(
    dataset: Folder,
    before: Before,
    after: After,
    *,
    event: Event = "",
    least: Least = "0.1",
    confidence: Confidence = "95",
    form: _Rows,
    limits: QueryLimits,
    unpacking: UnpackFlags,
    quiet: Quiet = False,
) -> None:
    """Show which functions changed between two parts of a fleet.

    Shares of CPU time, in percent, with the interval of their change. Hosts differ, so intervals follow from the hosts,
    not from the samples; a change is significant where its interval for all functions at once excludes 0.
    """
    from perf2x.base.files.unpack_limit import limit_unpacking
    from perf2x.fleet.fleet_diff import compared

    shape, most = form.shape(), limits.limits()
    share, certain = (
        parse_percentage(f"--{name} {text}", text) / 100
        for name, text in (("least", least), ("confidence", confidence))
    )
    parts = (before.replace(",", "&"), after.replace(",", "&"))
    with limit_unpacking(unpacking.most()), compared(dataset, parts, event, share, certain, most) as answer:
        left_out = form.write(answer, shape)
    if left_out and not quiet:
        print_message(f"{left_out:,} more rows; --limit 0 shows all")
