"""Tells SQL that reads from SQL that would write, before any of it runs."""

import re
from collections.abc import Sequence
from typing import Any

from perf2x.base.errors import OptionError
from perf2x.storage.dataset.sql.duckdb_engine import duckdb

_READS = frozenset(
    ("SELECT", "FROM", "WITH", "VALUES", "TABLE", "PIVOT", "UNPIVOT", "DESCRIBE", "DESC", "SHOW", "SUMMARIZE")
)
"""First words of statements that are run."""
_TYPES = frozenset(("SELECT", "EXPLAIN", "MULTI", "CREATE"))
"""DuckDB's kinds of them. A PIVOT is MULTI, or in versions before 2.0 several, whose first is CREATE."""
_SPACE = r"(?:\s|\(|--[^\n]*(?:\n|$)|/\*.*?\*/)*"
_WORD = re.compile(_SPACE + r"(\w*)", re.DOTALL)
_EXPLAIN = re.compile(_SPACE + r"EXPLAIN\b" + _SPACE + r"(?:ANALYZE\b)?", re.DOTALL | re.IGNORECASE)


def check_reads(connection: Any, sql: str) -> None:
    """OptionError for all but one statement, and for one that might write a file or change how DuckDB runs."""
    statements: Sequence[Any] = connection.extract_statements(sql)
    if not statements:
        raise OptionError("give an SQL statement, such as 'SELECT * FROM by_function'")
    if not _is_one(sql):
        raise OptionError("only one SQL statement can be run at a time")
    word, kinds = _first_word(sql), {one.type.name for one in statements}
    if word not in _READS or not kinds <= _TYPES:
        raise OptionError(f"only queries are run: {word or min(kinds)} is not")


def _is_one(sql: str) -> bool:
    """Whether nothing stands behind a semicolon but more of them, and comments."""
    module, text = duckdb(), sql.encode()
    tokens = (text[start : start + 1] for start, kind in module.tokenize(sql) if kind != module.token_type.comment)
    return b";" not in b"".join(tokens).rstrip(b";")


def _first_word(text: str) -> str:
    """First word of a statement in upper case; of one to be explained, that of what is explained."""
    explained = _EXPLAIN.match(text)
    found = _WORD.match(text, explained.end() if explained else 0)
    return found.group(1).upper() if found else ""
