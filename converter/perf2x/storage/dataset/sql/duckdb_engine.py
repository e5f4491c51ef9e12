"""DuckDB on a dataset: a database in memory whose tables are the dataset's files.

It reads nothing but the dataset and writes no file but its own temporary ones: files of others, addresses, extensions
and settings are out of reach of the SQL that runs in it.

Signals while DuckDB works end its query at once, and what their handlers raise is not lost.
"""

import atexit
import contextlib
import errno
import gc
import os
import re
import signal
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from posixpath import dirname
from types import ModuleType
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from perf2x.base.errors import DamagedFileError, OptionError, Perf2xError
from perf2x.base.files.operating_system import address_space_left
from perf2x.base.files.temporary import private_directory
from perf2x.base.files.unpack_limit import free_space, parse_size
from perf2x.base.student import student
from perf2x.storage.dataset.dataset_schema import PARTITIONED, TABLES, arrow
from perf2x.storage.dataset.listed_files import Listing
from perf2x.storage.dataset.parquet_files import check_file
from perf2x.storage.dataset.sql.asked_rows import Condition, asked_rows, select
from perf2x.storage.dataset.sql.function_costs import define_costs
from perf2x.storage.dataset.sql.table_views import added_statements, as_pattern, quoted, table_view, view_statements

if TYPE_CHECKING:
    import pyarrow

MEMORY = 4 << 30
"""Bytes that a query may take unless it is told another number."""
_ERROR = " Error: "
_LEAST = 768 << 20
"""Bytes of address space that libraries take, and DuckDB before it has read a row; most of it is never used."""
_STACKS = r"frames|stacks|by_function|\bnames\b|stack_|query"
_NAMED = {
    table: re.compile(rf"{words}|query|parquet|{_STACKS}", re.IGNORECASE)
    for table, words in {
        "nodes": "nodes", "places": r"places|\bfunctions\b", "lines": r"lines|\bfunctions\b",
        "symbols": r"symbols|\bfunctions\b", "mappings": "mappings", "samples": "sample", "recordings": "",
    }.items()
}  # fmt: skip
"""How SQL names what is made of a table; ``query``, too: that runs what is put together."""
_SYMBOLS = re.compile("symbols|query|parquet", re.IGNORECASE)
"""SQL that shows names of objects, whether or not a recording has them."""
_OBJECTS = "SELECT DISTINCT object_id FROM places"
_COSTS = re.compile("by_function|query", re.IGNORECASE)
_STUDENT = re.compile("student", re.IGNORECASE)
_NO_MORE = ("enable_external_access = false", "lock_configuration = true")


def duckdb() -> ModuleType:
    """Import DuckDB; OptionError says how to install it."""
    try:
        module = import_module("duckdb")
    except ModuleNotFoundError:  # another ImportError may be a lack of memory
        raise OptionError("SQL needs DuckDB: pip install 'perf2x[fleet]'") from None
    atexit.unregister(gc.freeze)  # it lists all of its classes as leaked where Python does not collect them at exit
    return module


class Limits(Struct, frozen=True):
    """Memory that a query may take, and where it puts what has no room there."""

    memory: int | None = None
    """Bytes; None: MEMORY, at most half of what the machine or its container has."""
    temporary: Path | None = None
    """A folder; None: that of temporary files."""


@contextlib.contextmanager
def engine(
    folder: Path,
    asked: str = "",
    limits: Limits | None = None,
    tags: Mapping[str, str] | None = None,
    files: Listing | None = None,
) -> Iterator[Any]:
    """Give a connection with the tables and views of the dataset in ``folder``, ready for the SQL that will be asked.

    ``tags``: recordings have these. Of ``files``, those of the dataset, those are left out that cannot have rows that
    are asked for. FormatError when it is no dataset or damaged, OptionError for what DuckDB says about SQL and without
    DuckDB.
    """
    address_space = _address_space(folder)
    files, limits = files or Listing(folder, tags), limits or Limits()
    module = duckdb()
    settings = {
        "autoinstall_known_extensions": "false", "autoload_known_extensions": "false",
        "allow_community_extensions": "false", "allow_persistent_secrets": "false",
        "python_enable_replacements": "false",
    }  # fmt: skip
    with private_directory(limits.temporary) as temporary, told_apart(folder):
        room = max(free_space(str(temporary)), 0)
        settings |= {"temp_directory": str(temporary), "max_temp_directory_size": f"{room}B"}
        if address_space is not None:  # each thread takes some
            settings["threads"] = "1"
        connection = module.connect(":memory:", config=settings)
        with contextlib.closing(connection), ended_by_signals(connection):
            memory = _memory(connection, limits)
            memory = memory if address_space is None else min(memory, address_space)
            connection.execute(f"SET memory_limit = '{memory}B'")
            _define(connection, files, asked, tags or {})
            connection.execute("SET TimeZone = 'UTC'")
            readable = (quoted(f"{name}/") for name in (files.folder, as_pattern(files.folder)))
            connection.execute(f"SET allowed_directories = [{', '.join(readable)}]")
            for setting in _NO_MORE:
                connection.execute(f"SET {setting}")
            yield connection


def arrow_table(found: Any) -> "pyarrow.Table":
    """Rows of an answer as one table of Arrow's."""
    table: pyarrow.Table = found.to_arrow_table()
    return table.combine_chunks()


def _address_space(folder: Path) -> int | None:
    """Bytes that DuckDB may take where address space is limited (ulimit -v); None: it is not.

    DuckDB, Arrow and the C library end the process where an allocation fails. Perf2xError when there is too little to
    begin.
    """
    left = address_space_left()
    if left is not None and left < _LEAST:
        raise Perf2xError(f"{folder}: not enough memory for a query (ulimit -v)")
    return None if left is None else (left - _LEAST) // 2 + (64 << 20)


def _memory(connection: Any, limits: Limits) -> int:
    """Bytes that a query may take. DuckDB's own limit is four fifths of the memory that there is."""
    ((own,),) = connection.execute("SELECT current_setting('memory_limit')").fetchall()
    return limits.memory or min(MEMORY, parse_size(own) * 5 // 8)


@contextlib.contextmanager
def told_apart(folder: Path) -> Iterator[None]:
    """Turn an error of DuckDB into one sentence: DamagedFileError for the dataset's files, OptionError for the SQL."""
    module = duckdb()
    try:
        yield
    except module.InterruptException:  # by a signal, which is told of behind the query
        raise
    except module.OutOfMemoryException:
        raise _shortage(folder) from None
    except module.PermissionException as error:
        raise OptionError(f"SQL: {_sentence(error)}; a query can read only its dataset") from None
    except UnicodeDecodeError:  # DuckDB quotes the text in its error
        raise DamagedFileError(f"{folder}: damaged: a text is not UTF-8") from None
    except module.Error as error:
        if os.strerror(errno.ENOSPC) in str(error):
            raise _shortage(folder) from None
        of_file = str(folder.absolute()) in str(error) or "Parquet file" in str(error)
        if of_file or _ERROR not in str(error):  # what Parquet's reader says has no kind
            raise DamagedFileError(f"{folder}: damaged: {_sentence(error)}") from None
        raise OptionError(f"SQL: {_sentence(error)}") from None


def _shortage(folder: Path) -> Perf2xError:
    return Perf2xError(f"{folder}: not enough memory for this query, or not enough room for its temporary files")


def _sentence(error: Exception) -> str:
    """The message without DuckDB's kind of error and without the lines that point into the query."""
    text = str(error).partition("\n\nLINE")[0]
    return " ".join((text.partition(_ERROR)[2] or text).split())


def _define(connection: Any, files: Listing, sql: str, tags: Mapping[str, str]) -> None:
    """Make tables and views of those files that can have what SQL asks for; they are here and checked by then."""
    asked = asked_rows(connection, sql, files.partition)
    _choose_folders(connection, files, asked.conditions)
    files.check("recordings")
    _check_first(files, "recordings")
    for statement in added_statements(files, tags):
        connection.execute(statement)
    is_part = _choose_recordings(connection, files, asked.conditions) or bool(tags)
    for table in reversed(TABLES):  # symbols last: the objects are known by then
        if _NAMED[table].search(asked.names):
            if table == "symbols" and is_part and not _SYMBOLS.search(asked.names):
                files.keep_objects(one for (one,) in connection.execute(_OBJECTS).fetchall())
            files.check(table)
        _check_first(files, table)
        connection.execute(table_view(files, table))
    for statement in view_statements(files):
        connection.execute(statement)
    if _COSTS.search(asked.names):
        define_costs(connection, files.folder)
    if _STUDENT.search(sql):
        connection.create_function("student", student, ["DOUBLE", "BIGINT", "BIGINT"], "DOUBLE")


def _choose_folders(connection: Any, files: Listing, conditions: Sequence[Condition]) -> None:
    """Leave out files in folders whose names alone say that they have no row that is asked for."""
    known = [one for one in conditions if one.columns <= {*files.partition}]
    folders = {dirname(name): file.parts for table in PARTITIONED for name, file in files.files[table].items()}
    if known and folders:
        columns = {key: arrow().array([one.get(key) for one in folders.values()], arrow().string())
                   for key in files.partition}  # fmt: skip
        connection.register("folders", arrow().table(columns | {"below": list(folders)}))
        with contextlib.suppress(duckdb().Error):  # whoever runs the statement says so
            found = connection.execute(select(connection, "below", "folders", known)).fetchall()
            files.keep_folders({folder for (folder,) in found})
        connection.unregister("folders")


def _choose_recordings(connection: Any, files: Listing, conditions: Sequence[Condition]) -> bool:
    """Make the table of recordings whose rows are read; returns whether conditions choose some."""
    module, made = duckdb(), "CREATE TEMP TABLE wanted AS "
    try:
        connection.execute(made + select(connection, "recording, below, error", "added", conditions))
    except module.Error:  # whoever runs the statement says so
        conditions = ()
        connection.execute(made + select(connection, "recording, below, error", "added", conditions))
    files.keep_recordings(connection.execute("SELECT recording, trim(below, '/') FROM wanted").fetchall())
    return bool(conditions)


def _check_first(files: Listing, table: str) -> None:
    for first in files.here(table)[:1]:
        check_file(files.folder / table / first, table)


@contextlib.contextmanager
def ended_by_signals(connection: Any) -> Iterator[None]:
    """Let signals end the queries of a connection: what their handlers raise leaves the block.

    DuckDB looks for signals between steps, which may take minutes, and has an error of its own for what a handler
    raised. So a thread waits for signals, which Python writes to a socket as they come.
    """
    if threading.current_thread() is not threading.main_thread():  # signals are the main thread's
        yield
        return
    seen: list[int] = []
    try:
        with _watched(connection, seen):
            yield
    except Exception:
        if seen:  # its handler raised, or would have
            signal.raise_signal(seen[0])
        raise


@contextlib.contextmanager
def _watched(connection: Any, seen: list[int]) -> Iterator[None]:
    ours, told = socket.socketpair()
    told.setblocking(False)

    def watch() -> None:
        with ours:
            while number := ours.recv(1):
                seen.append(number[0])
                connection.interrupt()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    with contextlib.ExitStack() as stack:
        stack.callback(thread.join)
        stack.callback(told.close)  # which ends the thread
        before = signal.set_wakeup_fd(told.fileno(), warn_on_full_buffer=False)
        stack.callback(_listen_again, told.fileno(), before)
        yield


def _listen_again(ours: int, before: int) -> None:
    """Tell whoever was told before of signals, unless another one is told by now: blocks end in any order."""
    now = signal.set_wakeup_fd(-1)
    with contextlib.suppress(OSError, ValueError):  # that block has ended
        signal.set_wakeup_fd(before if now == ours else now)
