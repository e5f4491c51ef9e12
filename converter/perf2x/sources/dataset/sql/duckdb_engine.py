"""Runs SQL on a dataset in DuckDB: an in-memory database, whose tables pyarrow reads from the dataset's files.

The SQL may come from an untrusted user. It cannot read files or URLs, load extensions or change settings.
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

from perf2x.base.background_tasks import start_tasks
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

_MAX_DEFAULT_MEMORY = 4 << 30
"""Largest default memory limit of a query, in bytes; small machines have less."""
_AFTER_KIND = " Error: "  # follows the kind of error in DuckDB's messages
_RESERVED_SPACE = 768 << 20
"""Bytes of address space that DuckDB and other libraries reserve before they read a row; they use little of it."""
_CALLS_STUDENT = re.compile("student", re.IGNORECASE)
# the user's SQL cannot undo these
_LOCKDOWN = ("enable_external_access = false", "lock_configuration = true")


def _duckdb() -> ModuleType:
    try:
        module = import_module("duckdb")
    except ModuleNotFoundError:  # any other ImportError may be caused by a lack of memory
        raise OptionError("SQL needs DuckDB: pip install 'perf2x[fleet]'") from None
    # the command line tool keeps Python from collecting objects at exit; DuckDB would report all its classes as leaked
    atexit.unregister(gc.freeze)
    return module


@contextlib.contextmanager
def engine(part: DatasetPart, query: str = "", limits: QueryLimits | None = None) -> Iterator[Any]:
    """Provide a connection with the tables and views of a part of a dataset, ready for the user's ``query``.

    Errors in the ``with`` block are converted as in ``query_errors``. Raises FormatError if the dataset is damaged,
    OptionError if DuckDB rejects the SQL or is not installed, Perf2xError if memory or disk space is short.
    """
    if part.is_empty:
        part.require_recordings()  # raises the error
    root = part.tables.root
    space_limit = address_space(root)
    scans = start_tasks({table: partial(part.scan, table) for table in TABLES})
    limits, module = limits or QueryLimits(), _duckdb()
    settings = {
        "autoinstall_known_extensions": "false", "autoload_known_extensions": "false",
        "allow_community_extensions": "false", "allow_persistent_secrets": "false",
        "python_enable_replacements": "false",
    }  # fmt: skip
    with private_directory(limits.temp_directory) as temporary, query_errors(root):
        free_bytes = max(free_space(str(temporary)), 0)
        settings |= {"temp_directory": str(temporary), "max_temp_directory_size": f"{free_bytes}B"}
        if space_limit is not None:  # each thread takes some address space
            settings["threads"] = "1"
        connection = module.connect(":memory:", config=settings)
        with contextlib.closing(connection), ended_by_signals(connection):
            memory = _memory_limit(connection, limits)
            memory = memory if space_limit is None else min(memory, space_limit)
            connection.execute(f"SET memory_limit = '{memory}B'")
            connection.execute("SET enable_progress_bar = false")  # it would go to standard output, among the rows
            _define(connection, part, scans, query)
            connection.execute("SET TimeZone = 'UTC'")
            for setting in _LOCKDOWN:
                connection.execute(f"SET {setting}")
            yield connection


def arrow_table(relation: Any) -> "pyarrow.Table":
    """Return the rows of a DuckDB relation as an Arrow table with one chunk per column."""
    table: pyarrow.Table = relation.to_arrow_table()
    return table.combine_chunks()


def address_space(root: str) -> int | None:
    """Return the bytes that DuckDB may use if address space is limited (ulimit -v); None without a limit.

    These are only about half of the bytes that are left, because DuckDB, Arrow and the C library abort if an allocation
    fails. Raises Perf2xError if there is too little space to start.
    """
    available = address_space_left()
    if available is not None and available < _RESERVED_SPACE:
        raise Perf2xError(f"{root}: not enough memory for a query (ulimit -v)")
    return None if available is None else (available - _RESERVED_SPACE) // 2 + (64 << 20)


def _memory_limit(connection: Any, limits: QueryLimits) -> int:
    """DuckDB's own default is four fifths of the machine's memory; five eighths of that are half of the memory."""
    ((duckdb_default,),) = connection.execute("SELECT current_setting('memory_limit')").fetchall()
    return limits.memory_limit or min(_MAX_DEFAULT_MEMORY, parse_size(duckdb_default) * 5 // 8)


@contextlib.contextmanager
def query_errors(root: str) -> Iterator[None]:
    """Convert errors of DuckDB in the block.

    Raises FormatError if the dataset's files are damaged, OptionError if the SQL is wrong, Perf2xError if memory or
    disk space is short.
    """
    module = _duckdb()
    try:
        yield
    except module.InterruptException:  # the signal's handler raises its own
        raise
    except module.OutOfMemoryException:
        raise _shortage_error(root) from None
    except module.PermissionException as error:
        raise OptionError(f"SQL: {_sentence(error)}; a query can read only its dataset") from None
    except UnicodeDecodeError:  # DuckDB quotes the text in its error
        raise FormatError(f"{root}: damaged: a text is not UTF-8") from None
    except module.Error as error:
        if os.strerror(errno.ENOSPC) in str(error):
            raise _shortage_error(root) from None
        message = _sentence(error)
        if (
            _AFTER_KIND not in str(error) or message.startswith(DAMAGED) or "registered as 'stored_" in message
        ):  # from reading the dataset's files, not from the SQL
            raise FormatError(f"{root}: damaged: {message.removeprefix(DAMAGED)}") from None
        raise OptionError(f"SQL: {message}") from None


def _shortage_error(root: str) -> Perf2xError:
    return Perf2xError(f"{root}: not enough memory for this query, or not enough room for its temporary files")


def _sentence(error: Exception) -> str:
    """Join the message's lines, without the kind of error and the lines that point into the query."""
    text = str(error).partition("\n\nLINE")[0]
    return " ".join((text.partition(_AFTER_KIND)[2] or text).split())


def _define(connection: Any, part: DatasetPart, scans: Mapping[str, Callable[[], Any]], sql: str) -> None:
    for table, scan in scans.items():
        connection.register(f"stored_{table}", scan())
    tags = sorted({key for row in part.rows for key in row.tags})
    for statement in statements(part.partition_columns, tags):
        connection.execute(statement)
    if _CALLS_STUDENT.search(sql):
        connection.create_function("student", student, ["DOUBLE", "BIGINT", "BIGINT"], "DOUBLE")


@contextlib.contextmanager
def ended_by_signals(connection: Any) -> Iterator[None]:
    """Let signals interrupt the queries of a connection; an exception from a signal's handler leaves the block.

    DuckDB checks for signals only between steps, which may take minutes, and replaces the handler's exception. So
    another thread waits for signals at Python's wakeup file descriptor.
    """
    if threading.current_thread() is not threading.main_thread():  # only the main thread gets signals
        yield
        return
    signal_numbers: list[int] = []
    try:
        with _interrupted_by_signals(connection, signal_numbers):
            yield
    except Exception:
        if signal_numbers:  # DuckDB replaced the handler's exception; call it once more
            signal.raise_signal(signal_numbers[0])
        raise


@contextlib.contextmanager
def _interrupted_by_signals(connection: Any, signal_numbers: list[int]) -> Iterator[None]:
    receiver, sender = socket.socketpair()
    sender.setblocking(False)

    def watch() -> None:
        with receiver:
            while number := receiver.recv(1):
                signal_numbers.append(number[0])
                connection.interrupt()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    with contextlib.ExitStack() as stack:
        stack.callback(thread.join)
        stack.callback(sender.close)  # which ends the thread
        previous = signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
        stack.callback(_restore_wakeup, sender.fileno(), previous)
        yield


def _restore_wakeup(own: int, previous: int) -> None:
    """Restore the ``previous`` wakeup descriptor, unless another block has set its own since."""
    current = signal.set_wakeup_fd(-1)
    with contextlib.suppress(OSError, ValueError):  # that descriptor is closed: its block has ended
        signal.set_wakeup_fd(previous if current == own else current)
