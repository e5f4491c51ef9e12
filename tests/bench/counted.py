"""``python -m tests.bench.counted ARGUMENTS``: runs perf2x and prints figures that hold on any machine, as JSON.

``peak`` are the bytes that Python and numpy held at once, ``calls`` the calls of Python functions and of C functions by
Python: a loop over samples or a copy of a column shows in them, however busy the machine is.
"""

import json
import os
import tracemalloc
from cProfile import Profile
from pstats import Stats


def main() -> None:
    from perf2x.cli import main as perf2x

    finish = os._exit
    profile = Profile()

    def print_figures(status: int) -> None:
        profile.disable()
        peak = tracemalloc.get_traced_memory()[1]
        calls = sum(found[0] for found in Stats(profile).stats.values())  # type: ignore[attr-defined]
        print(json.dumps({"peak": peak, "calls": calls}), flush=True)
        finish(status)

    os._exit = print_figures  # type: ignore[assignment]  # commands end with it
    tracemalloc.start()
    profile.enable()
    try:
        perf2x()
    except SystemExit as end:
        print_figures(int(end.code or 0))
    print_figures(0)


if __name__ == "__main__":
    main()
