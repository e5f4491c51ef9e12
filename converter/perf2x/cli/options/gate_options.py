"""Options for CI: quality gates and statistics."""

from typing import Annotated, ClassVar

from msgspec import Struct
from typer import Option

from perf2x.cli.options import Rare


class GateFlags(Struct, frozen=True):
    """Limits in percent; a share above its limit fails the gate."""

    PANEL: ClassVar[str] = "For CI"

    fail_if_unresolved: Annotated[
        str | None, Option(metavar="PCT", help="Fail if more than PCT % of the frames have no name."), Rare
    ] = None
    fail_if_lost: Annotated[
        str | None, Option(metavar="PCT", help="Fail if more than PCT % of the samples were lost."), Rare
    ] = None
    fail_if_missing_user: Annotated[
        str | None,
        Option(metavar="PCT", help="Fail if more than PCT % of the samples lack their deferred user stack."),
        Rare,
    ] = None
    strict: Annotated[bool, Option(help="Fail if anything that was recorded is not in the output."), Rare] = False
    stats: Annotated[
        str | None,
        Option(metavar="json|FILE.json", help="Write quality figures as JSON to standard error or a file."),
        Rare,
    ] = None
