"""Recordings of a fleet, and datasets as bytes."""

from dataclasses import replace
from pathlib import Path

from perf2x.fleet import ingest
from perf2x.fleet.ingest import Job, Outcome
from perf2x.storage.dataset.dataset_schema import TABLES
from perf2x.storage.dataset.table_log import read_log
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


def files_of(folder: Path) -> dict[str, bytes]:
    """Every file of a dataset, as the logs of its tables have them."""
    return {
        f"{table}/{name}": (folder / table / name).read_bytes()
        for table in TABLES
        for name in sorted(read_log(folder / table).files)
    }


def ingest_one(source: str, job: Job) -> Outcome:
    """Add one recording, or the row that says why it cannot be read, as the command does."""
    outcome = ingest.ingest_one(source, job)
    ingest.commit_outcomes([outcome], job)
    return outcome
