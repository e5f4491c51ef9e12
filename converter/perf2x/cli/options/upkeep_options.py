"""Parameters of commands that keep a dataset in order."""

import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perf2x.base.errors import FormatError, OptionError

if TYPE_CHECKING:
    from perf2x.storage.dataset.dataset_folder import Storage

Folder = Annotated[str, typer.Argument(metavar="DATASET", help="A folder, or an address (s3://…).")]

_AGE = re.compile(r"(\d{1,6})([smhdw])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 24 * 3600, "w": 7 * 24 * 3600}


def parse_age(option: str, age: str, examples: str) -> int:
    """Parse an age, a number of the units that ``examples`` has, to nanoseconds; OptionError."""
    found = _AGE.fullmatch(age)
    if found is None or f"0{found[2]}" not in re.sub(r"\d+", "0", examples):
        raise OptionError(f"{option}: {age!r} is not an age; write {examples}")
    return int(found[1]) * _SECONDS[found[2]] * 10**9


def parse_before(age: str, now_ns: int) -> int:
    """Parse ``--older-than``: the time so many hours, days or weeks before now, in nanoseconds; OptionError.

    Whoever writes 3m may mean months, and what is older is removed.
    """
    return now_ns - parse_age("--older-than", age, "12h, 30d or 8w")


def now() -> int:
    """Nanoseconds since the epoch."""
    return time.time_ns()


def find_chosen(name: str) -> "tuple[Storage, Mapping[str, str]]":
    """Find a dataset and the tags behind its name; OptionError for what is no tag."""
    from perf2x.base.files.remote import is_address
    from perf2x.storage.dataset.dataset_address import parse_address

    address = parse_address(name)
    return find_dataset(name.partition("?")[0] if is_address(name) else str(address.folder)), address.tags


def find_dataset(name: str) -> "Storage":
    """Find a dataset; FormatError where there is none."""
    from perf2x.storage.dataset.dataset_folder import storage_at
    from perf2x.storage.dataset.listed_files import no_dataset

    storage = storage_at(name)
    if storage.log("recordings").version < 0:
        raise FormatError(no_dataset(Path(name)).removesuffix(" (docs/parquet.md)"))
    return storage
