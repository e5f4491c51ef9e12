"""The command line: a module for each command in ``commands/``, families in folders, shared options in ``options/``."""

import contextlib
from collections.abc import Iterator


def main() -> None:
    """The ``perf2x`` command; exit codes are in cli/error_handling.py."""
    with program():
        from perf2x.cli.app import app

        app(prog_name="perf2x")


@contextlib.contextmanager
def program() -> Iterator[None]:
    """Prepare the process for a program and run the body; failures are reported in one sentence."""
    _reduce_garbage_collection()
    import atexit

    from perf2x.cli.error_handling import exit_cleanly_on_signals, ignore_unwritable_stderr, report_errors
    from perf2x.cli.standard_streams import open_standard_streams

    open_standard_streams()
    atexit.register(ignore_unwritable_stderr)
    _disable_blas_threads()
    exit_cleanly_on_signals()
    with report_errors():
        yield


def _reduce_garbage_collection() -> None:
    """Collect reference cycles less often, and not at exit, where Python examines all objects several times.

    Cycles are rare here, and imported modules stay anyway: this saves a quarter of a small conversion.
    """
    import atexit
    import gc

    gc.set_threshold(100_000)
    atexit.register(gc.freeze)


def _disable_blas_threads() -> None:
    """Keep numpy's BLAS from starting a thread per core, each with its own memory, because nothing here uses BLAS."""
    import os

    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
