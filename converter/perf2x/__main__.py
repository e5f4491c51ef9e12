"""``python -m perf2x``."""

from perf2x.cli import main

main()
