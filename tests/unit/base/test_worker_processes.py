"""Results of worker processes are joined pair by pair, and none is lost unnoticed."""

import os
import subprocess
import sys
from multiprocessing.context import ForkProcess

import numpy as np
import pytest

from perf2x.base.worker_processes import join_from_processes, run_in_processes
from perf2x.errors import OptionError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux only")

LARGE = 3_000_000
"""Bytes, more than any pipe holds."""


def joined(count: int, dies: int = -1) -> tuple[list[list[int]], list[range]]:
    """Results that this process took from others, and numbers of those that are lost; process ``dies`` does."""
    own: list[int] = []
    taken: list[list[int]] = []
    lost: list[range] = []

    def work(number: int) -> None:
        if number == dies:
            os._exit(9)
        own.append(number)

    def absorb(numbers: list[int]) -> None:
        taken.append(numbers)
        own.extend(numbers)

    def replace(numbers: range) -> None:
        lost.append(numbers)
        own.extend(-number for number in numbers)

    join_from_processes(count, work, lambda: own, absorb, replace)
    return taken, lost


@pytest.mark.parametrize(
    ("count", "taken"),
    [(1, []), (2, [[1]]), (3, [[1], [2]]), (5, [[1], [2, 3], [4]]), (8, [[1], [2, 3], [4, 5, 6, 7]])],
)
def test_neighbours_join_first(count: int, taken: list[list[int]]) -> None:
    assert joined(count) == (taken, [])


@pytest.mark.parametrize(
    ("dies", "taken", "lost"),
    [
        (1, [[2, 3], [4, 5, 6]], [range(1, 2)]),
        (2, [[1], [4, 5, 6]], [range(2, 4)]),
        (5, [[1], [2, 3], [4, -5, 6]], []),
        (4, [[1], [2, 3]], [range(4, 7)]),
    ],
)
def test_what_a_dead_process_was_to_join_is_lost_with_it(dies: int, taken: object, lost: list[range]) -> None:
    """The process that was to receive its result does its share, in the order of numbers."""
    assert joined(7, dies) == (taken, lost)


def test_processes_that_cannot_be_started_are_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    start, started = ForkProcess.start, list[ForkProcess]()

    def refused(process: ForkProcess) -> None:
        if len(started) == 2:
            raise BlockingIOError("Resource temporarily unavailable")
        started.append(process)
        start(process)

    monkeypatch.setattr(ForkProcess, "start", refused)
    assert joined(6) == ([[1], [2, -3]], [range(4, 6)])


def test_processes_without_a_pipe_are_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe, made = os.pipe, list[tuple[int, int]]()

    def refused() -> tuple[int, int]:
        if len(made) == 3:
            raise OSError(24, "Too many open files")
        made.append(pipe())
        return made[-1]

    monkeypatch.setattr(os, "pipe", refused)
    taken, lost = joined(6)
    assert sorted(abs(number) for numbers in (*taken, *lost) for number in numbers) == [1, 2, 3, 4, 5]


def test_an_error_in_any_process_is_raised() -> None:
    def work(number: int) -> None:
        if number == 3:
            raise OptionError("not this one")

    with pytest.raises(OptionError, match="not this one"):
        join_from_processes(4, work, lambda: 0, lambda _: None, lambda _: None)


def test_large_arrays_arrive_whole() -> None:
    def there(number: int) -> dict[str, object]:
        rows = np.arange(LARGE // 8 + number, dtype=np.int64)
        return {"rows": rows, "apart": rows[::2], "none": rows[:0], "name": "x" * LARGE, "strings": np.array(["a"])}

    results = list(run_in_processes(3, lambda _: None, there))
    for number, result in enumerate(results, 1):
        expected = there(number)
        assert result.keys() == expected.keys()
        assert all(np.array_equal(result[name], expected[name]) for name in ("rows", "apart", "none", "strings"))
        assert result["name"] == expected["name"]
        rows = result["rows"]
        assert isinstance(rows, np.ndarray)
        rows[:1] = 7  # it is the receiver's
    assert len(results) == 2


def test_a_result_that_breaks_off_is_lost() -> None:
    class Fatal:
        def __reduce__(self) -> object:
            os._exit(9)

    done: list[int] = []
    assert not list(run_in_processes(2, done.append, lambda number: [np.zeros(LARGE), Fatal()]))
    assert done == [0, 1], "its share is done here"


def test_a_worker_that_has_just_begun_ends_without_a_word() -> None:
    """It has the first process's handlers until it sets its own."""
    code = (
        "import os, signal, time\n"
        "from perf2x.base.worker_processes import run_in_processes\n"
        "signal.signal(signal.SIGTERM, lambda *_: os.write(2, b'told'))\n"
        "os.register_at_fork(after_in_child=lambda: time.sleep(1))\n"
        "def here(number): time.sleep(0.2); raise SystemExit(7)\n"
        "list(run_in_processes(2, here, lambda number: number))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (ran.returncode, ran.stderr) == (7, b"")
