"""Small recordings for tests of ``perf2x diff``."""

import base64
import gzip
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from perf2x.emitters.pprof.profile_pb2 import Profile as Pprof
from tests.forge import Comm, Event, Features, Mmap2, Sample, Session, write_file


def forged(
    path: Path,
    leaves: Sequence[int],
    comm: str = "app",
    hostname: str = "",
    event: str = "cpu-clock",
    names: Mapping[int, str] | None = None,
    command: str = "",
) -> Path:
    """One sample of 1000 at each leaf, called from 0x5000; objects every 0x1000 bytes, by number and maybe name."""
    objects = [
        Mmap2(
            pid=1, tid=1, addr=base, len=0x1000, filename=f"/lib/{(names or {}).get(base >> 12, f'o{base >> 12}.so')}"
        )
        for base in range(0x1000, 0x9000, 0x1000)
    ]
    chains = [(0xFFFFFFFFFFFFFE00, leaf, 0x5001) for leaf in leaves]
    samples = [Sample(ip=chain[1], time=9 + t, period=1000, chain=chain) for t, chain in enumerate(chains)]
    session = Session(
        events=(Event(event),), features=Features(hostname=hostname or path.stem, command_line=tuple(command.split()))
    )
    path.write_bytes(write_file(session, [Comm(pid=1, tid=1, comm=comm), *objects, *samples]))
    return path


QUICK = ("--no-symbols", "-q")


def read_pprof(path: Path) -> Pprof:
    message = Pprof()
    message.ParseFromString(gzip.decompress(path.read_bytes()))
    return message


def page_of(path: Path) -> dict[str, Any]:
    """Data of a page of differences."""
    held = re.search(r'<script id="data" type="text/plain">(.*?)</script>', path.read_text(), re.DOTALL)
    assert held is not None
    found: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(held.group(1))))
    return found


def labelled(message: Pprof, key: str) -> dict[str, list[int]]:
    """Sum of values by the text of a label, "" for samples without it."""
    text, sums = message.string_table, dict[str, list[int]]()
    for sample in message.sample:
        found = next((text[label.str] for label in sample.label if text[label.key] == key), "")
        whole = sums.setdefault(found, [0] * len(sample.value))
        sums[found] = [a + b for a, b in zip(whole, sample.value, strict=True)]
    return sums
