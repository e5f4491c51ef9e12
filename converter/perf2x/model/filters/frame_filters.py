"""Filters by patterns that match frames; a pattern is matched once per distinct frame.

A filter changes the frames of locations (`_replace_frames`), the locations of stacks (`rewrite_stacks`), or both.
"""

import numpy as np
from msgspec.structs import replace

from perf2x.base.columnar import (
    I64,
    Bools,
    ColumnTable,
    ListArray,
    arange,
    as_int32,
    as_int64,
    as_intp,
    begins_run,
    bincount,
    cumsum,
    flatnonzero,
    group_rows,
    join_tables,
    minus_ones,
    number_keys,
    of_previous,
    offsets_of,
    ranges,
    repeat,
    row_numbers,
    sum_of,
    take_rows_of,
)
from perf2x.model.filters.frame_presets import Pattern, compile_patterns, compile_renames, match_time_limited
from perf2x.model.filters.unmatched_filters import UnmatchedFilters
from perf2x.model.printable_text import bracketed
from perf2x.model.profile import (
    Profile,
    frame_name,
    keep_samples,
    path_sums,
    rewrite_stacks,
    select_entries,
    take_locations,
    with_synthetic_frames,
)

Patterns = tuple[str, ...]


class _Frames(ColumnTable):
    """The frames of all locations, at least one for each, sorted by location, then innermost first."""

    location: I64  # row of Profile.locations
    function: I64
    """Row of Profile.functions, −1 if there is none."""
    line_number: I64
    """0 if unknown."""


def hide(profile: Profile, patterns: Patterns, unmatched: UnmatchedFilters) -> Profile:
    """Remove matching frames, whose callers get the costs, and samples without remaining frames."""
    frames, is_match = _matching_frames(profile, "hide", patterns, unmatched)
    return _keep_frames(profile, frames, ~is_match, unmatched)


def keep(profile: Profile, patterns: Patterns, unmatched: UnmatchedFilters) -> Profile:
    """Keep only matching frames; drop samples without remaining frames."""
    return _keep_frames(profile, *_matching_frames(profile, "keep", patterns, unmatched), unmatched)


def focus(profile: Profile, patterns: Patterns, unmatched: UnmatchedFilters) -> Profile:
    """Drop samples without a matching frame."""
    matching = _locations_with(profile, *_matching_frames(profile, "focus", patterns, unmatched))
    return keep_samples(profile, _stacks_with(profile, matching))


def ignore(profile: Profile, patterns: Patterns, unmatched: UnmatchedFilters) -> Profile:
    """Drop samples with a matching frame."""
    matching = _locations_with(profile, *_matching_frames(profile, "ignore", patterns, unmatched))
    return keep_samples(profile, ~_stacks_with(profile, matching))


def skip_after(profile: Profile, patterns: Patterns, unmatched: UnmatchedFilters) -> Profile:
    """Remove the callers of the innermost matching frame; stacks without a match stay whole."""
    frames, is_match = _matching_frames(profile, "skip_after", patterns, unmatched)
    # keep the frames of each location up to its first match
    matches_before: I64 = cumsum(is_match) - is_match
    starts = offsets_of(bincount(frames.location, len(profile.locations)))[:-1]
    inner_frames = take_rows_of(frames, matches_before == matches_before[starts][frames.location])
    shortened = _replace_frames(profile, inner_frames, arange(len(profile.locations)))
    has_match = _locations_with(profile, frames, is_match)

    def from_last_match(rows: ListArray) -> ListArray:
        # a stack begins with its outermost location; its last match and the entries after it are kept
        matches = np.append(0, cumsum(has_match[rows.values]))
        return select_entries(rows, repeat(matches[rows.offsets[1:]], rows.lengths) == matches[1:])

    return rewrite_stacks(shortened, from_last_match)


def collapse(profile: Profile, patterns: Patterns, unmatched: UnmatchedFilters) -> Profile:
    """Merge each run of frames in which the same text matches into one frame, which is called after this text.

    The text is the name of an object (``[libfoo.so]``), of a preset, or the part of a name that matches::

        outermost first      main  a (lib)  b (lib)  main2  c (lib)
        result               main  [lib]             main2  [lib]
    """
    frames = _frames_of(profile)
    match_number, matched_texts = _match_numbers(profile, frames, "collapse", patterns, unmatched)
    names = [bracketed(text) for text in matched_texts]
    function = np.where(match_number < 0, frames.function, len(profile.functions) + match_number)
    frames = _Frames(frames.location, function, np.where(match_number < 0, frames.line_number, 0))
    # one frame of each run
    is_kept = begins_run(frames.location, match_number) | (match_number < 0)
    frames, match_number = take_rows_of(frames, is_kept), match_number[is_kept]
    ends = cumsum(bincount(frames.location, len(profile.locations)))
    lengths = np.diff(ends, prepend=0)
    outer_match, inner_match = match_number[ends - 1], match_number[ends - lengths]
    # A location's outermost frame may be in one run with its caller's innermost frame. In such stacks, the location is
    # replaced by a copy without this frame, or removed if it has no other. Copies are appended to the locations.
    copied = flatnonzero((outer_match >= 0) & (lengths > 1))
    copy_frames = take_rows_of(frames, ranges((ends - lengths)[copied], lengths[copied] - 1))
    copy_frames = replace(copy_frames, location=row_numbers(lengths[copied] - 1) + len(profile.locations))
    copy_of = minus_ones(len(profile.locations))
    copy_of[copied] = len(profile.locations) + arange(len(copied))
    origin = np.append(arange(len(profile.locations)), copied)
    collapsed = _replace_frames(_with_functions(profile, names), join_tables([frames, copy_frames]), origin)

    def merge_runs(rows: ListArray) -> ListArray:
        location = rows.values
        is_same_run = (outer_match[location] >= 0) & (outer_match[location] == of_previous(inner_match[location], -1))
        is_same_run[rows.offsets[:-1][rows.lengths > 0]] = False  # the first location has no caller
        merged = np.where(is_same_run, copy_of[location], location)
        return select_entries(ListArray(rows.offsets, merged), merged >= 0)

    return rewrite_stacks(collapsed, merge_runs)


def rename(profile: Profile, replacements: Patterns, unmatched: UnmatchedFilters) -> Profile:
    r"""Replace matches of ``RE=NAME`` in function names, and in object names that stand for code without a name."""
    frames, renames = _frames_of(profile), compile_renames("rename", replacements)
    mapping = as_int64(np.where(frames.function < 0, profile.locations.mapping[frames.location], -1))
    # a kind is a function, or a mapping in which functions are unknown
    first, kind = group_rows([frames.function, mapping])
    old_names = [frame_name(profile, *pair) for pair in zip(frames.function[first], mapping[first], strict=True)]
    new_names = list(old_names)
    for pattern, name in renames:
        with match_time_limited("rename", (pattern.text,)):
            results = [pattern.regex.subn(name, text) for text in new_names]
        unmatched.record_pattern("rename", pattern.text, any(count for _, count in results))
        new_names = [text for text, _ in results]
    # A renamed function keeps its row, file and system name, but takes over the name of an appended function. A frame
    # without a function gets the appended function.
    distinct, name_index = number_keys(new_names)
    renamed, new_function = _with_functions(profile, distinct), len(profile.functions) + name_index
    is_changed = np.array(old_names, object) != np.array(new_names, object)
    names, has_function = renamed.functions.name.copy(), is_changed & (frames.function[first] >= 0)
    names[frames.function[first][has_function]] = names[new_function[has_function]]
    function = np.where(is_changed[kind] & (frames.function < 0), new_function[kind], frames.function)
    renamed = replace(renamed, functions=replace(renamed.functions, name=names))
    return _replace_frames(renamed, replace(frames, function=function), arange(len(profile.locations)))


def _frames_of(profile: Profile) -> _Frames:
    locations = profile.locations
    counts = np.diff(locations.line_offsets)
    without_lines = as_intp(locations.line_offsets[:-1][counts == 0])
    function = np.insert(as_int64(locations.line_function), without_lines, -1)
    number = np.insert(as_int64(locations.line_number), without_lines, 0)
    return _Frames(row_numbers(np.maximum(counts, 1)), function, number)


def _replace_frames(profile: Profile, frames: _Frames, origin: I64) -> Profile:
    """``origin`` (new locations,) has the old location of each new one."""
    old, has_function = profile.locations, frames.function >= 0
    locations = replace(
        take_locations(old, origin),
        line_offsets=offsets_of(bincount(frames.location[has_function], len(origin))),
        line_function=as_int32(frames.function[has_function]),
        line_number=as_int32(frames.line_number[has_function]),
    )
    return replace(profile, locations=locations)


def all_frames_match(profile: Profile, pattern: str) -> Bools:
    """Return (locations,) True for locations whose frames all match a pattern of ``--hide``."""
    frames, is_match = _matching_frames(profile, "hide", (pattern,), UnmatchedFilters())
    return ~_locations_with(profile, frames, ~is_match)


def _with_functions(profile: Profile, names: list[str]) -> Profile:
    return replace(with_synthetic_frames(profile, names)[0], locations=profile.locations)


def _locations_with(profile: Profile, frames: _Frames, is_chosen: Bools) -> Bools:
    return bincount(frames.location[is_chosen], len(profile.locations)) > 0


def _keep_frames(profile: Profile, frames: _Frames, is_kept: Bools, unmatched: UnmatchedFilters) -> Profile:
    """Keep the frames where ``is_kept`` (frames,); drop, and count, samples whose stacks become empty."""
    if is_kept.all():
        return profile
    has_frames = _locations_with(profile, frames, is_kept)
    is_dropped = (profile.samples.stack >= 0) & ~_stacks_with(profile, has_frames)
    unmatched.diagnostics.add("samples_without_frames", "", sum_of(profile.samples.count[is_dropped]))
    kept_frames = take_rows_of(frames, is_kept)
    remaining = _replace_frames(keep_samples(profile, ~is_dropped), kept_frames, arange(len(profile.locations)))
    return rewrite_stacks(remaining, lambda rows: select_entries(rows, has_frames[rows.values]))


def _stacks_with(profile: Profile, is_chosen: Bools) -> Bools:
    count = path_sums(profile.stacks.parent, as_int64(is_chosen[profile.stacks.location]))
    return np.append(count > 0, False)[profile.samples.stack]


def _matching_frames(
    profile: Profile, setting: str, patterns: Patterns, unmatched: UnmatchedFilters
) -> tuple[_Frames, Bools]:
    frames = _frames_of(profile)
    return frames, _match_numbers(profile, frames, setting, patterns, unmatched)[0] >= 0


def _match_numbers(
    profile: Profile, frames: _Frames, setting: str, typed: Patterns, unmatched: UnmatchedFilters
) -> tuple[I64, list[str]]:
    """Match each frame with the first pattern that finds a text (`Pattern.matched_text`).

    Returns (frames,) the index of this text, −1 for none, and the list of distinct texts.
    """
    mapping = as_int64(profile.locations.mapping[frames.location])
    mode = as_int64(profile.locations.mode[frames.location])
    first, frame_index = group_rows([frames.function, mapping, mode])
    columns_of_distinct = [column[first].tolist() for column in (frames.function, mapping, mode)]
    numbers: dict[str, int] = {}
    match_number = minus_ones(len(first))
    patterns_with_match: set[Pattern] = set()
    patterns = compile_patterns(setting, typed)
    with match_time_limited(setting, typed):
        for row, frame in enumerate(zip(*columns_of_distinct, strict=True)):
            matches = {pattern: text for pattern in patterns if (text := pattern.matched_text(profile, *frame))}
            patterns_with_match.update(matches)
            for text in [*matches.values()][:1]:  # only the first pattern's text counts
                match_number[row] = numbers.setdefault(text, len(numbers))
    for pattern in dict.fromkeys(patterns):
        # presets are not reported: the program need not use their runtimes
        unmatched.record_pattern(setting, pattern.text, pattern in patterns_with_match or pattern.is_preset)
    return match_number[frame_index], list(numbers)
