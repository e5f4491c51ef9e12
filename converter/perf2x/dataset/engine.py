"""DuckDB on a dataset: a database in memory whose tables are the dataset's files.

It reads nothing but the dataset and writes no file but its own temporary ones: files of others, addresses, extensions
and settings are out of reach of the SQL that runs in it.
"""

import atexit
import contextlib
import gc
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from perf2x.dataset.interrupts import ended_by_signals
from perf2x.dataset.read_files import check_file
from perf2x.dataset.schema import SUFFIX, TABLES
from perf2x.dataset.stack_views import define_stack_views
from perf2x.dataset.views import as_pattern, quoted, view_statements
from perf2x.files.operating_system import address_space_left
from perf2x.files.temporary import private_directory
from perf2x.tables.errors import FormatError, OptionError, Perf2xError

_ERROR = " Error: "
_LEAST = 768 << 20
"""Bytes of address space that libraries take, and DuckDB before it has read a row; most of it is never used."""
_NO_MORE = ("enable_external_access = false", "lock_configuration = true")


def duckdb() -> ModuleType:
    """Import DuckDB; OptionError says how to install it."""
    try:
        module = import_module("duckdb")
    except ModuleNotFoundError:  # another ImportError may be a lack of memory
        raise OptionError("SQL is answered by DuckDB: pip install 'perf2x[fleet]'") from None
    atexit.unregister(gc.freeze)  # it lists all of its classes as leaked where Python does not collect them at exit
    return module


@contextlib.contextmanager
def engine(folder: Path, asked: str = "") -> Iterator[Any]:
    """Give a connection with the tables and views of the dataset in ``folder``, ready for the SQL that will be asked.

    FormatError when it is no dataset or damaged, OptionError for what DuckDB says about SQL and without DuckDB.
    """
    limits = _limits(folder)
    _check(folder)
    module = duckdb()
    settings = {
        "autoinstall_known_extensions": "false", "autoload_known_extensions": "false",
        "allow_community_extensions": "false", "allow_persistent_secrets": "false",
        "python_enable_replacements": "false",
    }  # fmt: skip
    with private_directory() as temporary, told_apart(folder):
        connection = module.connect(":memory:", config=settings | limits | {"temp_directory": str(temporary)})
        with contextlib.closing(connection), ended_by_signals(connection):
            for statement in view_statements(folder.absolute()):
                connection.execute(statement)
            define_stack_views(connection, folder.absolute(), asked)
            connection.execute("SET TimeZone = 'UTC'")
            readable = (quoted(f"{name}/") for name in (folder.absolute(), as_pattern(folder.absolute())))
            connection.execute(f"SET allowed_directories = [{', '.join(readable)}]")
            for setting in _NO_MORE:
                connection.execute(f"SET {setting}")
            yield connection


def _limits(folder: Path) -> dict[str, str]:
    """Settings for a process whose address space is limited (ulimit -v), where an allocation of a library may fail.

    DuckDB, Arrow and the C library then end the process. Perf2xError when there is too little to begin.
    """
    left = address_space_left()
    if left is None:
        return {}
    if left < _LEAST:
        raise Perf2xError(f"{folder}: not enough memory for a query (ulimit -v)")
    return {"threads": "1", "memory_limit": f"{(left - _LEAST) // 2 + (64 << 20)}B"}


@contextlib.contextmanager
def told_apart(folder: Path) -> Iterator[None]:
    """Turn an error of DuckDB into one sentence: FormatError for the dataset's files, OptionError for the SQL."""
    module = duckdb()
    try:
        yield
    except module.InterruptException:  # by a signal, which is told of behind the query
        raise
    except module.OutOfMemoryException:
        raise Perf2xError(f"{folder}: not enough memory for this query") from None
    except module.PermissionException as error:
        raise OptionError(f"SQL: {_sentence(error)}; a query reads its dataset alone") from None
    except module.Error as error:
        if str(folder.absolute()) in str(error) or _ERROR not in str(error):  # what Parquet's reader says has no kind
            raise FormatError(f"{folder}: damaged: {_sentence(error)}") from None
        raise OptionError(f"SQL: {_sentence(error)}") from None


def _sentence(error: Exception) -> str:
    """The message without DuckDB's kind of error and without the lines that point into the query."""
    text = str(error).partition("\n\nLINE")[0]
    return " ".join((text.partition(_ERROR)[2] or text).split())


def _check(folder: Path) -> None:
    if not (folder / "recordings").is_dir():
        raise FormatError(f"{folder}: no dataset: it has no table of recordings (docs/parquet.md)")
    for table in TABLES:
        first = next((folder / table).rglob(f"*{SUFFIX}"), None)
        if first is not None:
            check_file(first, table)
