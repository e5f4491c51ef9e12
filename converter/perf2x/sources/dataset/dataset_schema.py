"""Tables of a dataset: names, columns and types, and the schema's version.

docs/parquet.md describes them for readers. ``_VERSION`` changes whenever a column is added, removed or changes meaning.
The version is in the description of each table, which OPTIMIZE and other tools preserve.
"""

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from perf2x.errors import OptionError

if TYPE_CHECKING:
    import pyarrow

_VERSION = 4
DATE = "date"
"""The last partition column of tables; the partition columns before it are tags."""
LINE = ("function", "system_name", "file", "line", "start_line")
"""Fields of a line: a function at a place, the innermost inlined one first."""
OF_ATTEMPT = ("recording", "attempt")
"""Columns that identify a row's recording, and the attempt that added it."""
_OF_RECORDING = dict.fromkeys(OF_ATTEMPT, "text")
_NAMES = {"lines": "lines", "is_exact": "bool", "has_inlines": "bool"}
MAPPINGS = {"start": "start", "limit": "limit", "file_offset": "offset", "pid": "pid", "is_kernel": "is_kernel"}
MAPPING_TEXTS = {"file": "filename", "build_id": "build_id"}
"""Text columns of the table of mappings, with the field of a profile's Mappings that each one stores."""
META = {
    "source": "source", "host": "hostname", "start_ns": "wall_start_ns", "duration_ns": "duration_ns", "arch": "arch",
    "kernel": "os_release", "cmdline": "command_line", "perf_version": "perf_version", "cpus": "cpus",
    "clock_start_ns": "start_ns",
}  # fmt: skip
"""Columns of the table of recordings, with the field of a profile's Meta that each one stores."""
_PLACE = {"object_id": "text", "file_offset": "i64", "mode": "text", "is_return": "bool", "variant": "i32"}
KEY = tuple(_PLACE)
"""Columns that identify a place in all recordings."""
COLUMNS: Mapping[str, Mapping[str, str]] = {
    "symbols": {
        **_PLACE, **_NAMES, "reason": "text",
    },
    "stacks": {**_OF_RECORDING, "stack": "i32", "places": "numbers"},
    "places": {
        **_OF_RECORDING, "place": "i32", "mapping": "i32?", "object_id": "text", "build_id": "text", "file": "text",
        **_PLACE, "is_local": "bool", **_NAMES, "lines": "lines?",  # object_id of _PLACE keeps its first place
    },
    "mappings": {
        **_OF_RECORDING, "mapping": "i32", "object_id": "text", "base": "i64", "variant": "i32", "is_local": "bool",
        "start": "i64", "limit": "i64", "file_offset": "i64", "file": "text", "build_id": "text", "pid": "i32",
        "is_kernel": "bool", "looked_up": "bool",
    },
    "samples": {
        **_OF_RECORDING, "event": "text", "unit": "text", "event_number": "i32", "comm": "text", "process": "text",
        "pid": "i32", "tid": "i32", "cgroup": "text?", "stack": "i32?", "value": "i64", "count": "i64",
        "time_ns": "i64?", "cpu": "i32?",
    },
    "recordings": {
        **_OF_RECORDING, "source": "text", "host": "text", "start_ns": "i64?", "duration_ns": "i64", "arch": "text",
        "kernel": "text", "cmdline": "texts", "samples": "i64", "lost": "i64", "deferred_missing": "i64",
        "tags": "tags", "error": "text?", "kernel_build_id": "text", "perf_version": "text", "cpus": "i32",
        "clock_start_ns": "i64", "is_timeline": "bool", "default_event": "i32", "events": "events", "facts": "text",
        "session": "text?", "unfinished": "bool", "missing_bytes": "i64?",
    },
}  # fmt: skip
TABLES = tuple(COLUMNS)
"""Names in the order of writing: a table comes after all tables to which its rows refer, and recordings come last."""
OF_RECORDINGS = TABLES[1:]
"""Tables whose rows belong to one recording each; they are partitioned by tags and the day."""


def date_of(start_ns: int | None) -> str:
    """Return the day of a start in UTC, "" if unknown."""
    return datetime.fromtimestamp(start_ns // 10**9, UTC).strftime("%Y-%m-%d") if start_ns else ""


def description(table: str) -> str:
    """Return the text of a table's description."""
    return f"perf2x dataset, version {_VERSION}: {table}"


def arrow() -> ModuleType:
    """Import pyarrow. Raises OptionError with installation instructions if it is missing."""
    # its own allocator reserves a gigabyte of address space, and does not release freed memory
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    try:
        return import_module("pyarrow")
    except ModuleNotFoundError:
        raise OptionError("datasets need pyarrow: pip install 'perf2x[fleet]'") from None


@lru_cache
def schema_of(table: str, partition: tuple[str, ...] = ()) -> "pyarrow.Schema":
    """Return the columns of a table, followed by its partition columns."""
    pa = arrow()
    fields = [pa.field(name, _type(kind.rstrip("?")), kind.endswith("?")) for name, kind in COLUMNS[table].items()]
    return pa.schema([*fields, *(pa.field(name, pa.string()) for name in partition)])


def _type(kind: str) -> Any:
    pa = arrow()
    text, whole = pa.string(), pa.int32()
    structs = {
        "lines": dict(zip(LINE, (text, text, text, whole, whole), strict=True)),
        "events": {"name": text, "unit": text, "period": pa.int64(), "frequency": pa.int64(), "is_wait": pa.bool_(),
                   "leader": whole},
    }  # fmt: skip
    plain = {
        "text": text, "bool": pa.bool_(), "i32": whole, "i64": pa.int64(), "texts": pa.list_(text),
        "numbers": pa.list_(whole), "tags": pa.map_(text, text),
    }  # fmt: skip
    return plain[kind] if kind in plain else pa.list_(pa.struct(list(structs[kind].items())))
