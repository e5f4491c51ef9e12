"""Defines the tables of a dataset: names, columns, types, and the version of this schema.

docs/parquet.md describes what the tables hold. ``_VERSION`` changes when a column is added, removed, or changes its
meaning. Each table's description has it, which OPTIMIZE and other tools preserve.
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
# the day of the recording is the last partition column, after tags
DATE = "date"
# lines of a place are functions, the innermost inlined one first
LINE_FIELDS = ("function", "system_name", "file", "line", "start_line")
# of a row: its recording, and the attempt that wrote it
ATTEMPT_COLUMNS = ("recording", "attempt")
_ATTEMPT_TYPES = dict.fromkeys(ATTEMPT_COLUMNS, "text")
_NAME_COLUMNS = {"lines": "lines", "is_exact": "bool", "has_inlines": "bool"}
# columns of the table of mappings → fields of a profile's Mappings
MAPPING_NUMBERS = {"start": "start", "limit": "limit", "file_offset": "offset", "pid": "pid", "is_kernel": "is_kernel"}
MAPPING_STRINGS = {"file": "filename", "build_id": "build_id"}
# columns of the table of recordings → fields of a profile's Meta
META_FIELDS = {
    "source": "source", "host": "hostname", "start_ns": "wall_start_ns", "duration_ns": "duration_ns", "arch": "arch",
    "kernel": "os_release", "cmdline": "command_line", "perf_version": "perf_version", "cpus": "cpus",
    "clock_start_ns": "start_ns",
}  # fmt: skip
_KEY_COLUMNS = {"object_id": "text", "file_offset": "i64", "mode": "text", "is_return": "bool", "variant": "i32"}
KEY = tuple(_KEY_COLUMNS)
# types are those of ``_type``; a question mark allows null
COLUMNS: Mapping[str, Mapping[str, str]] = {
    "symbols": {
        **_KEY_COLUMNS, **_NAME_COLUMNS, "reason": "text",
    },
    "stacks": {**_ATTEMPT_TYPES, "stack": "i32", "places": "numbers"},
    "places": {
        **_ATTEMPT_TYPES, "place": "i32", "mapping": "i32?", "object_id": "text", "build_id": "text", "file": "text",
        **_KEY_COLUMNS, "is_local": "bool", **_NAME_COLUMNS,
        "lines": "lines?",  # may be null here; a repeated key, as object_id above, keeps its first position
    },
    "mappings": {
        **_ATTEMPT_TYPES, "mapping": "i32", "object_id": "text", "base": "i64", "variant": "i32", "is_local": "bool",
        "start": "i64", "limit": "i64", "file_offset": "i64", "file": "text", "build_id": "text", "pid": "i32",
        "is_kernel": "bool", "looked_up": "bool",
    },
    "samples": {
        **_ATTEMPT_TYPES, "event": "text", "unit": "text", "event_number": "i32", "comm": "text", "process": "text",
        "pid": "i32", "tid": "i32", "cgroup": "text?", "stack": "i32?", "value": "i64", "count": "i64",
        "time_ns": "i64?", "cpu": "i32?",
    },
    "recordings": {
        **_ATTEMPT_TYPES, "source": "text", "host": "text", "start_ns": "i64?", "duration_ns": "i64", "arch": "text",
        "kernel": "text", "cmdline": "texts", "samples": "i64", "lost": "i64", "deferred_missing": "i64",
        "tags": "tags", "error": "text?", "kernel_build_id": "text", "perf_version": "text", "cpus": "i32",
        "clock_start_ns": "i64", "is_timeline": "bool", "default_event": "i32", "events": "events", "facts": "text",
        "session": "text?", "unfinished": "bool", "missing_bytes": "i64?",
    },
}  # fmt: skip
# in the order of writing: a table comes after those to which its rows refer
TABLES = tuple(COLUMNS)
# partitioned by tags and the day
RECORDING_TABLES = TABLES[1:]


def day_of(start_ns: int | None) -> str:
    """Return the day (UTC) of a time in nanoseconds since the epoch, as 2026-01-31; "" if unknown."""
    return datetime.fromtimestamp(start_ns // 10**9, UTC).strftime("%Y-%m-%d") if start_ns else ""


def description(table: str) -> str:
    """Return the description of a table, with the version of the schema."""
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
    """Return the Arrow schema of a table: its columns, then its partition columns."""
    pa = arrow()
    fields = [pa.field(name, _type(kind.rstrip("?")), kind.endswith("?")) for name, kind in COLUMNS[table].items()]
    return pa.schema([*fields, *(pa.field(name, pa.string()) for name in partition)])


def _type(kind: str) -> Any:
    pa = arrow()
    text, i32 = pa.string(), pa.int32()
    structs = {
        "lines": dict(zip(LINE_FIELDS, (text, text, text, i32, i32), strict=True)),
        "events": {"name": text, "unit": text, "period": pa.int64(), "frequency": pa.int64(), "is_wait": pa.bool_(),
                   "leader": i32},
    }  # fmt: skip
    simple_types = {
        "text": text, "bool": pa.bool_(), "i32": i32, "i64": pa.int64(), "texts": pa.list_(text),
        "numbers": pa.list_(i32), "tags": pa.map_(text, text),
    }  # fmt: skip
    return simple_types[kind] if kind in simple_types else pa.list_(pa.struct(list(structs[kind].items())))
