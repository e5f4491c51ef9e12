"""Signals while DuckDB works: they end its query at once, and what their handlers raise is not lost."""

import contextlib
import signal
import socket
import threading
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def ended_by_signals(connection: Any) -> Iterator[None]:
    """Let signals end the queries of a connection: what their handlers raise leaves the block.

    DuckDB looks for signals between steps, which may take minutes, and has an error of its own for what a handler
    raised. So a thread waits for signals, which Python writes to a socket as they come.
    """
    if threading.current_thread() is not threading.main_thread():  # signals are the main thread's
        yield
        return
    seen: list[int] = []
    try:
        with _watched(connection, seen):
            yield
    except Exception:
        if seen:  # its handler raised, or would have
            signal.raise_signal(seen[0])
        raise


@contextlib.contextmanager
def _watched(connection: Any, seen: list[int]) -> Iterator[None]:
    ours, told = socket.socketpair()
    told.setblocking(False)

    def watch() -> None:
        with ours:
            while number := ours.recv(1):
                seen.append(number[0])
                connection.interrupt()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    with contextlib.ExitStack() as stack:
        stack.callback(thread.join)
        stack.callback(told.close)  # which ends the thread
        before = signal.set_wakeup_fd(told.fileno(), warn_on_full_buffer=False)
        stack.callback(_listen_again, told.fileno(), before)
        yield


def _listen_again(ours: int, before: int) -> None:
    """Tell whoever was told before of signals, unless another one is told by now: blocks end in any order."""
    now = signal.set_wakeup_fd(-1)
    with contextlib.suppress(OSError, ValueError):  # that block has ended
        signal.set_wakeup_fd(before if now == ours else now)
