"""A progress bar on standard error, on a terminal only."""

import contextlib
import sys
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress as ProgressBar

    from perf2x.kernel.load_options import LoadOptions, Progress
    from perf2x.kernel.load_result import Loaded

listener: "Progress | None" = None
"""A callback that receives all progress; while it is set, no bar is drawn. The page of ``perf2x web`` sets it."""
_BAR_DELAY_S = 0.7
_REDRAW_INTERVAL_S = 0.1


@contextlib.contextmanager
def progress_bar(quiet: bool) -> "Iterator[Progress | None]":
    """Provide the callback that receives progress; None if it is not shown."""
    if listener is not None or quiet or not sys.stderr.isatty():
        yield listener
        return
    bar = _DelayedBar()
    try:
        yield bar.update
    finally:
        bar.close()


def load_with_progress(sources: str | Sequence[str], options: "LoadOptions", quiet: bool) -> "Loaded":
    """Load recordings with a progress bar."""
    from perf2x.kernel.load import load

    with progress_bar(quiet) as progress:
        return load(sources, options, progress)


class _DelayedBar:
    def __init__(self) -> None:
        self._next_draw = time.monotonic() + _BAR_DELAY_S
        self._bar: ProgressBar | None = None
        self._task_ids: dict[str, int] = {}  # rich's id of the task for each stage

    def update(self, stage: str, done: int, total: int) -> None:
        """``total`` is 0 if it is unknown."""
        now = time.monotonic()
        if self._bar is None:
            if now < self._next_draw:
                return
            from rich.console import Console
            from rich.progress import Progress as ProgressBar

            # rich must not start a thread that draws, because a process with threads should not fork
            self._bar = ProgressBar(console=Console(stderr=True), transient=True, auto_refresh=False)
            self._bar.start()
        task_id = self._task_ids.get(stage)
        if task_id is None:
            task_id = self._task_ids[stage] = self._bar.add_task(stage, total=total or None)
        self._bar.update(task_id, completed=done, total=total or None)  # type: ignore[arg-type]
        if now >= self._next_draw:
            self._next_draw = now + _REDRAW_INTERVAL_S
            self._bar.refresh()

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
