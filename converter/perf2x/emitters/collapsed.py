"""Collapsed ("folded") stacks: ``comm;root;…;leaf 42``, one line per stack, for flamegraph.pl, inferno, grep and diff.

Rules follow stackcollapse-perf.pl: ``;`` in names becomes ``:``, spaces in the process name become ``_``, lines are
sorted bytewise. Unlike that script, perf2x never guesses: kernel frames are recognized by CPU mode, and counts of
several events are never mixed.
"""

import io
from collections.abc import Iterator
from typing import Annotated, BinaryIO, Literal

import numpy as np

from perf2x.base.abi import CpuMode
from perf2x.base.columnar import (
    I64,
    AnyArray,
    arange,
    argsort,
    argsort_rows,
    as_int64,
    falses,
    flatnonzero,
    row_batches,
    row_numbers,
    row_slices,
    sum_at,
    take,
    unique,
    unique_inverse,
)
from perf2x.emitters.encoding.decimal_text import chunk_array, number_chunks
from perf2x.errors import OptionError
from perf2x.model.plugin_options import Format, Needs
from perf2x.model.printable_text import one_line
from perf2x.model.profile import (
    NO_STACK,
    FrameRows,
    LocationFrames,
    Profile,
    are_jit,
    expand,
    find_event,
    folded,
    location_frames,
    paths_of_length,
    reading_order,
)
from perf2x.model.setting import Setting

_MANY = 1 << 16
"""Rows of the tree of stacks above which a thread writes while the main thread formats."""
_WORDS_AT_ONCE = 1 << 19
"""Words of lines to collect before writing."""
_WORDS_PER_WRITE = 1 << 14
"""Words to join at once: half a MiB of text, which stays in the CPU's cache until it is written."""


class Collapsed(Format):
    """Collapsed stacks, one line each: for flamegraph.pl, inferno, Speedscope, grep and diff."""

    suffix = ".folded"

    event: Annotated[
        str | None,
        Setting("Event to count, or 'all' (with value=samples); default: the recording's first.", ("--event",)),
    ] = None
    value: Annotated[
        Literal["period", "samples"],
        Setting("Number on each line: the sum of the periods, or of the samples.", ("--value",)),
    ] = "period"
    kernel_suffix: Annotated[bool, Setting("Mark kernel functions with _[k].", ("--kernel-suffix",))] = False
    jit_suffix: Annotated[bool, Setting("Mark just-in-time compiled functions with _[j].")] = False
    inline_suffix: Annotated[bool, Setting("Mark inlined functions with _[i].")] = False
    annotate_all: Annotated[bool, Setting("Mark kernel and just-in-time compiled functions, as inferno's --all.")] = (
        False
    )
    with_pid: Annotated[bool, Setting("Root frames are comm-PID.")] = False
    with_tid: Annotated[bool, Setting("Root frames are comm-PID/TID.")] = False
    root: Annotated[bool, Setting("Begin every line with the name of its thread.")] = True

    def __post_init__(self) -> None:
        Format.__post_init__(self)
        if self.event == "all" and self.value != "samples":
            raise OptionError("periods of different events do not add up: event=all needs value=samples")

    @property
    def needs(self) -> Needs:
        """Sums by thread name are needed, unless lines show thread ids."""
        viewer = "open it: flamegraph.pl {0} > flame.svg, or drop it on speedscope.app"
        return Needs(threads=self.with_pid or self.with_tid, viewer=viewer)

    def emit(self, profile: Profile, out: BinaryIO) -> None:
        """Write sorted lines, each followed by a newline."""
        if len(profile.stacks) < _MANY:
            out.writelines(self.lines(profile))
            return
        from perf2x.base.files.background_writer import BackgroundWriter

        with BackgroundWriter(out) as beside:
            beside.writelines(self.lines(profile))

    def notes(self, profile: Profile) -> tuple[str, ...]:
        """Return the unit of the numbers, and the events that are not written."""
        if self.event == "all":
            return ("numbers are samples of all events",)
        if not profile.events:
            return ("there are no events",)
        chosen = find_event(profile, self.event)
        event = profile.events[chosen]
        unit = "samples" if self.value == "samples" else event.unit if event.unit != "count" else "events"
        others = [profile.events[row].name for row in unique(profile.samples.event).tolist() if row != chosen]
        left_out = f"; other events: {', '.join(others)} (select with event=NAME)" if others else ""
        return (f"numbers are {unit} of {event.name}{left_out}",)

    def lines(self, profile: Profile) -> Iterator[bytes]:
        """Yield the output, a few thousand lines at a time."""
        if not profile.events:
            return
        rows, weight = self._chosen(profile)
        frames = location_frames(profile)
        texts, key_of_frame = _interned([*self._frame_texts(profile, frames), NO_STACK.encode()])
        named = self.root and not profile.own_roots
        roots, root_of_thread = _interned(
            [self._root_text(profile, row) if named else b"" for row in range(len(profile.threads))]
        )
        tree = folded(_with_no_stack(expand(profile.stacks, frames.of_location), len(frames)), key_of_frame)
        root, count = root_of_thread[profile.samples.thread[rows]], len(tree.parent)
        line, place = unique_inverse(root * count + tree.row_of_stack[profile.samples.stack[rows]])
        value = sum_at(place, weight, len(line))
        key = key_of_frame[tree.frame]
        is_line = falses(count)
        is_line[line % count] = True
        inner, leaf = _ranks(texts)
        position = reading_order(tree, inner[key], leaf[key], is_line)
        order = argsort_rows([line // count, position[line % count]])
        root, row = np.divmod(line[order], count)
        yield from _lines(tree, key, row, texts, (root, roots if named else []), value[order])

    def _chosen(self, profile: Profile) -> tuple[I64, I64]:
        """Return the rows of the selected event and the weight of each."""
        samples = profile.samples
        if self.event == "all":
            rows = arange(len(samples))
        else:
            rows = flatnonzero(samples.event == find_event(profile, self.event))
        return rows, (samples.count if self.value == "samples" else samples.value)[rows]

    def _root_text(self, profile: Profile, thread: int) -> bytes:
        comm = one_line(profile.strings[profile.threads.comm[thread]]).replace(" ", "_").replace(";", ":")
        numbers = (int(profile.threads.pid[thread]), int(profile.threads.tid[thread]))
        pid, tid = ("?" if number < 0 else str(number) for number in numbers)
        suffix = f"-{pid}/{tid}" if self.with_tid else f"-{pid}" if self.with_pid else ""
        return ((comm or "?") + suffix).encode()

    def _frame_texts(self, profile: Profile, frames: LocationFrames) -> list[bytes]:
        names = (one_line(name).replace(";", ":") or "[unknown]" for name in frames.name)
        return [(name + mark).encode() for name, mark in zip(names, self._marks(profile, frames).tolist(), strict=True)]

    def _marks(self, profile: Profile, frames: LocationFrames) -> AnyArray:
        """Return (frames,) the suffix of each name, such as ``_[k]``."""
        marks = np.full(len(frames), "", "U4")
        if self.jit_suffix or self.annotate_all:
            marks[are_jit(profile, frames)] = "_[j]"
        if self.kernel_suffix or self.annotate_all:
            marks[np.isin(frames.mode, (CpuMode.KERNEL, CpuMode.GUEST_KERNEL))] = "_[k]"
        if self.inline_suffix:
            marks[frames.inlined] = "_[i]"
        return marks


def _interned(texts: list[bytes]) -> tuple[list[bytes], I64]:
    """Return the distinct texts, in bytewise order of the lines that begin with them, and the row of each text."""
    unique = sorted(set(texts), key=lambda text: text + b";")
    row = {text: number for number, text in enumerate(unique)}
    return unique, as_int64([row[text] for text in texts])


def _with_no_stack(rows: FrameRows, frame: int) -> FrameRows:
    """Give samples without a stack (row −1) a ``frame``, because some readers reject lines of one frame."""
    row_of_stack = np.append(rows.row_of_stack, len(rows.parent))
    return FrameRows(np.append(rows.parent, -1), np.append(rows.frame, frame), row_of_stack, np.append(rows.depth, 0))


def _lines(
    tree: FrameRows, key: I64, row: I64, texts: list[bytes], roots: tuple[I64, list[bytes]], value: I64
) -> Iterator[bytes]:
    """Yield lines (n,) that end at rows of the tree, a few thousand words at a time.

    ``key`` is the index of each tree row's text; ``roots`` are the index of each line's first text, and these texts.
    Without roots, lines begin with the outermost frame.
    """
    root, names = roots
    words = [*(text + b";" for text in texts), *(text + b" " for text in texts), *(text + b";" for text in names)]
    table, added = chunk_array(words), 1 + bool(names)
    lengths = tree.depth[row] + 1
    for part in row_batches(lengths, _WORDS_AT_ONCE):
        path = paths_of_length(tree.parent, row[part], lengths[part], outermost_first=True)
        line = row_numbers(path.lengths)
        word = np.empty(len(line) + added * len(part), np.int64)
        place = arange(len(line)) + added * line + (added - 1)
        word[place] = key[path.values]
        ends = place[path.offsets[1:] - 1]
        word[ends] += len(texts)
        word[ends + 1] = len(words) + arange(len(part))
        if names:
            word[place[path.offsets[:-1]] - 1] = 2 * len(texts) + root[part]
        all_words = np.append(table, number_chunks(value[part], b"\n"))
        for some in row_slices(len(word), _WORDS_PER_WRITE):
            yield b"".join(take(all_words, word[some]).tolist())


def _ranks(texts: list[bytes]) -> tuple[I64, I64]:
    """Return the sort position of each text when followed by ``;`` (an inner frame), and when it ends the line."""
    variants = [text + b";" for text in texts] + texts
    rank = argsort(as_int64(sorted(range(len(variants)), key=variants.__getitem__)))
    return rank[: len(texts)], rank[len(texts) :]


def two_columns(before: Profile, after: Profile, emitter: Collapsed) -> Iterator[bytes]:
    """Yield lines ``stack before after``, as difffolded.pl writes them, sorted bytewise."""
    old, new = _two_column_lines(before, emitter), _two_column_lines(after, emitter)
    for stack in sorted(old.keys() | new.keys()):
        yield b"%b %d %d\n" % (stack, old.get(stack, 0), new.get(stack, 0))


def _two_column_lines(profile: Profile, emitter: Collapsed) -> dict[bytes, int]:
    out = io.BytesIO()
    emitter.emit(profile, out)
    pairs = (line.rpartition(b" ") for line in out.getvalue().splitlines())
    return {stack: int(number) for stack, _, number in pairs}
