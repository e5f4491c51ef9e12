"""Counts branches and samples in one object in a second pass over the samples, for formats that compilers read."""

import re
from collections import Counter

import numpy as np
from msgspec.structs import replace

from perf2x.base.binaries.elf.elf_file import ElfObject
from perf2x.base.binaries.find.object_finder import ObjectFiles
from perf2x.base.binaries.find.untrusted_paths import RecordedFileCheck
from perf2x.base.columnar import I64, U64, Frozen, as_int64, flatnonzero, unique, zeros
from perf2x.base.diagnostics import Diagnostics
from perf2x.base.mapping_names import is_real_path, without_deleted
from perf2x.errors import OptionError, SettingError
from perf2x.kernel.load_options import LoadContext
from perf2x.model.filters.applied_filters import AppliedFilters
from perf2x.model.filters.frame_presets import is_runtime
from perf2x.model.filters.unmatched_filters import no_such_message
from perf2x.model.format_features import CodeRequest
from perf2x.model.profile import (
    EXTERNAL,
    NOT_RECORDED,
    CodeCounts,
    Profile,
    sum_addresses,
    sum_branches,
)
from perf2x.model.recording import Recording, Want, select_rows
from perf2x.stitcher.branch_traces import CodeCounter
from perf2x.stitcher.history.kernel_mappings import is_kernel_mapping
from perf2x.stitcher.history.process_history import ProcessHistory, build_process_history

_BUILD_ID = re.compile(r"[0-9a-f]{6,40}")


class _CountedObject(Frozen):
    """A mapped file, as recorded."""

    filename: str
    build_id: str
    """Lower-case hexadecimal, "" if unknown."""
    mmap_rows: I64
    """Its mappings: rows of ``ProcessHistory.mmaps``."""


def _counted_object(history: ProcessHistory, profile: Profile, typed: str) -> _CountedObject:
    """Without a typed name, choose the object with the most samples; a runtime library only for lack of others.

    Raises OptionError if no object matches, or several do.
    """
    mmap_rows = _mapped_files(history)
    samples = _samples_by_object(profile)
    objects = sorted(mmap_rows, key=lambda key: (not samples[key] or is_runtime("", key[0]), -samples[key], key))
    matching = [key for key in objects if _matches(typed, *key)] if typed else objects[:1]
    if not matching:
        raise OptionError(no_such_message("object", typed, [name for name, _ in objects]))
    if len(matching) > 1:
        raise OptionError(f"{typed!r} means several objects: {', '.join(map(_name_and_build_id, matching))}")
    return _CountedObject(*matching[0], as_int64(mmap_rows[matching[0]]))


def _mapped_files(history: ProcessHistory) -> dict[tuple[str, str], list[int]]:
    mmap_rows: dict[tuple[str, str], list[int]] = {}
    for row in flatnonzero(~is_kernel_mapping(history.mmaps)).tolist():
        name = history.mmaps.filename[row]
        if is_real_path(name):
            mmap_rows.setdefault((name, history.merged_mappings.build_ids[row]), []).append(row)
    return mmap_rows


def _samples_by_object(profile: Profile) -> Counter[tuple[str, str]]:
    location = np.append(profile.stacks.location, -1)[profile.samples.stack]
    mapping = np.append(profile.locations.mapping, -1)[location]
    count = zeros(len(profile.mappings) + 1)  # the last entry is for samples outside all mappings, −1
    np.add.at(count, mapping, profile.samples.count)
    samples: Counter[tuple[str, str]] = Counter()
    for row, (name, build_id) in enumerate(zip(profile.mappings.filename, profile.mappings.build_id, strict=True)):
        samples[profile.strings[name], profile.strings[build_id]] += int(count[row])
    return samples


def _matches(typed: str, path: str, build_id: str) -> bool:
    undeleted = without_deleted(path)
    if typed in (path, undeleted, undeleted.rpartition("/")[2]):
        return True
    return bool(_BUILD_ID.fullmatch(typed)) and build_id.startswith(typed)


def _name_and_build_id(key: tuple[str, str]) -> str:
    name, build_id = key
    return f"{name} (build id {build_id})" if build_id else name


def count_code(
    profile: Profile, recording: Recording, filters: AppliedFilters, context: LoadContext, request: CodeRequest
) -> CodeCounts:
    """Count branches and samples in the requested object, for events that have samples in ``profile``.

    Raises OptionError if there is no such object, if its file is not found, or, without the option ``allow_empty``, if
    nothing was counted in it.
    """
    # diagnostics that nobody reads: the first pass has counted the same problems
    history = build_process_history(recording.session, recording.sideband, Diagnostics())
    counted_object = _counted_object(history, profile, request.object)
    pid = int(history.mmaps.pid[counted_object.mmap_rows[0]])
    files = _files_of(counted_object, pid, recording, context)
    counter = CodeCounter(history, counted_object.mmap_rows, request)
    with context.stages.stage("count"):
        events = unique(profile.samples.event)
        for batch in recording.samples(Want.BRANCHES | Want.REREAD):
            counter.add(select_rows(batch, filters.sample_filter.passes(batch) & np.isin(batch.event, events)))
    branches, samples = counter.result()
    if not (len(branches) or len(samples) or context.options.allow_empty):
        raise SettingError(
            f"no branch or sample was recorded in {counted_object.filename}; choose another object with ", "object"
        )
    # all file offsets outside the segments become EXTERNAL, so equal addresses are summed once more
    code = files.code
    assert code is not None
    columns = {name: _svma_of(getattr(branches, name), code) for name in ("source", "target", "next")}
    counts = CodeCounts(
        counted_object.filename,
        counted_object.build_id,
        sum_branches([replace(branches, **columns)]),
        sum_addresses([replace(samples, address=_svma_of(samples.address, code))]),
    )
    if not request.by_line:
        return counts
    return _with_counts_by_line(counts, profile, recording, files, context, request.gcc_version)


def _with_counts_by_line(
    counts: CodeCounts,
    profile: Profile,
    recording: Recording,
    files: ObjectFiles,
    context: LoadContext,
    gcc_version: int,
) -> CodeCounts:
    from perf2x.symbolizer.counts.line_profile import count_lines
    from perf2x.symbolizer.symbol_options import SymbolOptions

    options = context.options.symbols or SymbolOptions()
    facts = context.symbol_facts(profile, recording, options)
    with context.stages.stage("lines"):
        return count_lines(facts, files, counts, gcc_version)


def _files_of(counted_object: _CountedObject, pid: int, recording: Recording, context: LoadContext) -> ObjectFiles:
    """Find the object's files, also in the root directory of the process ``pid``.

    Raises OptionError if the file with the code is missing: its program headers map file offsets to addresses.
    """
    file_check = RecordedFileCheck(recording.session, recording.sideband.mmaps)
    filename, build_id = counted_object.filename, bytes.fromhex(counted_object.build_id)
    files = context.finder.find(filename, build_id, pid, file_check)
    if files.code is None:
        raise SettingError(
            f"{filename}: {files.reason or 'its code is missing'}; this format needs its code: find the file with ",
            "symfs", " or ", "archives", ", or choose another object with ", "object",
        )  # fmt: skip
    return files


def _svma_of(offset: U64, code: ElfObject) -> U64:
    """Offsets outside all segments become EXTERNAL; the marker NOT_RECORDED stays."""
    address, is_code = code.offset_to_svma(offset)
    return np.where(is_code, address, np.where(offset == NOT_RECORDED, NOT_RECORDED, EXTERNAL))
