"""Who does the tasks of a fleet: processes of this machine, or a cluster."""

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from perf2x.cli.messages import print_message

if TYPE_CHECKING:
    from perf2x.fleet.task_attempt import Run

Scheduler = Annotated[
    str | None,
    typer.Option("--scheduler", metavar="tls://…", help="A Dask cluster; else processes of this machine."),
]
Workers = Annotated[
    int, typer.Option("--workers", metavar="N", min=0, help="Processes of this machine.", show_default="one a core")
]
NoDashboard = Annotated[
    bool, typer.Option("--no-dashboard", help="Do not print the address of the cluster's dashboard.")
]


@contextlib.contextmanager
def begin(scheduler: str | None, count: int, things: str, *, no_dashboard: bool, quiet: bool) -> "Iterator[Run]":
    """Give the workers' way to do tasks; says what they are about to do, and who may hear it."""
    from perf2x.fleet.cluster import is_open, workers

    with workers(scheduler, count) as crew:
        if not quiet:
            shown = crew.dashboard and not no_dashboard
            print_message(things + (f"; Dask's dashboard: {crew.dashboard}" if shown else ""))
            if scheduler is not None and is_open(scheduler):
                print_message(f"{scheduler}: not encrypted; whoever reaches it can run code there (docs/fleet.md: TLS)")
        yield crew.run
