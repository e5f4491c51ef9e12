"""Arguments in, exit codes out; one module per command."""


def main() -> None:
    """The ``perf2x`` command; exit codes are in ``perf2x.cli.exits``."""
    import atexit

    from perf2x.cli.exits import clean_up_when_terminated, ignore_full_log, one_sentence

    atexit.register(ignore_full_log)
    collect_seldom()
    compute_alone()
    clean_up_when_terminated()
    with one_sentence():
        from perf2x.cli.app import app

        app(prog_name="perf2x")


def collect_seldom() -> None:
    """Look for garbage less often than Python does, and not at exit, where all objects are walked several times.

    What is no cycle is freed all the same, and cycles are few: 0.04 s of a small conversion.
    """
    import atexit
    import gc

    gc.set_threshold(5000)
    atexit.register(gc.freeze)


def compute_alone() -> None:
    """Keep numpy's BLAS from starting a thread for each core, each with memory of its own; nothing here uses it."""
    import os

    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
