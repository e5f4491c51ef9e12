"""Collapsed ("folded") stacks: ``comm;root;…;leaf 42``, one line per stack, for flamegraph.pl, inferno, grep and diff.

As in stackcollapse-perf.pl, ``;`` in names becomes ``:``, spaces in the process name become ``_``, and lines are sorted
bytewise. A line is written as *words*: a frame with the separator after it, or a number with its newline. Each distinct
word is made once.
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
    line_positions,
    location_frames,
    merge_siblings,
    paths_of_length,
)
from perf2x.model.setting import Setting

_ROWS_FOR_WRITER_THREAD = 1 << 16
"""If Profile.stacks has this many rows, a second thread writes the file while the first one makes the lines."""
_WORDS_AT_ONCE = 1 << 19
"""Number of words whose indices are computed together."""
_WORDS_PER_WRITE = 1 << 14
"""Number of words that are joined at once: half a MiB of text, which stays in the CPU's cache until it is written."""


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
        """Sums by thread name are needed, unless lines show process or thread ids."""
        viewer = "open it: flamegraph.pl {0} > flame.svg, or drop it on speedscope.app"
        return Needs(threads=self.with_pid or self.with_tid, viewer=viewer)

    def emit(self, profile: Profile, out: BinaryIO) -> None:
        """Write sorted lines, each followed by a newline."""
        if len(profile.stacks) < _ROWS_FOR_WRITER_THREAD:
            out.writelines(self.lines(profile))
            return
        from perf2x.base.files.background_writer import BackgroundWriter

        with BackgroundWriter(out) as writer:
            writer.writelines(self.lines(profile))

    def notes(self, profile: Profile) -> tuple[str, ...]:
        """Say what the numbers count, and which events are not written."""
        if self.event == "all":
            return ("numbers are samples of all events",)
        if not profile.events:
            return ("there are no events",)
        selected = find_event(profile, self.event)
        event = profile.events[selected]
        unit = "samples" if self.value == "samples" else event.unit if event.unit != "count" else "events"
        others = [profile.events[row].name for row in unique(profile.samples.event).tolist() if row != selected]
        left_out = f"; other events: {', '.join(others)} (select with event=NAME)" if others else ""
        return (f"numbers are {unit} of {event.name}{left_out}",)

    def lines(self, profile: Profile) -> Iterator[bytes]:
        """Yield the output in pieces, each usually many lines long; a piece may end within a line."""
        if not profile.events:
            return
        rows, weight = self._selected_samples(profile)
        frames = location_frames(profile)
        frame_texts, frame_keys = _sorted_distinct([*self._frame_texts(profile, frames), NO_STACK.encode()])
        has_roots = self.root and not profile.has_final_roots
        root_texts, thread_roots = _sorted_distinct(
            [self._root_text(profile, row) if has_roots else b"" for row in range(len(profile.threads))]
        )
        tree = merge_siblings(_with_no_stack(expand(profile.stacks, frames.of_location), len(frames)), frame_keys)
        # a pair of root and row of the tree is one integer; in ascending order, pairs are grouped by root
        root, tree_rows = thread_roots[profile.samples.thread[rows]], len(tree.parent)
        line, sample_lines = unique_inverse(root * tree_rows + tree.row_of_stack[profile.samples.stack[rows]])
        value = sum_at(sample_lines, weight, len(line))
        text_index = frame_keys[tree.frame]
        is_line = falses(tree_rows)
        is_line[line % tree_rows] = True
        rank_of_inner, rank_of_leaf = _ranks(frame_texts)
        line_rank = line_positions(tree, rank_of_inner[text_index], rank_of_leaf[text_index], is_line)
        order = argsort_rows([line // tree_rows, line_rank[line % tree_rows]])
        root, leaf_row = np.divmod(line[order], tree_rows)
        yield from _lines(
            tree, leaf_row, (text_index, frame_texts), (root, root_texts if has_roots else []), value[order]
        )

    def _selected_samples(self, profile: Profile) -> tuple[I64, I64]:
        samples = profile.samples
        if self.event == "all":
            rows = arange(len(samples))
        else:
            rows = flatnonzero(samples.event == find_event(profile, self.event))
        return rows, (samples.count if self.value == "samples" else samples.value)[rows]

    def _root_text(self, profile: Profile, thread: int) -> bytes:
        comm = one_line(profile.strings[profile.threads.comm[thread]]).replace(" ", "_").replace(";", ":")
        ids = (int(profile.threads.pid[thread]), int(profile.threads.tid[thread]))
        pid, tid = ("?" if number < 0 else str(number) for number in ids)
        suffix = f"-{pid}/{tid}" if self.with_tid else f"-{pid}" if self.with_pid else ""
        return ((comm or "?") + suffix).encode()

    def _frame_texts(self, profile: Profile, frames: LocationFrames) -> list[bytes]:
        names = (one_line(name).replace(";", ":") or "[unknown]" for name in frames.name)
        suffixes = self._suffixes(profile, frames).tolist()
        return [(name + suffix).encode() for name, suffix in zip(names, suffixes, strict=True)]

    def _suffixes(self, profile: Profile, frames: LocationFrames) -> AnyArray:
        suffixes = np.full(len(frames), "", "U4")
        if self.jit_suffix or self.annotate_all:
            suffixes[are_jit(profile, frames)] = "_[j]"
        if self.kernel_suffix or self.annotate_all:
            suffixes[np.isin(frames.mode, (CpuMode.KERNEL, CpuMode.GUEST_KERNEL))] = "_[k]"
        if self.inline_suffix:
            suffixes[frames.inlined] = "_[i]"
        return suffixes


def _sorted_distinct(texts: list[bytes]) -> tuple[list[bytes], I64]:
    """Return the distinct texts in bytewise order of lines (``a-b;`` is before ``a;``), and the index of each text."""
    distinct = sorted(set(texts), key=lambda text: text + b";")
    index = {text: number for number, text in enumerate(distinct)}
    return distinct, as_int64([index[text] for text in texts])


def _with_no_stack(tree: FrameRows, frame: int) -> FrameRows:
    """Add a stack of one ``frame`` for samples without a stack (−1); some readers reject lines with only a root."""
    row_of_stack = np.append(tree.row_of_stack, len(tree.parent))
    return FrameRows(np.append(tree.parent, -1), np.append(tree.frame, frame), row_of_stack, np.append(tree.depth, 0))


def _lines(
    tree: FrameRows, leaf_row: I64, frames: tuple[I64, list[bytes]], roots: tuple[I64, list[bytes]], value: I64
) -> Iterator[bytes]:
    """Yield lines in pieces of many words; a piece may end within a line.

    ``leaf_row`` (lines,) is the row of the tree at which each line ends. ``frames`` and ``roots`` are indices into
    texts, and the texts.
    """
    (text_index, frame_texts), (root, root_texts) = frames, roots
    words = [
        *(text + b";" for text in frame_texts),
        *(text + b" " for text in frame_texts),
        *(text + b";" for text in root_texts),
    ]
    # besides its frames, a line has a word for its number and perhaps one for its root
    word_table, extra_words = chunk_array(words), 1 + bool(root_texts)
    lengths = tree.depth[leaf_row] + 1
    for batch in row_batches(lengths, _WORDS_AT_ONCE):
        path = paths_of_length(tree.parent, leaf_row[batch], lengths[batch], outermost_first=True)
        line = row_numbers(path.lengths)  # of each frame
        word = np.empty(len(line) + extra_words * len(batch), np.int64)
        frame_words = arange(len(line)) + extra_words * line + (extra_words - 1)  # indices in word
        word[frame_words] = text_index[path.values]
        leaf_words = frame_words[path.offsets[1:] - 1]
        word[leaf_words] += len(frame_texts)  # a space follows the leaf
        word[leaf_words + 1] = len(words) + arange(len(batch))  # the numbers of this batch, appended below
        if root_texts:
            word[frame_words[path.offsets[:-1]] - 1] = 2 * len(frame_texts) + root[batch]
        all_words = np.append(word_table, number_chunks(value[batch], b"\n"))
        for rows in row_slices(len(word), _WORDS_PER_WRITE):
            yield b"".join(take(all_words, word[rows]).tolist())


def _ranks(texts: list[bytes]) -> tuple[I64, I64]:
    """Return the sort position of each text as an inner frame (``;`` follows) and as a leaf, among both kinds."""
    variants = [text + b";" for text in texts] + texts
    rank = argsort(as_int64(sorted(range(len(variants)), key=variants.__getitem__)))
    return rank[: len(texts)], rank[len(texts) :]


def two_columns(before: Profile, after: Profile, emitter: Collapsed) -> Iterator[bytes]:
    """Yield lines ``stack before after``, as difffolded.pl writes them, sorted bytewise."""
    values_before, values_after = _value_by_stack(before, emitter), _value_by_stack(after, emitter)
    for stack in sorted(values_before.keys() | values_after.keys()):
        yield b"%b %d %d\n" % (stack, values_before.get(stack, 0), values_after.get(stack, 0))


def _value_by_stack(profile: Profile, emitter: Collapsed) -> dict[bytes, int]:
    out = io.BytesIO()
    emitter.emit(profile, out)
    pairs = (line.rpartition(b" ") for line in out.getvalue().splitlines())
    return {stack: int(number) for stack, _, number in pairs}
