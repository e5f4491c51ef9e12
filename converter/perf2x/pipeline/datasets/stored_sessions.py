"""Datasets among the inputs: each of their recordings is a session of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from perf2x.base.errors import OptionError, SettingError
from perf2x.model.diagnostics import Severity
from perf2x.pipeline.for_output import refuse_given
from perf2x.pipeline.load_options import LoadContext, LoadOptions
from perf2x.pipeline.open_sessions import Input, SessionInput, SessionPart

if TYPE_CHECKING:
    from perf2x.pipeline.datasets.stored_recording import StoredRecording

_RECORDS = ("off_cpu", "latency", "choice.parallelism", "value", "data_objects")
_AT_INGEST = ("itrace", "deferred_missing", "merge_callchains", "call_graphs.stitch_lbr")


def split_stored(inputs: Sequence[Input], context: LoadContext) -> tuple[list[SessionInput], list[Input]]:
    """The recordings of all datasets among the inputs, and the other inputs.

    OptionError for a recording that two of the datasets have.
    """
    from perf2x.storage.dataset.dataset_address import is_dataset

    stored, others, known = [], [], dict[str, str]()
    for one in inputs:
        if not is_dataset(one.path):
            if context.options.where:
                raise SettingError(f"{one.name} is not a dataset; ", "where", " chooses samples of datasets")
            others.append(one)
            continue
        _refuse_untold(one, context.options)
        for ident, session in _sessions_of(one, context):
            if ident in known:
                raise OptionError(f"{one.name} and {known[ident]} have a recording in common: {session.files[0]}")
            known[ident] = one.name
            stored.append(session)
    return stored, others


def _refuse_untold(one: Input, options: LoadOptions) -> None:
    """Refuse what asks for records: a dataset has the stacks of samples alone."""
    refuse_given(options, _AT_INGEST, f"{one.name} is a dataset; ", " applies when a recording is added")
    refuse_given(options, _RECORDS, f"{one.name} is a dataset, which does not keep what ", " asks for")
    if options.code is not None:
        raise OptionError(f"{one.name} is a dataset, which keeps stacks, not the branches that code is counted by")


def _sessions_of(one: Input, context: LoadContext) -> list[tuple[str, SessionInput]]:
    from perf2x.pipeline.datasets.stored_recording import StoredRecording
    from perf2x.storage.dataset.dataset_address import parse_address
    from perf2x.storage.dataset.read.read_dataset import Dataset

    dataset = Dataset(parse_address(one.path), context.options.where)
    context.diagnostics.add(
        "recordings_failed",
        Severity.LOSS,
        "recordings could not be read when they were added; the table of recordings says why.",
        count=len(dataset.failed),
        where=next((str(row.row["source"]) for row in dataset.failed), ""),
    )
    recordings = [StoredRecording(dataset, row, context.diagnostics) for row in dataset.recordings]
    return [(recording.ident, _session(one, recording, context)) for recording in recordings]


def _session(one: Input, recording: StoredRecording, context: LoadContext) -> SessionInput:
    recording.check(context.options)
    named = Input(one.path, one.name, recording.tags | dict(one.tags))
    part = SessionPart(named, recording.source, recording.sample_count, recording.has_events, recording)
    return SessionInput((part,), context)
