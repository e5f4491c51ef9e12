"""Large forged recordings of a few thousand distinct stacks, written column by column.

Shapes follow a busy system-wide recording: processes with threads and stacks of their own, 4 to 40 frames deep, two
thirds with a kernel part, made of some hundred addresses a process and a few thousand in the kernel, some much more
frequent than others; records in time order with a FINISHED_ROUND every few thousand.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tests import forge
from tests.forge import kernel as k
from tests.forge.container import HEADER_SIZE
from tests.forge.session import zstd

U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]
PROCESSES, THREADS, STACKS, CHUNK, ROUND = 40, 6, 6000, 100_000, 4096
EACH = STACKS // PROCESSES
"""Stacks of one process."""
KERNEL_TEXT, USER_TEXT, LIBRARY = 0xFFFFFFFF81000000, 0x400000, 0x7F0000000000
FIELDS = 5
"""Words between a sample's header and its chain: ip, thread, time, period, nr."""
EVENT = forge.Event(
    period=999, ids=(1,), sample_type=k.IP | k.TID | k.TIME | k.PERIOD | k.CALLCHAIN,
    flags=frozenset(
        {"freq", "mmap", "comm", "task", "sample_id_all", "mmap2", "comm_exec", "defer_callchain", "defer_output"}
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Shape:
    """The recording to forge: samples with inline chains, or deferred ones with a record for every second sample."""

    samples: int
    deferred: bool = False
    compressed: bool = False
    seed: int = 1


@dataclass(frozen=True)
class Blocks:
    """A unit of writing: a sample, or two samples and the deferred record that completes both.

    ``words[i]`` are the words of block i; ``thread``, ``time`` and ``cookie`` (blocks, places) say which of them to
    fill in; ``samples`` is how many samples a block has.
    """

    words: list[U64]
    thread: I64
    time: I64
    cookie: I64
    samples: int


def write_forged(path: Path, shape: Shape) -> None:
    """Write the file in chunks of CHUNK samples, so that memory stays small."""
    features = forge.Features(arch="x86_64", hostname="forge", cpus=(2, 2), compressed=(1, 1, 1, 3, 1 << 20))
    _write(path, features if shape.compressed else forge.Features(arch="x86_64", cpus=(2, 2)), _packed(shape))


def _write(path: Path, features: forge.Features, pieces: Iterator[bytes]) -> None:
    whole = forge.Container("<", ((EVENT.encode("<"), EVENT.ids),), (), features.sections((EVENT,), "<"))
    empty = whole.to_file()
    data_at = HEADER_SIZE + 8 + EVENT.size + 16
    with path.open("wb") as file:
        file.write(empty[:data_at])
        size = sum(file.write(piece) for piece in pieces)
        file.write(_features_at(empty[data_at:], data_at + size - data_at))
        file.seek(48)
        file.write(size.to_bytes(8, "little"))


def _features_at(tail: bytes, moved: int) -> bytes:
    """Return the feature table and sections, with offsets adjusted to their new position."""
    count = int.from_bytes(tail[:8], "little") - HEADER_SIZE - 8 - EVENT.size - 16
    words = np.frombuffer(tail[:count], np.uint64).reshape(-1, 2).copy()
    words[:, 0] += np.uint64(moved)
    return words.tobytes() + tail[count:]


def _packed(shape: Shape) -> Iterator[bytes]:
    if not shape.compressed:
        yield from _pieces(shape)
        return
    compressor = zstd().ZstdCompressor(level=1)
    for piece in _pieces(shape):
        for start in range(0, len(piece), 1 << 19):
            packed = compressor.compress(piece[start : start + (1 << 19)], compressor.FLUSH_BLOCK)
            for part in range(0, len(packed), 60_000):
                record = forge.Compressed(piece=packed[part : part + 60_000])
                yield record.encode((EVENT,), "<")


def _pieces(shape: Shape) -> Iterator[bytes]:
    random = np.random.default_rng(shape.seed)
    yield b"".join(record.encode((EVENT,), "<") for record in _processes())
    blocks = _deferred_blocks(random) if shape.deferred else _plain_blocks(random)
    total = shape.samples // blocks.samples
    for start in range(0, total, CHUNK):
        yield _chunk(random, blocks, start, min(CHUNK, total - start))


def _processes() -> Iterator[forge.Record]:
    yield forge.Mmap(
        pid=0xFFFFFFFF, tid=0, addr=KERNEL_TEXT, len=0x2000000, pgoff=KERNEL_TEXT, misc=k.KERNEL,
        filename="[kernel.kallsyms]_text",
    )  # fmt: skip
    for process in range(PROCESSES):
        pid = 1000 + process * 16
        for thread in range(THREADS):
            yield forge.Comm(pid=pid, tid=pid + thread, comm=f"worker-{process}.{thread}")
        yield forge.Mmap2(
            pid=pid, tid=pid, addr=USER_TEXT, len=0x200000, filename=f"/opt/worker-{process}", misc=k.USER
        )
        yield forge.Mmap2(pid=pid, tid=pid, addr=LIBRARY, len=0x200000, filename="/usr/lib/libwork.so.1", misc=k.USER)


def _stacks(random: np.random.Generator) -> Iterator[tuple[U64, U64]]:
    """Kernel part (for two thirds of them) and user part; EACH of the first process, then of the next."""
    kernel = np.uint64(KERNEL_TEXT) + random.integers(0, 0x1000000, 3000).astype(np.uint64)
    library = np.uint64(LIBRARY) + random.integers(0x1000, 0x100000, 1500).astype(np.uint64)
    for row in range(STACKS):
        if row % EACH == 0:
            own = np.uint64(USER_TEXT) + random.integers(0x1000, 0x100000, 400).astype(np.uint64)
        inner = int(random.integers(4, 16)) if random.random() < 0.66 else 0
        outer = int(random.integers(4, 26))
        user = np.where(random.random(outer) < 0.4, random.choice(library, outer), random.choice(own, outer))
        yield random.choice(kernel, inner), user


def _sample(kernel: U64, user: U64, outer: list[int]) -> U64:
    inner = [k.CONTEXT_KERNEL, *kernel.tolist()] if len(kernel) else []
    entries = [*inner, *outer]
    mode = k.KERNEL if len(kernel) else k.USER
    size = 8 * (1 + FIELDS + len(entries))
    ip = int(kernel[0] if len(kernel) else user[0])
    return np.array([9 | mode << 32 | size << 48, ip, 0, 0, 1_001_001, len(entries), *entries], np.uint64)


def _plain_blocks(random: np.random.Generator) -> Blocks:
    words = [_sample(kernel, user, [k.CONTEXT_USER, *user.tolist()]) for kernel, user in _stacks(random)]
    places = np.ones((STACKS, 1), np.int64)
    return Blocks(words, places * 2, places * 3, np.zeros((STACKS, 0), np.int64), 1)


def _deferred_blocks(random: np.random.Generator) -> Blocks:
    words, thread, time, cookie = [], [], [], []
    for kernel, user in _stacks(random):
        sample = _sample(kernel, user, [k.CONTEXT_USER_DEFERRED, 0])
        size = 8 * (1 + 2 + len(user) + 2)
        record = np.array([22 | k.USER << 32 | size << 48, 0, len(user), *user.tolist(), 0, 0], np.uint64)
        words.append(np.concatenate([sample, sample, record]))
        one, two, end = len(sample), 2 * len(sample), len(words[-1])
        thread.append((2, one + 2, end - 2))
        time.append((3, one + 3, end - 1))
        cookie.append((one - 1, two - 1, two + 1))
    return Blocks(words, np.array(thread), np.array(time), np.array(cookie), 2)


def _chunk(random: np.random.Generator, blocks: Blocks, start: int, count: int) -> bytes:
    """Blocks in time order, picked by a skewed draw, their threads, times and cookies filled in."""
    process = random.integers(0, PROCESSES, count)
    chosen = process * EACH + (EACH * random.random(count) ** 3).astype(np.int64)
    pid = (1000 + process * 16).astype(np.uint64)
    thread = pid | (pid + random.integers(0, THREADS, count).astype(np.uint64)) << np.uint64(32)
    number = np.arange(start, start + count)
    words = np.concatenate([blocks.words[row] for row in chosen.tolist()])
    lengths = np.array([len(row) for row in blocks.words])[chosen]
    begins = np.cumsum(lengths) - lengths
    steps = blocks.time.shape[1]
    words[begins[:, None] + blocks.thread[chosen]] = np.repeat(thread[:, None], steps, axis=1)
    times = 10**9 + (number[:, None] * steps + np.arange(steps)) * 1000
    words[begins[:, None] + blocks.time[chosen]] = times.astype(np.uint64)
    cookies = 1 + ((2 * number[:, None] + 1) << 32) + np.zeros((1, blocks.cookie.shape[1]), np.int64)
    words[begins[:, None] + blocks.cookie[chosen]] = cookies.astype(np.uint64)
    return _with_rounds(words, begins)


def _with_rounds(words: U64, begins: I64) -> bytes:
    """Insert FINISHED_ROUND after every ROUND blocks, so that perf can sort and flush its queue."""
    mark = np.frombuffer(forge.FinishedRound().encode((EVENT,), "<"), np.uint64)
    pieces = np.split(words, begins[ROUND::ROUND])
    return np.concatenate([part for piece in pieces for part in (piece, mark)]).tobytes()
