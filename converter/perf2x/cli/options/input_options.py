"""Parameters that have the same meaning in every command: inputs, ``--quiet`` and ``--verbose``."""

import errno
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from perf2x.base.files.remote_files import is_address
from perf2x.errors import FormatError
from perf2x.model.setting import Argument, Setting

DEFAULT_INPUT = "perf.data"

# --inline takes no value, so a word typed after it is an input. These are hints for the error, by word.
_VALUES_OF_INLINE = {"off": "; did you mean --no-inline?", "on": "; --inline takes no value"}
# Options that perf has for the input.
_OPTION_NAMES = ("--input", "-i")
Input = Annotated[str, Argument("The recording; - is standard input.", _OPTION_NAMES, "INPUT")]
Inputs = Annotated[
    tuple[str, ...],
    Argument(
        "Recordings. Files of one session are joined; - is standard input.",
        _OPTION_NAMES,
        "INPUT",
        shown_default=DEFAULT_INPUT,
    ),
]
Quiet = Annotated[bool, Setting("Print nothing on standard error.", ("--quiet", "-q"))]
Verbose = Annotated[bool, Setting("Print more on standard error.", ("--verbose", "-v"))]


def existing_inputs(typed: Sequence[str], suggest_output: bool = False) -> tuple[str, ...]:
    """Return the typed inputs, or ``perf.data`` if there are none. Raises FormatError for one that does not exist."""
    sources = tuple(typed or (DEFAULT_INPUT,))
    if DEFAULT_INPUT in sources and not Path(DEFAULT_INPUT).exists():
        raise FormatError("there is no perf.data here; pass a recording, or make one: perf record -g -- ./program")
    for source in sources:
        if source != "-" and not Path(source).exists() and not is_address(source) and not _is_dataset(source):
            hint = (
                f"; to write it: -o {source}"
                if suggest_output and source in sources[1:]
                else _VALUES_OF_INLINE.get(source, "")
            )
            raise FormatError(f"{source}: {os.strerror(errno.ENOENT)}{hint}")
    return sources


def _is_dataset(source: str) -> bool:
    from perf2x.sources.dataset.dataset_address import is_dataset

    return "?" in source and is_dataset(source)
