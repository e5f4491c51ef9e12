"""Arguments in, exit codes out; one module per command."""


def main() -> None:
    """The ``perf2x`` command; exit codes are in ``perf2x.cli.exits``."""
    from perf2x.cli.app import make_app

    leave_quickly()
    make_app()(prog_name="perf2x")


def leave_quickly() -> None:
    """Let nothing be collected when the interpreter exits: it walks all objects several times, and the process ends."""
    import atexit
    import gc

    atexit.register(gc.freeze)
