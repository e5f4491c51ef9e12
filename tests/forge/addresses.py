"""Recordings of many different addresses, written as columns: what a hostile file can ask for with eight bytes each."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from tests import forge
from tests.forge import kernel as k
from tests.forge.session import container

DEPTH = 126
"""Frames of a stack; each sample has one word more, the marker in front."""
TEXT, LENGTH = 0x7F0000000000, 1 << 40
EVENT = forge.Event(ids=(1,), sample_type=k.IP | k.TID | k.TIME | k.CALLCHAIN)
DATA_SIZE = 48
"""Place of the size of the data in the header."""


def write_addresses(path: Path, count: int, *, kernel: bool = False, depth: int = DEPTH) -> None:
    """Write samples whose stacks hold ``count`` addresses between them, no two alike: of an object, or the kernel's.

    Those of the kernel lie in no mapping.
    """
    samples = -(-count // depth)
    text, mode, context = (2**63, k.KERNEL, k.CONTEXT_KERNEL) if kernel else (TEXT, k.USER, k.CONTEXT_USER)
    mapping = forge.Mmap2(pid=1, tid=1, addr=TEXT, len=LENGTH, filename="/opt/wide")
    records = [forge.Comm(pid=1, tid=1, comm="wide"), mapping]
    head = replace(container(forge.Session((EVENT,)), records), features={}).to_file()
    words = np.empty((samples, depth + 6), np.uint64)
    words[:, 0] = 9 | mode << 32 | (8 * words.shape[1]) << 48
    words[:, 2] = 1 | 1 << 32
    words[:, 3] = np.arange(1, samples + 1) * 1000
    words[:, 4], words[:, 5] = depth + 1, context
    # spread over the object, in no order that a table or a sort could gain by
    number = np.random.default_rng(1).permutation(samples * depth).astype(np.uint64)
    words[:, 6:] = (np.uint64(text) + np.uint64(16) * number).reshape(samples, depth)
    words[:, 1] = words[:, 6]
    with path.open("wb") as file:
        file.write(head)
        file.write(words)
        size = int.from_bytes(head[DATA_SIZE : DATA_SIZE + 8], "little") + words.nbytes
        file.seek(DATA_SIZE)
        file.write(size.to_bytes(8, "little"))
