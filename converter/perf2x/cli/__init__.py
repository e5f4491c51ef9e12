"""Arguments in, exit codes out; one module per command."""


def main() -> None:
    """The ``perf2x`` command; exit codes are in ``perf2x.cli.error_handling``."""
    import atexit

    from perf2x.cli.error_handling import exit_cleanly_on_signals, ignore_unwritable_stderr, report_errors

    atexit.register(ignore_unwritable_stderr)
    reduce_garbage_collection()
    disable_blas_threads()
    exit_cleanly_on_signals()
    with report_errors():
        from perf2x.cli.app import app

        app(prog_name="perf2x")


def reduce_garbage_collection() -> None:
    """Look for garbage less often than Python does, and not at exit, where all objects are walked several times.

    What is no cycle is freed all the same, and cycles are few: 0.04 s of a small conversion.
    """
    import atexit
    import gc

    gc.set_threshold(5000)
    atexit.register(gc.freeze)


def disable_blas_threads() -> None:
    """Keep numpy's BLAS from starting a thread for each core, each with memory of its own; nothing here uses it."""
    import os

    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
