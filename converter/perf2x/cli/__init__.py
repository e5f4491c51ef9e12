"""Arguments in, exit codes out; one module per command."""


def main() -> None:
    """The ``perf2x`` command; exit codes are in ``perf2x.cli.exits``."""
    from perf2x.cli.app import make_app

    make_app()(prog_name="perf2x")
