"""From a path to a stream of records: one file, standard input, or a directory that perf record has written.

::

    perf.data                      one file: header, data, features
    perf.data/data                 perf record --threads, --kcore: the file with the header …
    perf.data/data.0, data.1 …     … more records, one file for each thread that recorded, without headers
    perf.data/kcore_dir/           … and a copy of the kernel's code (perf.data-directory-format.txt)
"""

import re
from pathlib import Path

from msgspec import Struct

from perf2x.reader.containers.file_header import open_container
from perf2x.reader.containers.source import load
from perf2x.reader.header.session_builder import Draft
from perf2x.reader.record_stream import Stream, Stretch
from perf2x.tables.diagnostics import Diagnostics
from perf2x.tables.errors import FormatError


class Opened(Struct, frozen=True):
    """Header sections are read, records are not."""

    draft: Draft
    stream: Stream


def open_path(path: str, diagnostics: Diagnostics) -> Opened:
    """``path`` "-" is standard input; FormatError when it is no recording."""
    name = "standard input" if path == "-" else path
    directory = Path(path) if path != "-" and Path(path).is_dir() else None
    file = path if directory is None else _main_file(directory)
    source = load(file, diagnostics)
    container = open_container(name if directory is None else file, source.data, diagnostics)
    draft = Draft(name, container.order, container.is_pipe, diagnostics)
    draft.add_container(container)
    limit = draft.features.get("compressed", {}).get("mmap_len", 0)
    records = container.records
    stretches = [Stretch(source, records.offset, records.end, container.name, limit)]
    if directory is not None:
        for further in _further_files(directory):
            more = load(further, diagnostics)
            stretches.append(Stretch(more, 0, len(more.data), further, limit))
        draft.kcore_dir = str(directory / "kcore_dir") if (directory / "kcore_dir").is_dir() else ""
    return Opened(draft, Stream(stretches, container.order, diagnostics))


def _main_file(directory: Path) -> str:
    data = directory / "data"
    if not data.is_file():
        raise FormatError(
            f"{directory}: a directory without a file called data is no recording of perf record --threads"
        )
    return str(data)


def _further_files(directory: Path) -> list[str]:
    """data.0, data.1, … by number."""
    found = [(re.fullmatch(r"data\.([0-9]{1,9})", file.name), file) for file in directory.iterdir()]
    numbered = sorted((int(match[1]), file) for match, file in found if match and file.is_file())
    return [str(file) for _, file in numbered if file.stat().st_size]
