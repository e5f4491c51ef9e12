"""The machine that recordings name files of."""

from pathlib import Path

import pytest

from tests.support.own_machine import HERE, put


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The root of a machine that is called HERE."""
    root = tmp_path / "machine"
    put(root, "/proc/sys/kernel/hostname", f"{HERE}\n".encode())
    monkeypatch.setenv("PERF2X_SYSROOT", str(root))
    return root
