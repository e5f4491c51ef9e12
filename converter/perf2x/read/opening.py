"""From a path to a stream of records: one file, standard input, or a directory that perf record has written.

::

    perf.data                      one file: header, data, features
    perf.data/data                 perf record --threads, --kcore: the file with the header …
    perf.data/data.0, data.1 …     … more records, one file for each thread that recorded, without headers
    perf.data/kcore_dir/           … and a copy of the kernel's code (perf.data-directory-format.txt)
"""

import re
from dataclasses import dataclass
from pathlib import Path

from perf2x.model.arrays import U8
from perf2x.model.diagnostics import Diagnostics
from perf2x.model.errors import FormatError
from perf2x.read.container import Container, open_container
from perf2x.read.draft import Draft
from perf2x.read.source import load
from perf2x.read.stream import Stream, Stretch


@dataclass(frozen=True, slots=True)
class Opened:
    """Header sections are read, records are not."""

    draft: Draft
    stream: Stream


def open_path(path: str, diagnostics: Diagnostics) -> Opened:
    """``path`` "-" is standard input; FormatError when it is no recording."""
    name = "standard input" if path == "-" else path
    directory = Path(path) if path != "-" and Path(path).is_dir() else None
    container = _container(path, name, directory, diagnostics)
    draft = Draft(name, container.order, container.is_pipe, diagnostics)
    draft.add_container(container)
    limit = draft.features.get("compressed", {}).get("mmap_len", 0)
    section = container.records
    stretches = [Stretch(container.data[section.offset : section.end], section.offset, container.name, limit)]
    if directory is not None:
        stretches += [Stretch(data, 0, file, limit) for file, data in _further_files(directory)]
        draft.kcore_dir = str(directory / "kcore_dir") if (directory / "kcore_dir").is_dir() else ""
    return Opened(draft, Stream(stretches, container.order, diagnostics))


def _container(path: str, name: str, directory: Path | None, diagnostics: Diagnostics) -> Container:
    if directory is None:
        return open_container(name, load(path), diagnostics)
    data = directory / "data"
    if not data.is_file():
        raise FormatError(f"{path}: a directory without a file called data is no recording of perf record --threads")
    return open_container(str(data), load(str(data)), diagnostics)


def _further_files(directory: Path) -> list[tuple[str, U8]]:
    """data.0, data.1, … by number."""
    found = [(re.fullmatch(r"data\.([0-9]{1,9})", file.name), file) for file in directory.iterdir()]
    numbered = sorted((int(match[1]), file) for match, file in found if match and file.is_file())
    return [(str(file), load(str(file))) for _, file in numbered if file.stat().st_size]
