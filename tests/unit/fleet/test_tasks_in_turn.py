"""Ends of tasks: results, errors, and results that died with their workers."""

from concurrent.futures import CancelledError

import pytest

from perf2x.base.errors import OutputError, Perf2xError
from perf2x.fleet.cluster import end_of
from perf2x.fleet.local_processes import Failed


class Future:
    """Dask's future as its client sees it: a lost one is pending again and ends a second time."""

    def __init__(self, status: str, error: Exception | None = None) -> None:
        self.status, self.error = status, error

    def exception(self) -> Exception | None:
        if self.status == "lost":
            self.status = "finished"
        return self.error

    def result(self) -> str:
        if self.status == "cancelled":
            raise CancelledError("scheduler-connection-lost")
        return "done"


def test_a_result_that_died_with_its_worker_is_waited_for() -> None:
    assert end_of(Future("lost")) == end_of(Future("finished")) == "done"


def test_an_error_is_put_in_words_and_ours_ends_the_run() -> None:
    assert end_of(Future("error", MemoryError())) == Failed("not enough memory")
    with pytest.raises(OutputError, match="disk full"):
        end_of(Future("error", OutputError("disk full")))


def test_a_scheduler_that_is_gone_is_one_error() -> None:
    with pytest.raises(Perf2xError, match="the scheduler is gone"):
        end_of(Future("cancelled"))
