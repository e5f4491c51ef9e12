"""Kind of input for datasets."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from perf2x.kernel.input_source import SourceKind
from perf2x.sources.dataset.dataset_address import is_dataset

if TYPE_CHECKING:
    from perf2x.kernel.load_options import LoadContext
    from perf2x.kernel.open_sessions import Input, SessionInput


def _sessions(inputs: "Sequence[Input]", context: "LoadContext") -> "Sequence[SessionInput]":
    from perf2x.sources.dataset.read.stored_sessions import stored_sessions

    return stored_sessions(inputs, context)


DATASET = SourceKind(recognizes_path=is_dataset, sessions=_sessions)
