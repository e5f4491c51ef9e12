"""Work handed out piece by piece comes back whole and in order, whatever becomes of the processes."""

import multiprocessing.context
import os
import sys
import time
from typing import Never

import pytest

from perf2x.errors import OptionError
from perf2x.kernel.stage_timer import Stages
from perf2x.kernel.worker_pool import MICROSECONDS_PER_PROCESS, processes_for_work, run_tasks

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux only")


@pytest.mark.parametrize("count", [0, 1, 7, 5000])
def test_results_come_in_order(count) -> None:
    results = list(run_tasks(3, lambda number: (number, os.getpid()), range(count), Stages(), "x"))
    assert [number for number, _ in results] == list(range(count))


def test_the_most_expensive_task_starts_first() -> None:
    begun = []
    list(run_tasks(1, begun.append, [5, 30, 20], Stages(), "x"))
    assert begun == [1, 2, 0]


def test_tasks_of_a_dead_process_are_repeated() -> None:
    here = os.getpid()

    def work(number) -> int:
        if os.getpid() != here:
            os._exit(9)
        time.sleep(0.01)  # let the others take some
        return number

    assert list(run_tasks(3, work, [1] * 20, Stages(), "x")) == list(range(20))


def test_all_tasks_run_without_other_processes(monkeypatch) -> None:
    def refused(process) -> Never:
        raise BlockingIOError("Resource temporarily unavailable")

    monkeypatch.setattr(multiprocessing.context.ForkProcess, "start", refused)
    assert list(run_tasks(3, str, [1] * 3, Stages(), "x")) == ["0", "1", "2"]


def test_an_error_of_any_process_is_raised() -> None:
    def work(number) -> Never:
        raise OptionError("not this one")

    with pytest.raises(OptionError, match="not this one"):
        list(run_tasks(2, work, [1] * 20, Stages(), "x"))


def test_time_of_other_processes_is_counted() -> None:
    stages = Stages()
    list(run_tasks(2, lambda number: sum(range(10**5)), [1] * 20, stages, "x"))
    assert stages.cpu["x"] > 0


def test_no_more_processes_than_there_is_work() -> None:
    cores = len(os.sched_getaffinity(0))
    assert processes_for_work(MICROSECONDS_PER_PROCESS * 2 - 1, 100, 0) == 1
    assert processes_for_work(MICROSECONDS_PER_PROCESS * 1000, 100, 0) == min(cores, 100)
    assert processes_for_work(0, 100, 5) == 5 and processes_for_work(0, 3, 5) == 3 and processes_for_work(0, 0, 0) == 1
