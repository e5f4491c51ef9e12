"""Whole files are read; what has no end, is silent or too large is refused."""

import contextlib
import os
import threading
from pathlib import Path

import pytest

from perf2x.base.files import read_file as module
from perf2x.base.files.read_file import open_regular, read_file, read_object_file
from perf2x.base.files.temporary import private_directory, set_shown_name, shown_name
from perf2x.errors import ObjectError

needs_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
needs_devices = pytest.mark.skipif(not Path("/dev/zero").exists(), reason="the system has no /dev/zero")


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


def sent(path: Path, data: bytes) -> threading.Thread:
    def send() -> None:
        with contextlib.suppress(BrokenPipeError):
            path.write_bytes(data)

    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    return thread


def test_a_file_is_read_up_to_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    assert read_file(path, 5) == b"12345"
    assert open_regular(path).read() == b"12345"
    with pytest.raises(OSError, match="larger than 4 bytes"):
        read_file(path, 4)


def test_a_sparse_file_is_not_read_to_learn_that_it_is_too_large(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with path.open("wb") as file:
        file.truncate(1 << 42)
    with pytest.raises(ObjectError, match="larger than 8 GiB"):
        read_object_file(path)


@needs_pipes
def test_a_pipe_is_read_to_its_end(pipe: Path) -> None:
    sent(pipe, b"12345" * 100_000)
    assert read_file(pipe, 500_000) == b"12345" * 100_000


@needs_pipes
def test_a_pipe_that_sends_too_much_is_left(pipe: Path) -> None:
    sent(pipe, b"12345" * 1_000_000)
    with pytest.raises(OSError, match="larger than 1 MiB"):
        read_file(pipe, 1 << 20)


@needs_pipes
def test_a_silent_pipe_is_left(pipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PIPE_TIMEOUT", 0.01)
    with pytest.raises(ObjectError, match=r"pipe: nothing came through this pipe for 0\.01 seconds"):
        read_object_file(pipe)


@needs_pipes
def test_a_pipe_is_no_regular_file(pipe: Path) -> None:
    with pytest.raises(OSError, match="a pipe or a device"):
        open_regular(pipe)


@needs_devices
def test_a_device_is_no_file() -> None:
    with pytest.raises(OSError, match="a device"):
        read_file(Path("/dev/zero"), 1 << 40)


def test_a_copy_goes_by_the_name_of_its_original_as_long_as_it_is_there() -> None:
    with private_directory() as folder:
        copy = set_shown_name(folder / "0-perf.data", "bundle.tar, perf.data")
        assert shown_name(copy) == shown_name(str(copy)) == "bundle.tar, perf.data"
        assert shown_name(folder) == str(folder)
    assert shown_name(copy) == str(copy)
