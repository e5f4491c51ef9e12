"""Other operating systems: what perf2x sees of Windows, macOS and a browser, on the machine that runs the tests.

Only what ``base/files/operating_system.py`` looks at is replaced; Python itself stays the one that runs.
"""

import mmap
import os
import signal
import sys
import threading
from typing import NoReturn

import pytest

from perf2x.base.files import operating_system

SYSTEMS = ("win32", "darwin", "emscripten")
NO_LOCKS = {"win32": True, "darwin": False, "emscripten": False}


def become(system: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away what ``system`` has not."""
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(operating_system, "O_TMPFILE", None)
    monkeypatch.setattr(operating_system, "PROC_FILES", "/nowhere/proc/self/fd")
    if system == "win32":
        monkeypatch.setitem(sys.modules, "fcntl", None)
        monkeypatch.delattr(os, "getuid", raising=False)
        monkeypatch.delattr(mmap, "MADV_DONTNEED", raising=False)
    if system == "emscripten":
        monkeypatch.setattr(threading.Thread, "start", _no_thread)
        monkeypatch.delattr(signal, "setitimer")
        monkeypatch.delattr(os, "link")


def _no_thread(_: threading.Thread) -> NoReturn:
    raise RuntimeError("can't start new thread")
