"""Tells SQL that reads from SQL that would write, before any of it runs."""

import re
from collections.abc import Sequence
from typing import Any

from perf2x.tables.errors import OptionError

_READS = frozenset(
    ("SELECT", "FROM", "WITH", "VALUES", "TABLE", "PIVOT", "UNPIVOT", "DESCRIBE", "DESC", "SHOW", "SUMMARIZE", "CREATE")
)
"""First words of statements that are run; what CREATE makes lies in memory and ends with the command."""
_TYPES = frozenset(("SELECT", "CREATE", "EXPLAIN", "MULTI"))
"""DuckDB's kinds of them; it calls a PIVOT several statements."""
_SPACE = r"(?:\s|\(|--[^\n]*(?:\n|$)|/\*.*?\*/)*"
_WORD = re.compile(_SPACE + r"(\w*)", re.DOTALL)
_EXPLAIN = re.compile(_SPACE + r"EXPLAIN\b" + _SPACE + r"(?:ANALYZE\b)?", re.DOTALL | re.IGNORECASE)


def check_reads(connection: Any, sql: str) -> None:
    """OptionError for SQL without a statement, and for one that might write a file or change how DuckDB runs."""
    statements: Sequence[Any] = connection.extract_statements(sql)
    if not statements:
        raise OptionError("name a statement of SQL, such as 'SELECT * FROM by_function'")
    for statement in statements:
        word = _first_word(statement.query)
        if statement.type.name not in _TYPES or not (word in _READS or not statement.query):
            raise OptionError(f"only SQL that reads is run: {word or statement.type.name} is not")


def _first_word(text: str) -> str:
    """First word of a statement in upper case; of one to be explained, that of what is explained."""
    explained = _EXPLAIN.match(text)
    found = _WORD.match(text, explained.end() if explained else 0)
    return found.group(1).upper() if found else ""
