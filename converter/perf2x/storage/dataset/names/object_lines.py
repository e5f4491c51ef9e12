"""The file of names of one object, which grows as more of its places get names."""

from typing import TYPE_CHECKING

import numpy as np

from perf2x.storage.dataset.dataset_folder import Storage
from perf2x.storage.dataset.dataset_schema import SUFFIX, arrow
from perf2x.storage.dataset.parquet_files import id_rows, numbers, places_in, read_stored
from perf2x.storage.dataset.write.recording_to_store import PlaceNames
from perf2x.storage.dataset.write.table_rows import lines_table
from perf2x.storage.dataset.write.write_recording import write_file

if TYPE_CHECKING:
    import pyarrow


def add_lines(storage: Storage, code_object: bytes, names: PlaceNames) -> None:
    """Add names of places to those that the object has in the dataset; a place that comes again has the new ones.

    FormatError when its file is damaged, OutputError when it cannot be written.
    """
    name, lines = f"lines/object-{code_object.hex()}{SUFFIX}", lines_table(names)
    if storage.exists(name):
        known = read_stored(storage, name, "lines")
        kept = places_in(known["place_id"].combine_chunks(), lines["place_id"].combine_chunks()) < 0
        lines = arrow().concat_tables([known.filter(arrow().array(kept)), lines]).combine_chunks()
    write_file(storage, name, "lines", [_sorted(lines)])


def _sorted(lines: "pyarrow.Table") -> "pyarrow.Table":
    words = np.ascontiguousarray(id_rows(lines, "place_id")).view(">u8").reshape(-1, 2).T
    return lines.take(np.lexsort((numbers(lines, "depth"), words[1], words[0])))
