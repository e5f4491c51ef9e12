"""Opens an input and reads its header sections: one file, standard input, or a directory that perf record wrote.

::

    perf.data                      one file: header, data, features
    perf.data/data                 perf record --threads, --kcore: the file with the header …
    perf.data/data.0, data.1 …     … more records, one file for each thread that recorded, without headers
    perf.data/kcore_dir/           … and a copy of the kernel's code (perf.data-directory-format.txt)
"""

import re
from pathlib import Path

from perf2x.base.abi import HeaderFeature
from perf2x.base.diagnostics import Diagnostics
from perf2x.base.frozen_struct import Frozen
from perf2x.errors import FormatError
from perf2x.reader.containers.file_header import open_container
from perf2x.reader.containers.input_file import InputFile, input_name, map_input
from perf2x.reader.record_block import DataSection
from perf2x.reader.session_builder import SessionBuilder


class OpenedInput(Frozen):
    """An input whose header sections are decoded, in ``builder``, and whose records are not read yet."""

    builder: SessionBuilder
    sections: list[DataSection]


def open_input(path: str, source: str, diagnostics: Diagnostics, mapped_input: InputFile | None = None) -> OpenedInput:
    """Open ``path``; "-" is standard input. Raises FormatError if it is not a recording.

    ``source`` is the input's name in the session; "" stands for the path.
    """
    name = input_name(path)
    directory = Path(path) if path != "-" and Path(path).is_dir() else None
    main_path = path if directory is None else _main_file(directory)
    file = mapped_input or map_input(main_path, diagnostics)
    container = open_container(input_name(main_path), file.data, diagnostics)
    kcore = Path(path, "kcore_dir")
    kcore_dir = str(kcore) if directory is not None and kcore.is_dir() else ""
    builder = SessionBuilder(source or name, container.byte_order, container.is_pipe, diagnostics, kcore_dir=kcore_dir)
    builder.add_container(container)
    limit = builder.features.get("compressed", {}).get("mmap_len", 0)  # limit for one record
    # simpleperf stores the mappings of earlier processes as records in a feature section, before all other records
    init_map = container.features.get(HeaderFeature.SIMPLEPERF_INIT_MAP)
    extents = [container.records] if init_map is None else [init_map, container.records]
    sections = [DataSection(file, extent.offset, extent.end, container.name, limit) for extent in extents]
    for thread_file in [] if directory is None else _thread_files(directory):
        file = map_input(thread_file, diagnostics)
        sections.append(DataSection(file, 0, len(file.data), input_name(thread_file), limit))
    return OpenedInput(builder, sections)


def _main_file(directory: Path) -> str:
    """Raise FormatError if no file has the header."""
    data = directory / "data"
    if not data.is_file():
        raise FormatError(
            f"{input_name(str(directory))} is a directory, not a recording; perf record --threads makes one that "
            "contains a file named data"
        )
    return str(data)


def _thread_files(directory: Path) -> list[str]:
    matches = [(re.fullmatch(r"data\.([0-9]{1,9})", file.name), file) for file in directory.iterdir()]
    numbered = sorted((int(match[1]), file) for match, file in matches if match and file.is_file())
    return [str(file) for _, file in numbered if file.stat().st_size]
