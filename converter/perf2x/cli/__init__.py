"""The command line: parses arguments, runs a command, and turns failures into a sentence and an exit code."""

import contextlib
from collections.abc import Iterator


def main() -> None:
    """Run the ``perf2x`` command; cli/error_handling.py lists its exit codes."""
    with program_environment():
        from perf2x.cli.app import app

        app(prog_name="perf2x")


@contextlib.contextmanager
def program_environment() -> Iterator[None]:
    """Set up the process for a command, the body of the ``with`` statement. A failure ends it with one sentence."""
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
    """Collect reference cycles less often, and not at exit: this saves a quarter of the time of a small conversion."""
    import atexit
    import gc

    gc.set_threshold(100_000)
    atexit.register(gc.freeze)


def _disable_blas_threads() -> None:
    """Keep OpenBLAS from starting a thread per core when numpy is imported; perf2x never calls it."""
    import os

    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
