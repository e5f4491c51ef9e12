"""Dask's workers: some processes of this machine, or a cluster that is there already.

Processes of this machine are watched by Dask's nannies: one that is killed is replaced, and what it had begun is begun
again. They listen on this machine alone.
"""

import contextlib
import logging
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from perf2x.tables.errors import OptionError, Perf2xError

_SETTINGS = {
    "distributed.scheduler.allowed-failures": 20,
    "distributed.comm.timeouts.connect": "10s",
    "distributed.comm.timeouts.tcp": "30s",
    "distributed.worker.profile.enabled": False,  # it keeps a call tree a second: 160 MB in a quarter of an hour
    "distributed.worker.memory.target": False,  # results are a few words: nothing to spill
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
}
"""A task is begun anew when its worker dies; one that has killed twenty is a recording that cannot be read."""


@contextlib.contextmanager
def connected(scheduler: str | None, workers: int) -> Iterator[Any]:
    """Give a ``distributed.Client`` of the scheduler, or of new processes of this machine.

    Perf2xError when the scheduler does not answer, OptionError without Dask.
    """
    try:
        distributed, dask = import_module("distributed"), import_module("dask")
    except ImportError:
        raise OptionError("work is spread by Dask: pip install 'perf2x[fleet]'") from None
    with dask.config.set(_SETTINGS), contextlib.ExitStack() as stack:
        _silence()
        try:
            if scheduler is None:
                cluster = distributed.LocalCluster(
                    n_workers=workers, threads_per_worker=1, processes=True, host="127.0.0.1",
                    dashboard_address="127.0.0.1:0", memory_limit=0, silence_logs=logging.CRITICAL,
                )  # fmt: skip
                scheduler = stack.enter_context(cluster)
            client = stack.enter_context(distributed.Client(scheduler, timeout=10))
        except (OSError, ValueError) as error:
            raise Perf2xError(f"{scheduler or 'Dask'}: {error}") from None
        yield client


def _silence() -> None:
    """Keep Dask's log off standard error: its errors come back as exceptions, and some loggers have own levels."""
    for name in list(logging.root.manager.loggerDict):
        if name == "distributed" or name.startswith("distributed."):
            logging.getLogger(name).setLevel(logging.CRITICAL)
