"""The command line: parses arguments, runs a command, and turns failures into a sentence and an exit code.

``commands/`` has a module for each command, and a folder for commands of two words such as ``fleet query``. Options
that several commands share are in ``options/``.
"""

import contextlib
from collections.abc import Iterator


def main() -> None:
    """Run the ``perf2x`` command; cli/error_handling.py lists its exit codes."""
    with program_environment():
        from perf2x.cli.app import app

        app(prog_name="perf2x")


@contextlib.contextmanager
def program_environment() -> Iterator[None]:
    """Set up the process (streams, signals, memory) for a command, which is the body of the ``with`` statement.

    A failure of the body is reported in one sentence and ends the process with an exit code.
    """
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

    Cycles are rare here, and imported modules stay loaded anyway: this saves a quarter of the time of a small
    conversion. ``gc.freeze`` moves all objects to a generation that is never collected.
    """
    import atexit
    import gc

    gc.set_threshold(100_000)
    atexit.register(gc.freeze)


def _disable_blas_threads() -> None:
    """Keep numpy's BLAS from starting a thread per core, each with its own memory: perf2x never calls BLAS.

    OpenBLAS reads the variable when numpy is imported, so this function must be called before that.
    """
    import os

    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
