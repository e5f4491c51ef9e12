"""Larger recordings from a real one: its records again and again, each time later and with other processes.

Copies share what hours of one machine share, programs, libraries and the kernel; processes, threads and times are
their own; what perf tells of the session (events, ids, thread maps) stands at the beginning alone, as in a long
recording. Takes plain files whose events agree on their fields.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from tests.forge import kernel as k

I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]
Bools = npt.NDArray[np.bool_]
IDS = 1 << 22
"""Linux has no more process ids; copies that would need more use those of others again, as a machine does."""
PAUSE = 1_000_000
"""Nanoseconds between two copies."""
SAMPLE, FIRST_OF_USER_SPACE, FINISHED_ROUND = 9, 64, 68
IN_FRONT = (k.IDENTIFIER, k.IP, k.TID, k.TIME)
"""The words that a sample begins with, in their order."""
BEHIND = (k.TID, k.TIME, k.ID, k.STREAM_ID, k.CPU, k.IDENTIFIER)
"""The words that other records of the kernel end with."""
OWN_IDS = {1: 2, 3: 2, 4: 4, 7: 4, 10: 2}
"""Number of ids that the bodies of MMAP, COMM, EXIT, FORK and MMAP2 begin with."""
OWN_TIME = (4, 7)
"""EXIT and FORK have the time behind their ids."""
OFFSETS = {"attributes": 3, "data": 5, "size": 6}
"""Words of the file header."""


@dataclass(frozen=True)
class Places:
    """Places of ids, counted in 32-bit numbers, and of times, in 64-bit ones; words that only the first copy has."""

    ids: I64
    times: I64
    once: Bools


def write_scaled(source: Path, path: Path, copies: int) -> None:
    """Write the records of ``source`` ``copies`` times; takes three times the memory of ``source``."""
    whole = source.read_bytes()
    header = np.frombuffer(whole, np.uint64, 13)
    attributes, begin, size = (int(header[at]) for at in OFFSETS.values())
    words = np.frombuffer(whole, np.uint64, size // 8, begin)
    places = places_of(words, int(np.frombuffer(whole, np.uint64, 1, attributes + 24)[0]))
    times = words[places.times]
    length = int(times.max() - times[times > 0].min()) + PAUSE
    with path.open("wb") as file:
        file.write(whole[:begin])
        for copy in range(copies):
            _write_copy(file, words.copy(), places, copy, length)
        more = file.tell() - begin - size
        _write_features(file, whole[begin + size :], more)
        file.seek(8 * OFFSETS["size"])
        file.write((size + more).to_bytes(8, "little"))


def places_of(words: U64, sample_type: int) -> Places:
    """Find ids and times in all records, of user space's none."""
    ids: list[int] = []
    times: list[int] = []
    in_front = [bit for bit in IN_FRONT if sample_type & bit]
    behind = [bit for bit in BEHIND if sample_type & bit]
    thread, time, once = in_front.index(k.TID), in_front.index(k.TIME), np.zeros(len(words), np.bool_)
    for at, kind, count in _records(words):
        if kind == SAMPLE:
            ids += (2 * (at + 1 + thread), 2 * (at + 1 + thread) + 1)
            times.append(at + 1 + time)
        elif kind < FIRST_OF_USER_SPACE:
            end = at + count - len(behind)
            ids += (2 * end, 2 * end + 1, *range(2 * (at + 1), 2 * (at + 1) + OWN_IDS.get(kind, 0)))
            times.append(end + 1)
            times += [at + 3] if kind in OWN_TIME else []
        elif kind != FINISHED_ROUND:
            once[at : at + count] = True
    return Places(np.array(ids), np.array(times), once)


def _records(words: U64) -> Iterator[tuple[int, int, int]]:
    """Yield place, type and number of words of each record."""
    at, heads = 0, words.tolist()
    while at < len(heads):
        yield at, heads[at] & 0xFFFFFFFF, heads[at] >> 51
        at += heads[at] >> 51


def _write_copy(file: BinaryIO, words: U64, places: Places, copy: int, length: int) -> None:
    ids, times = words.view(np.uint32)[places.ids], words[places.times]
    is_process = (ids > 0) & (ids < IDS)
    step = int(ids[is_process].max()) + 1
    ids[is_process] += np.uint32(copy % (IDS // step) * step)
    times[times > 0] += np.uint64(copy * length)
    words.view(np.uint32)[places.ids], words[places.times] = ids, times
    file.write(words[~places.once] if copy else words)


def _write_features(file: BinaryIO, tail: bytes, moved: int) -> None:
    """Write the table of sections and what it points to, which now lies ``moved`` bytes further on."""
    first = np.frombuffer(tail, np.uint64, 1)[0]
    count = (int(first) + moved - file.tell()) // 16
    table = np.frombuffer(tail, np.uint64, 2 * count).copy()
    table[::2] += np.uint64(moved)
    file.write(table.tobytes() + tail[16 * count :])
