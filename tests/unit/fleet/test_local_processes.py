"""Workers of this machine: nobody reaches them, and whatever becomes of one, every item has one end."""

import os
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from perf2x.base.errors import OutputError, Perf2xError
from perf2x.fleet import local_processes as module
from perf2x.fleet.local_processes import Failed, Task, processes
from tests.support import tasks
from tests.support.sockets import listening

by_kill = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")


def ends(task: Task, items: range, job: object = None, count: int = 2) -> list[tuple[Any, Any]]:
    with processes(count) as run:
        return sorted(run(task, items, job))


def test_every_item_has_its_result() -> None:
    assert ends(tasks.double, range(50)) == [(item, 2 * item) for item in range(50)]
    assert ends(tasks.double, range(0)) == []


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_nothing_listens() -> None:
    """So there is nothing that another user of the machine could connect to."""
    before = listening(os.getpid())
    with socket.create_server(("127.0.0.1", 0)) as known:
        ((_, found),) = ends(tasks.listeners, range(1))
        assert sorted(found) == sorted([*before, f"tcp {known.getsockname()[1]}"])


@by_kill
def test_what_a_dead_worker_had_begun_is_begun_again(tmp_path: Path) -> None:
    assert ends(tasks.die_once, range(4), tmp_path) == [(item, item) for item in range(4)]


@by_kill
def test_an_item_that_kills_every_worker_is_given_up() -> None:
    found = dict(ends(tasks.die_of_two, range(4)))
    assert found.pop(2) == Failed("5 worker processes ended while they read it (SIGKILL): is there enough memory?")
    assert found == {0: 0, 1: 1, 3: 3}


@pytest.fixture
def killing(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Kill so many workers while they start."""

    def kill_first(count: int) -> None:
        class Killed(module._Worker):
            left = count

            def __init__(self, *words: Any) -> None:
                super().__init__(*words)
                if Killed.left:
                    Killed.left -= 1
                    self.process.kill()

        monkeypatch.setattr(module, "_Worker", Killed)

    return kill_first


@by_kill
def test_workers_may_be_killed_while_they_start(killing: Callable[[int], None]) -> None:
    killing(4)
    assert ends(tasks.double, range(3)) == [(0, 0), (1, 2), (2, 4)]


@by_kill
def test_workers_that_never_start_are_one_error(killing: Callable[[int], None]) -> None:
    killing(1000)
    with pytest.raises(Perf2xError, match=r"worker processes end while they start \(SIGKILL\)"):
        ends(tasks.double, range(3))


def test_what_a_task_stumbles_on_is_its_end() -> None:
    (_, first), (_, second) = ends(tasks.stumble, range(2), count=1)
    assert first == Failed("perf2x cannot read it, which is a mistake worth a report (KeyError: 'attr')")
    assert second == Failed("not enough memory")


def test_an_error_of_ours_ends_the_run() -> None:
    with pytest.raises(OutputError, match="disk full"):
        ends(tasks.full, range(100))


@by_kill
def test_workers_leave_ctrl_c_to_the_first_process() -> None:
    assert ends(tasks.be_interrupted, range(2)) == [(0, 0), (1, 1)]


@by_kill
def test_workers_that_are_ended_leave_no_files(tmp_path: Path) -> None:
    with processes(2) as run:
        assert next(run(tasks.keep_a_file, range(2), tmp_path)) == (1, 1)
        folder = Path((tmp_path / "name").read_text())
        assert folder.exists()
    assert not folder.exists()
