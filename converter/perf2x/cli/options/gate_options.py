"""Options of quality gates, for CI."""

from typing import Annotated

import typer
from msgspec import Struct

from perf2x.cli.options import Rare

_PANEL = "For CI"

FailIfUnresolved = Annotated[
    str | None,
    typer.Option(
        "--fail-if-unresolved", metavar="PCT", help="Fail when more frames lack names.", rich_help_panel=_PANEL
    ),
    Rare,
]
FailIfLost = Annotated[
    str | None,
    typer.Option("--fail-if-lost", metavar="PCT", help="Fail when more samples were lost.", rich_help_panel=_PANEL),
    Rare,
]
FailIfMissingUser = Annotated[
    str | None,
    typer.Option(
        "--fail-if-missing-user",
        metavar="PCT",
        help="Fail when more deferred user stacks are missing.",
        rich_help_panel=_PANEL,
    ),
    Rare,
]
Strict = Annotated[
    bool,
    typer.Option("--strict", help="Fail when anything recorded is not in the output.", rich_help_panel=_PANEL),
    Rare,
]


class GateFlags(Struct, frozen=True):
    """Limits in percent; a share above its limit fails the gate."""

    fail_if_unresolved: FailIfUnresolved = None
    fail_if_lost: FailIfLost = None
    fail_if_missing_user: FailIfMissingUser = None
    strict: Strict = False
