"""Who does the tasks of a fleet: processes of this machine, or a cluster."""

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from msgspec import Struct
from typer import Option

from perf2x.cli.messages import print_message

if TYPE_CHECKING:
    from perf2x.fleet.local_processes import Run


class WorkerFlags(Struct, frozen=True):
    """Processes of this machine, or a cluster."""

    scheduler: Annotated[
        str | None, Option(metavar="tls://…", help="Use a Dask cluster instead of processes on this machine.")
    ] = None
    workers: Annotated[
        int, Option(metavar="N", min=0, help="Number of processes on this machine.", show_default="one per core")
    ] = 0
    no_dashboard: Annotated[bool, Option(help="Do not print the address of the cluster's dashboard.")] = False

    @contextlib.contextmanager
    def begin(self, count: int, things: str, *, quiet: bool) -> "Iterator[Run]":
        """Give the workers' way to do tasks; says what they are about to do, and who may hear it."""
        from perf2x.fleet.cluster import is_open, workers

        with workers(self.scheduler, count) as crew:
            if not quiet:
                shown = crew.dashboard and not self.no_dashboard
                print_message(things + (f"; Dask's dashboard: {crew.dashboard}" if shown else ""))
                if self.scheduler is not None and is_open(self.scheduler):
                    print_message(
                        f"{self.scheduler}: not encrypted; whoever reaches it can run code there (docs/fleet.md: TLS)"
                    )
            yield crew.run
