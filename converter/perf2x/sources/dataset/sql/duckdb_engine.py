"""Runs DuckDB on a dataset: in memory, with tables whose rows pyarrow reads from the dataset's files.

DuckDB opens only its own temporary files: the user's SQL has no access to files, URLs, extensions or settings.

Signals interrupt a running query at once, and exceptions from their handlers are not lost.
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
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from perf2x.base.background_tasks import started
from perf2x.base.files.operating_system import address_space_left
from perf2x.base.files.temporary import private_directory
from perf2x.base.files.unpack_limit import free_space, parse_size
from perf2x.base.students_t import student
from perf2x.errors import FormatError, OptionError, Perf2xError
from perf2x.sources.dataset.dataset_schema import TABLES
from perf2x.sources.dataset.read.dataset_part import DatasetPart
from perf2x.sources.dataset.sql.query_limits import QueryLimits
from perf2x.sources.dataset.sql.table_views import DAMAGED, statements

if TYPE_CHECKING:
    import pyarrow

_MEMORY = 4 << 30
"""Default memory limit of a query in bytes."""
_ERROR = " Error: "
_LEAST = 768 << 20
"""Bytes of address space that DuckDB and other libraries reserve before a row is read; most of it is never used."""
_STUDENT = re.compile("student", re.IGNORECASE)
_NO_MORE = ("enable_external_access = false", "lock_configuration = true")


def _duckdb() -> ModuleType:
    """Import DuckDB. Raises OptionError with installation instructions if it is missing."""
    try:
        module = import_module("duckdb")
    except ModuleNotFoundError:  # any other ImportError may be caused by a lack of memory
        raise OptionError("SQL needs DuckDB: pip install 'perf2x[fleet]'") from None
    atexit.unregister(gc.freeze)  # DuckDB reports all of its classes as leaked if Python does not collect them at exit
    return module


@contextlib.contextmanager
def engine(part: DatasetPart, query: str = "", limits: QueryLimits | None = None) -> Iterator[Any]:
    """Provide a connection with the tables and views of a part of a dataset, ready for the user's SQL.

    Raises FormatError if the dataset is damaged, OptionError for SQL that DuckDB rejects and without DuckDB.
    """
    if part.is_empty:
        part.require()
    root = part.tables.root
    room_left = address_space(root)
    scans = started({table: partial(part.scan, table) for table in TABLES})
    limits, module = limits or QueryLimits(), _duckdb()
    settings = {
        "autoinstall_known_extensions": "false", "autoload_known_extensions": "false",
        "allow_community_extensions": "false", "allow_persistent_secrets": "false",
        "python_enable_replacements": "false",
    }  # fmt: skip
    with private_directory(limits.temp_directory) as temporary, query_errors(root):
        room = max(free_space(str(temporary)), 0)
        settings |= {"temp_directory": str(temporary), "max_temp_directory_size": f"{room}B"}
        if room_left is not None:  # each thread takes some address space
            settings["threads"] = "1"
        connection = module.connect(":memory:", config=settings)
        with contextlib.closing(connection), ended_by_signals(connection):
            memory = _memory(connection, limits)
            memory = memory if room_left is None else min(memory, room_left)
            connection.execute(f"SET memory_limit = '{memory}B'")
            connection.execute("SET enable_progress_bar = false")  # it would go to standard output, among the rows
            _define(connection, part, scans, query)
            connection.execute("SET TimeZone = 'UTC'")
            for setting in _NO_MORE:
                connection.execute(f"SET {setting}")
            yield connection


def arrow_table(found: Any) -> "pyarrow.Table":
    """Return a query's rows as one Arrow table."""
    table: pyarrow.Table = found.to_arrow_table()
    return table.combine_chunks()


def address_space(root: str) -> int | None:
    """Return the bytes that DuckDB may use if address space is limited (ulimit -v); None without a limit.

    The limit matters because DuckDB, Arrow and the C library abort the process when an allocation fails. Raises
    Perf2xError if there is too little to start.
    """
    left = address_space_left()
    if left is not None and left < _LEAST:
        raise Perf2xError(f"{root}: not enough memory for a query (ulimit -v)")
    return None if left is None else (left - _LEAST) // 2 + (64 << 20)


def _memory(connection: Any, limits: QueryLimits) -> int:
    """Return the memory limit of a query in bytes; by default half of the memory, but at most _MEMORY.

    DuckDB's own default, from which the half is computed, is four fifths of the memory.
    """
    ((own,),) = connection.execute("SELECT current_setting('memory_limit')").fetchall()
    return limits.memory_limit or min(_MEMORY, parse_size(own) * 5 // 8)


@contextlib.contextmanager
def query_errors(root: str) -> Iterator[None]:
    """Convert an error of DuckDB to one sentence.

    Raises FormatError for an error in the dataset's files, OptionError for one in the SQL, Perf2xError for a lack of
    memory or disk space.
    """
    module = _duckdb()
    try:
        yield
    except module.InterruptException:  # by a signal, whose handler's exception is raised after the query
        raise
    except module.OutOfMemoryException:
        raise _shortage(root) from None
    except module.PermissionException as error:
        raise OptionError(f"SQL: {_sentence(error)}; a query can read only its dataset") from None
    except UnicodeDecodeError:  # DuckDB quotes the text in its error
        raise FormatError(f"{root}: damaged: a text is not UTF-8") from None
    except module.Error as error:
        if os.strerror(errno.ENOSPC) in str(error):
            raise _shortage(root) from None
        message = _sentence(error)
        if (
            _ERROR not in str(error) or message.startswith(DAMAGED) or "registered as 'stored_" in message
        ):  # in the dataset's files
            raise FormatError(f"{root}: damaged: {message.removeprefix(DAMAGED)}") from None
        raise OptionError(f"SQL: {message}") from None


def _shortage(root: str) -> Perf2xError:
    return Perf2xError(f"{root}: not enough memory for this query, or not enough room for its temporary files")


def _sentence(error: Exception) -> str:
    """Return the message without DuckDB's kind of error and without the lines that point into the query."""
    text = str(error).partition("\n\nLINE")[0]
    return " ".join((text.partition(_ERROR)[2] or text).split())


def _define(connection: Any, part: DatasetPart, scans: Mapping[str, Callable[[], Any]], sql: str) -> None:
    """Define tables and views on the files that may have rows of the part's recordings."""
    for table, scan in scans.items():
        connection.register(f"stored_{table}", scan())
    tags = sorted({key for row in part.rows for key in row.tags})
    for statement in statements(part.columns, tags):
        connection.execute(statement)
    if _STUDENT.search(sql):
        connection.create_function("student", student, ["DOUBLE", "BIGINT", "BIGINT"], "DOUBLE")


@contextlib.contextmanager
def ended_by_signals(connection: Any) -> Iterator[None]:
    """Let signals interrupt the queries of a connection; exceptions from their handlers leave the block.

    DuckDB checks for signals between steps, which may take minutes, and replaces a handler's exception by its own. So a
    thread waits for signals, which Python writes to a socket as they arrive.
    """
    if threading.current_thread() is not threading.main_thread():  # only the main thread gets signals
        yield
        return
    seen: list[int] = []
    try:
        with _watched(connection, seen):
            yield
    except Exception:
        if seen:  # the signal's handler raised, or would have; call it once more for its exception
            signal.raise_signal(seen[0])
        raise


@contextlib.contextmanager
def _watched(connection: Any, seen: list[int]) -> Iterator[None]:
    """Interrupt a connection's query whenever a signal arrives, and add the signal's number to ``seen``."""
    ours, signals = socket.socketpair()
    signals.setblocking(False)

    def watch() -> None:
        with ours:
            while number := ours.recv(1):
                seen.append(number[0])
                connection.interrupt()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    with contextlib.ExitStack() as stack:
        stack.callback(thread.join)
        stack.callback(signals.close)  # which ends the thread
        before = signal.set_wakeup_fd(signals.fileno(), warn_on_full_buffer=False)
        stack.callback(_listen_again, signals.fileno(), before)
        yield


def _listen_again(ours: int, before: int) -> None:
    """Restore the previous wakeup descriptor, unless another one is set by now: blocks may end in any order."""
    now = signal.set_wakeup_fd(-1)
    with contextlib.suppress(OSError, ValueError):  # that block has ended
        signal.set_wakeup_fd(before if now == ours else now)
