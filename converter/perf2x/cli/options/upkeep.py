"""Parameters of commands that keep a dataset in order."""

import re
import time
from typing import TYPE_CHECKING, Annotated

import typer

from perf2x.tables.errors import FormatError, OptionError

if TYPE_CHECKING:
    from perf2x.dataset.storage import Storage

Folder = Annotated[str, typer.Argument(metavar="DATASET", help="A folder, or an address (s3://…).")]

_AGE = re.compile(r"(\d{1,6})([hdw])")
_HOURS = {"h": 1, "d": 24, "w": 7 * 24}


def parse_before(age: str, now_ns: int) -> int:
    """Parse ``--older-than``: the time so many hours, days or weeks before now, in nanoseconds; OptionError."""
    found = _AGE.fullmatch(age)
    if found is None:
        raise OptionError(f"--older-than: {age!r} is no age; write 12h, 30d or 8w")
    return now_ns - int(found[1]) * _HOURS[found[2]] * 3600 * 10**9


def now() -> int:
    """Nanoseconds since the epoch."""
    return time.time_ns()


def find_dataset(name: str) -> "Storage":
    """Find a dataset; FormatError where there is none."""
    from perf2x.dataset.storage import storage_at

    storage = storage_at(name)
    if not storage.files("recordings"):
        raise FormatError(f"{name}: no dataset: it has no table of recordings")
    return storage
