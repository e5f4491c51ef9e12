"""Counts branches and samples in one object: a second pass over the samples, for formats that compilers read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar.unique import unique
from perf2x.base.errors import SettingError
from perf2x.model.diagnostics import Diagnostics
from perf2x.model.profile.code_counts import (
    EXTERNAL,
    NOT_RECORDED,
    AddressCounts,
    BranchCounts,
    CodeCounts,
    CodeRequest,
    sum_addresses,
    sum_branches,
)
from perf2x.model.recording.events import Recording, Want
from perf2x.model.recording.sample_batches import select_rows
from perf2x.pipeline.counted_object import CountedObject, counted_object
from perf2x.stitcher.branch_traces import CodeCounter
from perf2x.stitcher.process_history import build_process_history

if TYPE_CHECKING:
    from perf2x.base.columnar.arrays import U64
    from perf2x.binaries.elf.elf_file import ElfObject
    from perf2x.binaries.find.object_files import ObjectFiles
    from perf2x.model.profile.profile import Profile
    from perf2x.pipeline.load_context import LoadContext
    from perf2x.transforms.filters.apply_choice import Selection


def count_code(
    profile: Profile, recording: Recording, selection: Selection, context: LoadContext, request: CodeRequest
) -> CodeCounts:
    """Count branches and samples in the object asked for, of the events that have samples in ``profile``.

    OptionError when there is no such object, or its file is not found.
    """
    history = build_process_history(recording.session, recording.sideband, Diagnostics())
    counted = counted_object(history, profile, request.object)
    found = _files_of(counted, context)
    counter = CodeCounter(history, counted.rows, request)
    with context.stages.stage("count"):
        events = unique(profile.samples.event)
        for batch in recording.samples(Want.BRANCHES):
            counter.add(select_rows(batch, selection.passing.passing(batch) & np.isin(batch.event, events)))
    branches, samples = counter.result()
    if not (len(branches) or len(samples) or context.options.allow_empty):
        raise SettingError(
            f"nothing was recorded in {counted.filename}: no branch and no sample; choose another with ", "object"
        )
    code = found.code
    assert code is not None
    counts = CodeCounts(
        counted.filename, counted.build_id, _stated_branches(branches, code), _stated_samples(samples, code)
    )
    return _with_lines(counts, profile, recording, found, context) if request.lines else counts


def _with_lines(
    counts: CodeCounts, profile: Profile, recording: Recording, found: ObjectFiles, context: LoadContext
) -> CodeCounts:
    from perf2x.symbolizer.counts.count_lines import count_lines
    from perf2x.symbolizer.make_context import make_context
    from perf2x.symbolizer.symbol_options import SymbolOptions

    options = context.options.symbols or SymbolOptions()
    facts = make_context(profile, recording.session, options, context.diagnostics, context.finder, recording.sideband)
    with context.stages.stage("lines"):
        return replace(counts, functions=count_lines(facts, found, counts))


def _files_of(counted: CountedObject, context: LoadContext) -> ObjectFiles:
    """Find the object's files; OptionError without the one whose program headers tell where its code lies."""
    found = context.finder.find(counted.filename, bytes.fromhex(counted.build_id))
    if found.code is None:
        raise SettingError(
            f"{counted.filename}: {found.reason or 'its code is missing'}; this format needs the program itself (",
            "symfs", ", ", "archives", "), or ", "object", " for another one",
        )  # fmt: skip
    return found


def _stated_branches(branches: BranchCounts, code: ElfObject) -> BranchCounts:
    columns = {name: _stated(getattr(branches, name), code) for name in ("source", "target", "next")}
    return sum_branches([replace(branches, **columns)])


def _stated_samples(samples: AddressCounts, code: ElfObject) -> AddressCounts:
    return sum_addresses([replace(samples, address=_stated(samples.address, code))])


def _stated(offset: U64, code: ElfObject) -> U64:
    """(n,) the stated address of each file offset; EXTERNAL for code in no segment, marks stay."""
    address, held = code.svma(offset)
    return np.where(held, address, np.where(offset == NOT_RECORDED, NOT_RECORDED, EXTERNAL))
