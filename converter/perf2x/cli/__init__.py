"""Arguments in, exit codes out; one module per command."""


def main() -> None:
    """The ``perf2x`` command; exit codes are in ``perf2x.cli.exits``."""
    import sys

    from perf2x.cli.app import make_app

    make_app(sys.argv[1:])(prog_name="perf2x")
