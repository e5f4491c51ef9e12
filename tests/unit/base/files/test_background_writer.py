"""Compression beside the emitter: the same bytes as without a thread, errors where the writer sees them."""

import gzip
import io
import threading
from random import Random

import pytest

from perf2x.base.files.background_writer import BackgroundGzipWriter, BackgroundWriter

PIECES = [b"", *(bytes([number % 251]) * number for number in range(1, 3000, 7))]
PIECES.append(bytes(Random(1).choices(b"abcd", k=20_000)))  # other bytes at any other level


class Full(io.BytesIO):
    def write(self, piece: object, /) -> int:
        raise OSError(28, "No space left on device")


def packed_at_once() -> bytes:
    whole = io.BytesIO()
    with gzip.GzipFile("", "wb", 4, whole, mtime=0) as out:
        for piece in PIECES:
            out.write(piece)
    return whole.getvalue()


def test_compressed_output_equals_gzip() -> None:
    found = io.BytesIO()
    with BackgroundGzipWriter(found) as out:
        out.writelines(PIECES)
    assert found.getvalue() == packed_at_once()
    assert gzip.decompress(found.getvalue()) == b"".join(PIECES)


def test_chunks_are_written_in_order() -> None:
    found = io.BytesIO()
    with BackgroundWriter(found) as out:
        out.writelines(PIECES)
        out.write(memoryview(b"abc")[:-1])
    assert found.getvalue() == b"".join(PIECES) + b"ab"


@pytest.mark.parametrize("kind", [BackgroundWriter, BackgroundGzipWriter])
@pytest.mark.parametrize("pieces", [1, 4000])
def test_a_full_disk_is_raised_to_the_writer(pieces: int, kind: type[BackgroundWriter]) -> None:
    before = threading.active_count()
    with pytest.raises(OSError, match="No space"), kind(Full()) as out:
        for _ in range(pieces):
            out.write(bytes(100_000))
    assert threading.active_count() == before


def test_an_exception_in_the_context_ends_the_thread() -> None:
    before = threading.active_count()
    with pytest.raises(ValueError, match="mine"), BackgroundGzipWriter(io.BytesIO()) as out:
        out.write(b"x")
        raise ValueError("mine")
    assert threading.active_count() == before


@pytest.mark.parametrize("kind", [BackgroundWriter, BackgroundGzipWriter])
def test_a_memory_error_in_the_thread_is_raised_to_the_writer(kind: type[BackgroundWriter]) -> None:
    class Short(io.BytesIO):
        def write(self, piece: object, /) -> int:
            raise MemoryError

    before = threading.active_count()
    with pytest.raises(MemoryError), kind(Short()) as out:
        for _ in range(4000):
            out.write(bytes(100_000))
    assert threading.active_count() == before


@pytest.fixture
def no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """A browser, or no memory for another stack."""

    def start(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)


@pytest.mark.usefixtures("no_threads")
def test_without_threads_chunks_are_written_at_once() -> None:
    packed, plain = io.BytesIO(), io.BytesIO()
    with BackgroundGzipWriter(packed) as out, BackgroundWriter(plain) as beside:
        out.writelines(PIECES)
        beside.write(b"abc")
        assert plain.getvalue() == b"abc"
    assert packed.getvalue() == packed_at_once()


@pytest.mark.usefixtures("no_threads")
@pytest.mark.parametrize("kind", [BackgroundWriter, BackgroundGzipWriter])
@pytest.mark.parametrize("pieces", [1, 4000])
def test_without_threads_a_full_disk_is_raised_as_well(pieces: int, kind: type[BackgroundWriter]) -> None:
    with pytest.raises(OSError, match="No space"), kind(Full()) as out:
        for _ in range(pieces):
            out.write(bytes(100_000))
