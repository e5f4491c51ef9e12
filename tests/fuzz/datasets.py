"""Datasets to damage: files of Parquet as they are written, and plain ones, in which damage meets strings and pages.

What is written is compressed and has checksums, so that nearly all damage ends there. A hostile file has neither, or
has the right ones: plain files reach what lies behind.
"""

import contextlib
import io
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz.mutations import BINARY, EXTREMES, HOSTILE_TEXTS, Mutation, flip_bits, set_number
from tests.support.recordings import CORPUS, ROOT

FOLDER = "dataset"
MAGIC, TAIL = b"PAR1", 8
"""A file ends with the length of its metadata, four bytes, and the magic."""
SQL = (
    "SELECT function, sum(self) FROM by_function GROUP BY ALL ORDER BY 2 DESC",
    "FROM recordings",
    "SELECT sum(count), max(value) FROM samples",
    "FROM places JOIN mappings USING (recording, mapping)",
    "FROM by_stack LIMIT 50",
    "FROM frames LIMIT 50",
)
COMMANDS = (
    *(("fleet query", sql, "--json") for sql in SQL),
    ("fleet symbolize",),
    ("top",),
    ("top", "--json"),
    ("report",),
    ("info", "--json"),
    ("diff", "--json"),
    *(("convert", "--to", name, "-o", "{dir}/out/x") for name in ("pprof", "collapsed", "html", "chrome")),
)


def files() -> dict[str, bytes]:
    """Return the files of a small dataset by their paths; empty without pyarrow."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        return {}
    found = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, FOLDER)
        for recording in ("calls", "shapes"):
            path = CORPUS / recording / "perf.data"
            symbols = ("--symfs", str(CORPUS / "common" / "symfs"))
            _run("fleet", "ingest", path, "-o", folder, *symbols)
        _run("fleet", "symbolize", folder, "--symfs", CORPUS / "common" / "symfs")
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            found[path.relative_to(name).as_posix()] = path.read_bytes()
    return found


def _run(*words: object) -> None:
    """Run perf2x in a process of its own: what deltalake starts does not live on in forks of this one."""
    subprocess.run([sys.executable, "-m", "perf2x", *map(str, words), "-q"], check=True, cwd=ROOT)


def plain(data: bytes, table: str) -> bytes:
    """Return the same rows uncompressed, without checksums and statistics."""
    from pyarrow import BufferReader, parquet

    from perf2x.sources.dataset.dataset_schema import schema_of

    out = io.BytesIO()
    rows = parquet.read_table(BufferReader(data)).cast(schema_of(table))
    parquet.write_table(rows, out, compression="none", write_page_checksum=False, write_statistics=False)
    return out.getvalue()


def _metadata_at(data: bytearray) -> int:
    """Return where the metadata begins; behind the data of all columns."""
    size = int.from_bytes(data[-TAIL : -len(MAGIC)], "little")
    return max(len(data) - TAIL - size, len(MAGIC))


def _within(mutate: Mutation, *, metadata: bool) -> Mutation:
    """Mutate nothing but the metadata, or nothing but the pages."""

    def mutation(data: bytearray, chance: Random) -> None:
        if len(data) <= TAIL + len(MAGIC):
            return
        middle = min(_metadata_at(data), len(data) - TAIL)
        start, stop = (middle, len(data) - TAIL) if metadata else (len(MAGIC), middle)
        part = data[start:stop]
        if part:
            mutate(part, chance)
            data[start:stop] = part

    return mutation


def page_text(data: bytearray, chance: Random) -> None:
    """Overwrite letters in a page's strings, as many as there are: lengths stay right."""
    runs = [at for at in range(len(data) - 4) if data[at : at + 4].isalpha()]
    if runs:
        at, text = chance.choice(runs), chance.choice(HOSTILE_TEXTS)
        stop = min(at + chance.choice((1, 4, len(text))), len(data))
        data[at:stop] = text[: stop - at].ljust(stop - at, b"\xff")


def page_length(data: bytearray, chance: Random) -> None:
    """Falsify four bytes anywhere, such as the length in front of a string."""
    if len(data) >= 4:
        at = chance.randrange(len(data) - 3)
        data[at : at + 4] = (chance.choice(EXTREMES) % 2**32).to_bytes(4, "little")


def column(data: bytearray, chance: Random) -> None:
    """Give one column of the table extreme values, nothing at all, or another type; the file itself stays sound.

    Data that another mutation has made unreadable stay as they are.
    """
    import pyarrow

    with contextlib.suppress(pyarrow.ArrowException, OSError, OverflowError, ValueError):
        data[:] = _with_another_column(bytes(data), chance)


def _with_another_column(data: bytes, chance: Random) -> bytes:
    import pyarrow
    from pyarrow import parquet

    table = parquet.read_table(pyarrow.BufferReader(data))
    number = chance.randrange(table.num_columns)
    kind, name, rows = table.schema.field(number).type, table.schema.names[number], table.num_rows
    changed = table.set_column(number, name, chance.choice((_extreme, _none, _other_type))(kind, rows, chance))
    out = io.BytesIO()
    parquet.write_table(changed, out, compression="none")
    return out.getvalue()


def _extreme(kind: Any, rows: int, chance: Random) -> Any:
    import pyarrow

    if pyarrow.types.is_integer(kind):
        most = 2 ** (kind.bit_width - (not str(kind).startswith("u"))) - 1
        return pyarrow.array([chance.choice((0, most, most - 1, -1 if most % 2**8 == 127 else 1))] * rows, kind)
    if pyarrow.types.is_string(kind) or pyarrow.types.is_binary(kind):
        return pyarrow.array([chance.choice(("", "x" * 300, "../../x", "\x1b]0;x\x07"))] * rows, kind)
    return pyarrow.nulls(rows, kind)


def _none(kind: Any, rows: int, chance: Random) -> Any:
    import pyarrow

    return pyarrow.nulls(rows, kind)


def _other_type(kind: Any, rows: int, chance: Random) -> Any:
    import pyarrow

    return pyarrow.array([1.5] * rows) if chance.random() < 0.5 else pyarrow.array([["x"]] * rows)


PAGES: tuple[Mutation, ...] = tuple(
    _within(mutate, metadata=False) for mutate in (flip_bits, set_number, page_text, page_text, page_length)
)
METADATA: tuple[Mutation, ...] = tuple(_within(mutate, metadata=True) for mutate in (flip_bits, set_number, page_text))
PARQUET: tuple[Mutation, ...] = (*BINARY, *PAGES, *METADATA, column, column)
