"""The recording itself, for formats that carry it beside what is made of it."""

from collections.abc import Sequence
from pathlib import Path

from perf2x.base.errors import OptionError
from perf2x.model.diagnostics import Diagnostics
from perf2x.pipeline.load_options import LoadOptions
from perf2x.reader.containers.input_file import map_input


def original_of(paths: Sequence[str], options: LoadOptions) -> bytes:
    """Return the bytes of the one recording in ``paths``, unpacked; nothing unless they are wanted.

    OptionError for several inputs, for one that is no file and for one above the limit.
    """
    if not options.original:
        return b""
    if len(paths) != 1 or not Path(paths[0]).is_file():
        raise OptionError("the original recording must be one file: not several, a directory or a pipe")
    data = map_input(paths[0], Diagnostics()).data
    if len(data) > options.original:
        raise OptionError(
            f"the original recording has {len(data):,} bytes, more than {options.original:,} as asked for"
        )
    return data.tobytes()
