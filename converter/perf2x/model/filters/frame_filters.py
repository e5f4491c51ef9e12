"""Filters by patterns of frames: they hide, keep, rename or collapse frames, drop samples and truncate stacks.

Each pattern is matched once per distinct frame; stacks are changed in columns. FILTERS in profile_filters.py determines
their order.
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
from perf2x.model.filters.frame_presets import Pattern, matching, patterns_of, renames_of
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


class _FrameLines(ColumnTable):
    """The frames of locations, innermost first; a location without lines has one frame without a function."""

    location: I64
    function: I64
    """−1 if there is none."""
    number: I64
    """Line number, 0: unknown."""


def hide(profile: Profile, texts: Patterns, unmatched: UnmatchedFilters) -> Profile:
    """Remove matching frames from stacks, so that their cost goes to their callers.

    Samples without remaining frames are dropped.
    """
    lines, is_hit = _hit(profile, "hide", texts, unmatched)
    return _with_frames(profile, lines, ~is_hit, unmatched)


def keep(profile: Profile, texts: Patterns, unmatched: UnmatchedFilters) -> Profile:
    """Keep only matching frames; drop samples without remaining frames."""
    return _with_frames(profile, *_hit(profile, "keep", texts, unmatched), unmatched)


def focus(profile: Profile, texts: Patterns, unmatched: UnmatchedFilters) -> Profile:
    """Drop samples without a matching frame."""
    touched = _has_any(profile, _any_line(profile, *_hit(profile, "focus", texts, unmatched)))
    return keep_samples(profile, touched)


def ignore(profile: Profile, texts: Patterns, unmatched: UnmatchedFilters) -> Profile:
    """Drop samples with a matching frame."""
    touched = _has_any(profile, _any_line(profile, *_hit(profile, "ignore", texts, unmatched)))
    return keep_samples(profile, ~touched)


def skip_after(profile: Profile, texts: Patterns, unmatched: UnmatchedFilters) -> Profile:
    """Remove the callers of the innermost matching frame from each stack; stacks without a match stay whole."""
    lines, is_hit = _hit(profile, "skip_after", texts, unmatched)
    before: I64 = cumsum(is_hit) - is_hit  # innermost lines come first
    starts = offsets_of(bincount(lines.location, len(profile.locations)))[:-1]
    inner_lines = take_rows_of(lines, before == before[starts][lines.location])
    cut = _with_lines(profile, inner_lines, arange(len(profile.locations)))
    has_hit = _any_line(profile, lines, is_hit)

    def inner(rows: ListArray) -> ListArray:
        hits = np.append(0, cumsum(has_hit[rows.values]))  # outermost locations come first
        return select_entries(rows, repeat(hits[rows.offsets[1:]], rows.lengths) == hits[1:])

    return rewrite_stacks(cut, inner)


def collapse(profile: Profile, texts: Patterns, unmatched: UnmatchedFilters) -> Profile:
    """Merge runs of matching frames into one, named ``[libfoo.so]`` if the object matched, else by the matching text.

    ::

        outermost first      main  a (lib)  b (lib)  main2  c (lib)
        result               main  [lib]             main2  [lib]
    """
    lines = _lines_of(profile)
    label, found = _matches(profile, lines, "collapse", texts, unmatched)
    names = [bracketed(text) for text in found]
    function = np.where(label < 0, lines.function, len(profile.functions) + label)
    lines = _FrameLines(lines.location, function, np.where(label < 0, lines.number, 0))
    stays = begins_run(lines.location, label) | (label < 0)
    lines, label = take_rows_of(lines, stays), label[stays]
    ends = cumsum(bincount(lines.location, len(profile.locations)))
    lengths = np.diff(ends, prepend=0)
    outer, inner = label[ends - 1], label[ends - lengths]
    # if a location's outermost frame has the label of its caller's innermost frame, the two become one: a location
    # with the rest of its frames replaces it
    rest = flatnonzero((outer >= 0) & (lengths > 1))
    of_rest = take_rows_of(lines, ranges((ends - lengths)[rest], lengths[rest] - 1))
    of_rest = replace(of_rest, location=row_numbers(lengths[rest] - 1) + len(profile.locations))
    twin = minus_ones(len(profile.locations))
    twin[rest] = len(profile.locations) + arange(len(rest))
    origin = np.append(arange(len(profile.locations)), rest)
    made = _with_lines(_with_functions(profile, names), join_tables([lines, of_rest]), origin)

    def joined(rows: ListArray) -> ListArray:
        values = rows.values
        goes_on = (outer[values] >= 0) & (outer[values] == of_previous(inner[values], -1))
        goes_on[rows.offsets[:-1][rows.lengths > 0]] = False
        changed = np.where(goes_on, twin[values], values)
        return select_entries(ListArray(rows.offsets, changed), changed >= 0)

    return rewrite_stacks(made, joined)


def rename(profile: Profile, texts: Patterns, unmatched: UnmatchedFilters) -> Profile:
    r"""Replace matches of ``RE=NAME`` in function names, and in object names that stand for code without a name."""
    lines, renames = _lines_of(profile), renames_of("rename", texts)
    mapping = as_int64(np.where(lines.function < 0, profile.locations.mapping[lines.location], -1))
    first, kind = group_rows([lines.function, mapping])
    old = [frame_name(profile, *pair) for pair in zip(lines.function[first], mapping[first], strict=True)]
    new = list(old)
    for pattern, name in renames:
        with matching("rename", (pattern.text,)):
            found = [pattern.regex.subn(name, text) for text in new]
        unmatched.looked_for(pattern.text, any(count for _, count in found))
        new = [text for text, _ in found]
    distinct, place = number_keys(new)
    made, to = _with_functions(profile, distinct), len(profile.functions) + place
    changed = np.array(old, object) != np.array(new, object)
    names, named = made.functions.name.copy(), changed & (lines.function[first] >= 0)
    names[lines.function[first][named]] = names[to[named]]
    function = np.where(changed[kind] & (lines.function < 0), to[kind], lines.function)
    made = replace(made, functions=replace(made.functions, name=names))
    return _with_lines(made, replace(lines, function=function), arange(len(profile.locations)))


def _lines_of(profile: Profile) -> _FrameLines:
    """Return the frames of all locations, in order."""
    locations = profile.locations
    lines = np.diff(locations.line_offsets)
    bare = as_intp(locations.line_offsets[:-1][lines == 0])
    function = np.insert(as_int64(locations.line_function), bare, -1)
    number = np.insert(as_int64(locations.line_number), bare, 0)
    return _FrameLines(row_numbers(np.maximum(lines, 1)), function, number)


def _with_lines(profile: Profile, lines: _FrameLines, origin: I64) -> Profile:
    """Return the profile with new locations, whose frames are ``lines``.

    ``origin``: the old location from which each new one takes its other columns.
    """
    old, named = profile.locations, lines.function >= 0
    locations = replace(
        take_locations(old, origin),
        line_offsets=offsets_of(bincount(lines.location[named], len(origin))),
        line_function=as_int32(lines.function[named]),
        line_number=as_int32(lines.number[named]),
    )
    return replace(profile, locations=locations)


def all_match(profile: Profile, text: str) -> Bools:
    """Return (locations,) True where all frames match."""
    lines, is_hit = _hit(profile, "hide", (text,), UnmatchedFilters())
    return ~_any_line(profile, lines, ~is_hit)


def _with_functions(profile: Profile, names: list[str]) -> Profile:
    """Return the profile with functions of these names appended."""
    return replace(with_synthetic_frames(profile, names)[0], locations=profile.locations)


def _any_line(profile: Profile, lines: _FrameLines, is_hit: Bools) -> Bools:
    """Return (locations,) True where any frame is hit."""
    return bincount(lines.location[is_hit], len(profile.locations)) > 0


def _with_frames(profile: Profile, lines: _FrameLines, stays: Bools, unmatched: UnmatchedFilters) -> Profile:
    """Return the profile with only the frames of ``stays``; samples without remaining frames are counted as dropped."""
    if stays.all():
        return profile
    is_left = _any_line(profile, lines, stays)
    gone = (profile.samples.stack >= 0) & ~_has_any(profile, is_left)
    unmatched.diagnostics.add("samples_without_frames", "", sum_of(profile.samples.count[gone]))
    cut = _with_lines(keep_samples(profile, ~gone), take_rows_of(lines, stays), arange(len(profile.locations)))
    return rewrite_stacks(cut, lambda rows: select_entries(rows, is_left[rows.values]))


def _has_any(profile: Profile, locations: Bools) -> Bools:
    """Return (samples,) True where the stack contains one of the locations."""
    count = path_sums(profile.stacks.parent, as_int64(locations[profile.stacks.location]))
    return np.append(count > 0, False)[profile.samples.stack]


def _hit(profile: Profile, setting: str, texts: Patterns, unmatched: UnmatchedFilters) -> tuple[_FrameLines, Bools]:
    """Return the frames of all locations, and (lines,) True where a pattern matches."""
    lines = _lines_of(profile)
    return lines, _matches(profile, lines, setting, texts, unmatched)[0] >= 0


def _matches(
    profile: Profile, lines: _FrameLines, setting: str, texts: Patterns, unmatched: UnmatchedFilters
) -> tuple[I64, list[str]]:
    """Return (lines,) the index of the text that the first matching pattern matched, −1 for none; and these texts."""
    mapping = as_int64(profile.locations.mapping[lines.location])
    mode = as_int64(profile.locations.mode[lines.location])
    first, kind = group_rows([lines.function, mapping, mode])
    frames = [column[first].tolist() for column in (lines.function, mapping, mode)]
    numbers: dict[str, int] = {}
    label = minus_ones(len(first))
    fitting: set[Pattern] = set()
    patterns = patterns_of(setting, texts)
    with matching(setting, texts):
        for row, frame in enumerate(zip(*frames, strict=True)):
            found = {pattern: text for pattern in patterns if (text := pattern.found(profile, *frame))}
            fitting.update(found)
            for text in [*found.values()][:1]:
                label[row] = numbers.setdefault(text, len(numbers))
    for pattern in patterns:
        unmatched.looked_for(pattern.text, pattern in fitting or pattern.is_ready_made)
    return label[kind], list(numbers)
