"""Arguments in, exit codes out; one module per command."""


def main() -> None:
    """Entry point of the ``perf2x`` command."""
    raise SystemExit("perf2x: nothing is wired yet")
