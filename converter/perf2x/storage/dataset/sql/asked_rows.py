"""Tables that a statement reads, and its conditions that recordings can be chosen by before any other file is read.

DuckDB's own parser reads the statement. Conditions are those joined by AND in a single SELECT whose tables are joined
by recording: a row of a recording that does not meet them is in no answer.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, json

from perf2x.storage.dataset.dataset_schema import COLUMNS, PARTITIONED

_BY_RECORDING = {*PARTITIONED, "sample_rows", "names", "functions", "frames", "stacks", "by_function"}
_Node = Mapping[str, Any]


class Condition(Struct, frozen=True):
    """A condition on columns of the table of recordings and of those that name folders."""

    columns: frozenset[str]
    tree: _Node
    """As DuckDB's parser has it, columns without the names of tables."""


class Asked(Struct, frozen=True):
    """What a statement asks for."""

    names: str
    """Names of tables, views and functions, or the statement itself where it cannot be taken apart."""
    conditions: Sequence[Condition] = ()


def asked_rows(connection: Any, sql: str, parts: Collection[str]) -> Asked:
    """Take a statement apart; ``parts`` are the columns that name folders."""
    found = _parsed(connection, sql)
    if found is None:
        return Asked(sql)
    nodes = list(_nodes(found))
    names = {str(node[key]) for node in nodes for key in ("table_name", "function_name") if key in node}
    top = found[0]["node"]
    is_plain = len(found) == 1 and top["type"] == "SELECT_NODE" and not top["cte_map"]["map"]
    if not is_plain or any(node.get("class") == "SUBQUERY" for node in nodes):
        return Asked(" ".join(sorted(names)))
    tables = _joined(top["from_table"])
    volatile = {name for (name,) in connection.execute(_VOLATILE).fetchall()}
    usable = (_condition(one, tables or {}, parts, volatile) for one in _conjuncts(top["where_clause"]))
    return Asked(" ".join(sorted(names)), [one for one in usable if one is not None])


_VOLATILE = "SELECT DISTINCT function_name FROM duckdb_functions() WHERE stability = 'VOLATILE'"


def _parsed(connection: Any, sql: str) -> list[Any] | None:
    """The statements of SQL that only has SELECTs."""
    ((text,),) = connection.execute("SELECT json_serialize_sql($sql::VARCHAR)", {"sql": sql}).fetchall()
    found = json.decode(text)
    return None if found["error"] else list(found["statements"]) or None


def _nodes(tree: object) -> Iterator[_Node]:
    waiting = [tree]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            yield one
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one


def _joined(tree: _Node) -> dict[str, str] | None:
    """Tables by what the statement calls them, but for those of which rows may be missing; None: not by recording."""
    if tree["type"] == "BASE_TABLE" and tree["table_name"] in _BY_RECORDING:
        return {tree["alias"] or tree["table_name"]: tree["table_name"]}
    if tree["type"] != "JOIN" or tree["ref_type"] != "REGULAR" or "recording" not in tree["using_columns"]:
        return None
    left, right = _joined(tree["left"]), _joined(tree["right"])
    if left is None or right is None or tree["join_type"] not in ("INNER", "LEFT"):
        return None
    return left if tree["join_type"] == "LEFT" else left | right


def _conjuncts(tree: _Node | None) -> Iterator[_Node]:
    if tree is not None and tree["type"] == "CONJUNCTION_AND":
        for child in tree["children"]:
            yield from _conjuncts(child)
    elif tree is not None:
        yield tree


def _condition(
    tree: _Node, tables: Mapping[str, str], parts: Collection[str], volatile: Collection[str]
) -> Condition | None:
    """A condition on recordings alone, else None."""
    columns, plain = set[str](), json.decode(json.encode(tree))
    for node in _nodes(plain):
        if node.get("class") == "COLUMN_REF":
            names: list[str] = node["column_names"]
            if not _is_known(names, tables, parts):
                return None
            del names[:-1]
            columns.add(names[0])
        if node.get("function_name") in volatile:
            return None
    return Condition(frozenset(columns), plain) if columns else None


def _is_known(names: Sequence[str], tables: Mapping[str, str], parts: Collection[str]) -> bool:
    """Whether a column is one of the table of recordings, or names folders."""
    which = [table for name, table in tables.items() if names[:-1] in ([], [name])]
    return any(names[-1] in _columns(table, parts) for table in which)


def _columns(table: str, parts: Collection[str]) -> set[str]:
    if table == "recordings":
        return {*COLUMNS["recordings"], *parts}
    others = {*parts} - {*COLUMNS["recordings"]} if table in COLUMNS or table == "sample_rows" else set[str]()
    return {"recording", *others}


def select(connection: Any, columns: str, table: str, conditions: Sequence[Condition]) -> str:
    """SQL for the rows of a table that meet all conditions."""
    if not conditions:
        return f"SELECT {columns} FROM {table}"
    (found,) = _parsed(connection, f"SELECT {columns} FROM {table} WHERE true AND true") or [{}]
    found["node"]["where_clause"]["children"][:1] = [one.tree for one in conditions]
    text = json.encode({"error": False, "statements": [found]}).decode()
    ((sql,),) = connection.execute("SELECT json_deserialize_sql($text::JSON)", {"text": text}).fetchall()
    return str(sql)
