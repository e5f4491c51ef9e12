"""Tables of a dataset: names, columns and types, the version of all of it, and the files that hold them.

docs/parquet.md describes them for readers; ``SCHEMA`` changes whenever a column is added, removed or means another
thing. Readers refuse files of another schema.
"""

import os
from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from perf2x.base.errors import OptionError

if TYPE_CHECKING:
    import pyarrow

SCHEMA = 3
"""Version of the tables, in the metadata of every file."""
VERSION_KEY, TABLE_KEY = b"perf2x.schema", b"perf2x.table"
SUFFIX = ".parquet"
LOG = "_delta_log"
DATE = "date"
"""The last of the columns that name folders; those before it are tags."""

_NAMES = {
    "function": "text", "system_name": "text", "file": "text", "line": "i32", "start_line": "i32", "is_exact": "bool",
    "has_inlines": "bool",
}  # fmt: skip
COLUMNS: Mapping[str, Mapping[str, str]] = {
    "symbols": {
        "object_id": "text", "file_offset": "i64", "mode": "text", "is_return": "bool", "variant": "i32",
        "depth": "i32", **_NAMES, "reason": "text",
    },
    "nodes": {"recording": "text", "node": "i32", "parent": "i32?", "place": "i32"},
    "places": {
        "recording": "text", "place": "i32", "object_id": "text", "build_id": "text", "file": "text",
        "file_offset": "i64", "mode": "text", "is_return": "bool", "variant": "i32", "is_local": "bool",
    },
    "lines": {"recording": "text", "place": "i32", "depth": "i32", **_NAMES},
    "mappings": {
        "recording": "text", "mapping": "i32", "object_id": "text", "start": "i64", "limit": "i64",
        "file_offset": "i64", "file": "text", "build_id": "text", "pid": "i32", "is_kernel": "bool",
        "looked_up": "bool",
    },
    "samples": {
        "recording": "text", "event": "text", "unit": "text", "event_number": "i32", "comm": "text",
        "process": "text", "pid": "i32", "tid": "i32", "cgroup": "text?", "stack": "i32?", "value": "i64",
        "count": "i64", "time_ns": "i64?", "cpu": "i32?",
    },
    "recordings": {
        "recording": "text", "source": "text", "host": "text", "start_ns": "i64?", "duration_ns": "i64",
        "arch": "text", "kernel": "text", "cmdline": "texts", "samples": "i64", "lost": "i64",
        "deferred_missing": "i64", "tags": "tags", "error": "text?", "kernel_build_id": "text",
        "perf_version": "text", "cpus": "i32", "clock_start_ns": "i64", "is_timeline": "bool",
        "default_event": "i32", "events": "events", "facts": "text", "session": "text?", "unfinished": "bool",
        "missing_bytes": "i64?",
    },
}  # fmt: skip
TABLES = tuple(COLUMNS)
"""In the order in which they are committed: whatever a table refers to comes before it, recordings last."""
PARTITIONED = TABLES[1:]
"""Tables whose rows are of recordings; their files lie in folders named by tags and the day."""
SORTED_BY: Mapping[str, tuple[str, ...]] = {
    "symbols": ("object_id", "file_offset", "mode", "is_return", "variant", "depth"),
    "nodes": ("recording", "node"),
    "places": ("recording", "place"),
    "lines": ("recording", "place", "depth"),
    "mappings": ("recording", "mapping"),
    "samples": ("recording",),
    "recordings": ("recording",),
}


def arrow() -> ModuleType:
    """Import pyarrow; OptionError says how to install it."""
    # its own allocator reserves a gigabyte of address space, and keeps from others what it frees
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    try:
        return import_module("pyarrow")
    except ModuleNotFoundError:
        raise OptionError("datasets need pyarrow: pip install 'perf2x[fleet]'") from None


def schema_of(table: str) -> "pyarrow.Schema":
    """Columns of a table, with the version in its metadata."""
    pa = arrow()
    fields = [pa.field(name, _type(kind.rstrip("?")), kind.endswith("?")) for name, kind in COLUMNS[table].items()]
    return pa.schema(fields, {VERSION_KEY: str(SCHEMA).encode(), TABLE_KEY: table.encode()})


def texts_of(table: str) -> tuple[str, ...]:
    """Columns of texts, whose values repeat: they are dictionary-encoded."""
    return tuple(name for name, kind in COLUMNS[table].items() if kind.rstrip("?") == "text")


def _type(kind: str) -> Any:
    pa = arrow()
    plain = {
        "text": pa.string(), "bool": pa.bool_(), "i32": pa.int32(), "i64": pa.int64(),
        "texts": pa.list_(pa.string()), "tags": pa.map_(pa.string(), pa.string()),
    }  # fmt: skip
    event = {"name": pa.string(), "unit": pa.string(), "period": pa.int64(), "frequency": pa.int64(),
             "is_wait": pa.bool_(), "leader": pa.int32()}  # fmt: skip
    return plain[kind] if kind in plain else pa.list_(pa.struct(list(event.items())))
