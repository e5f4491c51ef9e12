"""Options that limit what an SQL query uses."""

from pathlib import Path
from typing import Annotated

from perf2x.base.files.unpack_limit import parse_size
from perf2x.base.frozen_struct import Frozen
from perf2x.model.setting import Setting, read_directory


class QueryLimits(Frozen):
    """Memory of a query, and the folder for data beyond that."""

    PANEL = "Limits"

    memory_limit: Annotated[
        int | None,
        Setting(
            "Memory limit of the query, such as 500M or 16G.",
            metavar="SIZE",
            shown_default="4G, at most half of the machine's",
            read=lambda name, text: parse_size(text, name),
        ),
    ] = None
    """Bytes."""
    temp_directory: Annotated[
        Path | None,
        Setting(
            "Folder for data that does not fit in memory.",
            metavar="FOLDER",
            shown_default="that of temporary files",
            read=read_directory,
        ),
    ] = None
