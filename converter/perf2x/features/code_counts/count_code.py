"""Counts branches and samples in one object in a second pass over the samples, for formats that compilers read.

The object is the one named by the user, or the one with most samples.
"""

import re
from collections import Counter

import numpy as np
from msgspec.structs import replace

from perf2x.base.binaries.elf.elf_file import ElfObject
from perf2x.base.binaries.find.object_finder import ObjectFiles
from perf2x.base.binaries.find.untrusted_paths import RecordedFiles
from perf2x.base.columnar import I64, U64, Frozen, as_int64, flatnonzero, unique, zeros
from perf2x.base.diagnostics import Diagnostics
from perf2x.base.mapping_names import is_real_path, without_deleted
from perf2x.errors import OptionError, SettingError
from perf2x.kernel.load_options import LoadContext
from perf2x.model.filters.applied_filters import AppliedFilters
from perf2x.model.filters.frame_presets import is_runtime
from perf2x.model.filters.unmatched_filters import no_such
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
    """The object whose code is counted: a mapped file, as recorded."""

    filename: str
    build_id: str
    """Lower-case hexadecimal, "" if unknown."""
    mmap_rows: I64
    """Its mappings: rows of ``ProcessHistory.mmaps``."""


def _counted_object(history: ProcessHistory, profile: Profile, typed: str) -> _CountedObject:
    """Find the object that the user means by ``typed``: a path, its last part, or the beginning of a build id.

    "" stands for the object with most samples; a runtime such as libc is chosen only if no other object has samples.
    Raises OptionError if no object or several match.
    """
    mapped = _mapped_files(history)
    samples = _samples_by_object(profile)
    keys = sorted(mapped, key=lambda key: (not samples[key] or is_runtime("", key[0]), -samples[key], key))
    found = [key for key in keys if _names_object(typed, *key)] if typed else keys[:1]
    if not found:
        raise OptionError(no_such("object", typed, [name for name, _ in keys]))
    if len(found) > 1:
        raise OptionError(f"{typed!r} means several objects: {', '.join(map(_in_full, found))}")
    return _CountedObject(*found[0], as_int64(mapped[found[0]]))


def _mapped_files(history: ProcessHistory) -> dict[tuple[str, str], list[int]]:
    """Return the mmap rows of each (file, build id) that programs mapped."""
    mapped: dict[tuple[str, str], list[int]] = {}
    for row in flatnonzero(~is_kernel_mapping(history.mmaps)).tolist():
        name = history.mmaps.filename[row]
        if is_real_path(name):
            mapped.setdefault((name, history.mappings.build_ids[row]), []).append(row)
    return mapped


def _samples_by_object(profile: Profile) -> Counter[tuple[str, str]]:
    """Return the number of samples whose innermost frame is in an object, by its (file, build id)."""
    leaf = np.append(profile.stacks.location, -1)[profile.samples.stack]
    mapping = np.append(profile.locations.mapping, -1)[leaf]
    count = zeros(len(profile.mappings) + 1)
    np.add.at(count, mapping, profile.samples.count)
    samples: Counter[tuple[str, str]] = Counter()
    for row, (name, build_id) in enumerate(zip(profile.mappings.filename, profile.mappings.build_id, strict=True)):
        samples[profile.strings[name], profile.strings[build_id]] += int(count[row])
    return samples


def _names_object(typed: str, path: str, build_id: str) -> bool:
    undeleted = without_deleted(path)
    if typed in (path, undeleted, undeleted.rpartition("/")[2]):
        return True
    return bool(_BUILD_ID.fullmatch(typed)) and build_id.startswith(typed)


def _in_full(key: tuple[str, str]) -> str:
    name, build_id = key
    return f"{name} (build id {build_id})" if build_id else name


def count_code(
    profile: Profile, recording: Recording, filters: AppliedFilters, context: LoadContext, request: CodeRequest
) -> CodeCounts:
    """Count branches and samples in the requested object, for events that have samples in ``profile``.

    Raises OptionError if there is no such object, its file is not found, or nothing was counted in it.
    """
    history = build_process_history(recording.session, recording.sideband, Diagnostics())
    counted = _counted_object(history, profile, request.object)
    found = _files_of(counted, recording, context)
    counter = CodeCounter(history, counted.mmap_rows, request)
    with context.stages.stage("count"):
        events = unique(profile.samples.event)
        for batch in recording.samples(Want.BRANCHES | Want.REREAD):
            counter.add(select_rows(batch, filters.passing.passing(batch) & np.isin(batch.event, events)))
    branches, samples = counter.result()
    if not (len(branches) or len(samples) or context.options.allow_empty):
        raise SettingError(
            f"no branch or sample was recorded in {counted.filename}; choose another object with ", "object"
        )
    code = found.code
    assert code is not None
    columns = {name: _svma_of(getattr(branches, name), code) for name in ("source", "target", "next")}
    counts = CodeCounts(
        counted.filename,
        counted.build_id,
        sum_branches([replace(branches, **columns)]),
        sum_addresses([replace(samples, address=_svma_of(samples.address, code))]),
    )
    return _with_lines(counts, profile, recording, found, context, request.gcc) if request.lines else counts


def _with_lines(
    counts: CodeCounts, profile: Profile, recording: Recording, found: ObjectFiles, context: LoadContext, gcc: int
) -> CodeCounts:
    from perf2x.symbolizer.counts.line_profile import count_lines
    from perf2x.symbolizer.symbol_options import SymbolOptions

    options = context.options.symbols or SymbolOptions()
    facts = context.symbol_facts(profile, recording, options)
    with context.stages.stage("lines"):
        return count_lines(facts, found, counts, gcc)


def _files_of(counted: _CountedObject, recording: Recording, context: LoadContext) -> ObjectFiles:
    """Find the object's files.

    Raises OptionError if the program itself is missing: its program headers map file offsets to addresses.
    """
    files = RecordedFiles(recording.session, recording.sideband.mmaps)
    found = context.finder.find(counted.filename, bytes.fromhex(counted.build_id), recorded=files)
    if found.code is None:
        raise SettingError(
            f"{counted.filename}: {found.reason or 'its code is missing'}; this format needs the program itself (",
            "symfs", ", ", "archives", "), or ", "object", " for another one",
        )  # fmt: skip
    return found


def _svma_of(offset: U64, code: ElfObject) -> U64:
    """Return (n,) the ELF address (svma) of each file offset.

    NOT_RECORDED stays; offsets outside all segments, and EXTERNAL, become EXTERNAL.
    """
    address, is_code = code.svma(offset)
    return np.where(is_code, address, np.where(offset == NOT_RECORDED, NOT_RECORDED, EXTERNAL))
