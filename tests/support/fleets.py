"""Recordings of a fleet."""

from dataclasses import replace
from pathlib import Path

from tests import forge
from tests.forge import kernel as k
from tests.support.extremes import EVENT, SAMPLE, STAMP

ONE = forge.Session((EVENT,))


def recording_of(number: int, samples: int = 40) -> bytes:
    """A recording of a host of its own, most of whose stacks others have, too."""
    records: list[forge.Record] = [forge.Mmap(pid=10, tid=10, addr=0x1000, len=0x10000, filename="/bin/x", stamp=STAMP)]
    records += [
        replace(SAMPLE, time=row, period=1 + number, chain=(k.CONTEXT_USER, 0x1000 + row, 0x2000 + row % (3 + number)))
        for row in range(samples)
    ]
    return forge.write_file(replace(ONE, features=forge.Features(hostname=f"host{number}")), records)


def write_fleet(place: Path, count: int) -> list[Path]:
    """So many recordings in a folder; every seventh is no recording."""
    place.mkdir()
    paths = [place / f"{number:03}.data" for number in range(count)]
    for number, path in enumerate(paths):
        path.write_bytes(b"no recording" + bytes([number]) if number % 7 == 3 else recording_of(number))
    return paths
