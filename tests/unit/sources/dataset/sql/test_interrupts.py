"""Signals are told to whoever asked last, in whatever order the blocks end."""

import signal
import sys
from contextlib import ExitStack

import pytest

from perf2x.sources.dataset.sql.duckdb_engine import ended_by_signals


class Connection:
    def interrupt(self) -> None:
        raise AssertionError("no signal came")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has sockets of its own for signals")
@pytest.mark.parametrize("first", [0, 1])
def test_blocks_end_in_any_order(first: int) -> None:
    stacks = [ExitStack(), ExitStack()]
    for stack in stacks:
        stack.enter_context(ended_by_signals(Connection()))
    for stack in (stacks[first], stacks[1 - first]):
        stack.close()
    assert signal.set_wakeup_fd(-1) == -1
