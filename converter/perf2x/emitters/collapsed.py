"""Collapsed ("folded") stacks: ``comm;root;…;leaf 42``, one line per stack, for flamegraph.pl, inferno, grep and diff.

Rules follow stackcollapse-perf.pl: ``;`` in names becomes ``:``, spaces in the process name become ``_``, lines are
sorted bytewise. Unlike it we never guess: kernel frames are known by CPU mode, and a count is never mixed from events.
"""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, ClassVar

import numpy as np

from perf2x.base.abi.uapi import CpuMode
from perf2x.base.columnar.arrays import I64, AnyArray, arange, flatnonzero, row_slices
from perf2x.base.columnar.ragged import row_numbers
from perf2x.base.columnar.unique import unique, unique_inverse
from perf2x.base.errors import OptionError
from perf2x.emitters.encoding.decimal_text import chunk_array, number_chunks
from perf2x.model.plugin_options import Needs, check_choices, option
from perf2x.model.printable_text import one_line
from perf2x.model.profile.frame_tree import FrameTree, expand, merge_stacks, reading_order
from perf2x.model.profile.profile import Profile, find_event
from perf2x.model.profile.shown_frames import NO_STACK, LocationFrames, are_jit, location_frames
from perf2x.model.profile.stack_tree import paths_of_length

_LINES_PER_WRITE = 4096


@dataclass(frozen=True, slots=True)
class Collapsed:
    """Collapsed stacks, one line each: for flamegraph.pl, inferno, Speedscope, grep and diff."""

    suffix: ClassVar[str] = ".folded"

    event: str | None = option(None, "event to count, or 'all' (with value=samples); default: the recording's first")
    value: str = option("period", "what the number is: the event's period summed, or samples", ("period", "samples"))
    kernel_suffix: bool = option(False, "mark kernel functions with _[k]")
    jit_suffix: bool = option(False, "mark just-in-time compiled functions with _[j]")
    inline_suffix: bool = option(False, "mark inlined functions with _[i]")
    annotate_all: bool = option(False, "mark kernel and just-in-time compiled functions, as inferno's --all")
    with_pid: bool = option(False, "root frames are comm-PID")
    with_tid: bool = option(False, "root frames are comm-PID/TID")
    root: bool = option(True, "begin every line with the name of its thread")

    def __post_init__(self) -> None:
        check_choices(self)
        if self.event == "all" and self.value != "samples":
            raise OptionError("periods of different events do not add up: event=all needs value=samples")

    @property
    def needs(self) -> Needs:
        """Sums by name of thread, unless lines have numbers of threads."""
        viewer = "open it: flamegraph.pl {0} > flame.svg, or drop it on speedscope.app"
        return Needs(threads=self.with_pid or self.with_tid, viewer=viewer)

    def emit(self, profile: Profile, out: BinaryIO) -> None:
        """Write sorted lines, each ended by a newline."""
        for chunk in self.lines(profile):
            out.write(chunk)

    def notes(self, profile: Profile) -> tuple[str, ...]:
        """Unit of the numbers, and the events that are left out."""
        if self.event == "all":
            return ("numbers are samples of all events",)
        if not profile.events:
            return ("there are no events",)
        chosen = find_event(profile, self.event)
        event = profile.events[chosen]
        unit = "samples" if self.value == "samples" else event.unit if event.unit != "count" else "events"
        others = [profile.events[row].name for row in unique(profile.samples.event).tolist() if row != chosen]
        left_out = f"; left out: {', '.join(others)} (event=NAME chooses)" if others else ""
        return (f"numbers are {unit} of {event.name}{left_out}",)

    def lines(self, profile: Profile) -> Iterator[bytes]:
        """Yield the output, some thousand lines at a time."""
        if not profile.events:
            return
        rows, weight = self._chosen(profile)
        frames = location_frames(profile)
        texts, key_of_frame = _interned(self._frame_texts(profile, frames))
        named = self.root and not profile.own_roots
        threads = range(len(profile.threads))
        roots, root_of_thread = _interned([self._root_text(profile, row) if named else b"" for row in threads])
        used, group = unique_inverse(root_of_thread[profile.samples.thread[rows]])
        tree, node = merge_stacks(
            expand(profile.stacks, frames.of_location),
            key_of_frame,
            group,
            profile.samples.stack[rows].astype(np.int64),
        )
        tree, node = _with_no_stack(tree, node, len(texts))
        texts.append(NO_STACK.encode())
        value = np.zeros(len(tree), np.int64)
        np.add.at(value, node, weight)
        seen = np.zeros(len(tree), np.int64)
        seen[node] = 1
        yield from _stack_lines(tree, seen, value, [roots[root] for root in used.tolist()], texts, 0 if named else 1)

    def _chosen(self, profile: Profile) -> tuple[I64, I64]:
        """Return the rows of the wanted event and the weight of each."""
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
        """(frames,) suffix of each name, such as ``_[k]``."""
        marks = np.full(len(frames), "", "U4")
        if self.jit_suffix or self.annotate_all:
            marks[are_jit(profile, frames)] = "_[j]"
        if self.kernel_suffix or self.annotate_all:
            marks[np.isin(frames.mode, (CpuMode.KERNEL, CpuMode.GUEST_KERNEL))] = "_[k]"
        if self.inline_suffix:
            marks[frames.inlined] = "_[i]"
        return marks


def _interned(texts: list[bytes]) -> tuple[list[bytes], I64]:
    """Return the distinct texts in bytewise order, and the row of each given one."""
    unique = sorted(set(texts))
    row = {text: number for number, text in enumerate(unique)}
    return unique, np.array([row[text] for text in texts], np.int64)


def _with_no_stack(tree: FrameTree, node: I64, key: int) -> tuple[FrameTree, I64]:
    """Samples that ended on a group's own row end on a frame below it: some readers refuse lines of one frame."""
    bare = unique(node[tree.key[node] < 0])
    added = arange(len(bare)) + len(tree)
    longer = FrameTree(
        np.append(tree.parent, bare),
        np.append(tree.key, np.full(len(bare), key, np.int64)),
        np.append(tree.depth, np.ones(len(bare), np.int64)),
    )
    moved = arange(len(tree))
    moved[bare] = added
    return longer, moved[node]


def _stack_lines(
    tree: FrameTree, seen: I64, value: I64, roots: list[bytes], texts: list[bytes], skip: int
) -> Iterator[bytes]:
    """``seen`` marks rows that end a line, ``value`` is what the line says; ``skip`` frames at its root stay out."""
    name = np.where(tree.key < 0, arange(len(tree)) + len(texts), tree.key)  # (rows,) frame texts, then root texts
    all_texts = texts + roots
    inner_rank, leaf_rank = _distinct_texts(all_texts)
    order = reading_order(tree, inner_rank[name], leaf_rank[name], seen)
    table = chunk_array([text + end for end in (b";", b" ") for text in all_texts])
    for part in row_slices(len(order), _LINES_PER_WRITE):
        rows = order[part]
        path = paths_of_length(tree.parent, rows, tree.depth[rows] + 1 - skip, outermost_first=True)
        chosen, ends = name[path.values], path.offsets[1:]
        chosen[ends - 1] += len(all_texts)
        words = np.empty(len(chosen) + len(rows), np.object_)
        words[arange(len(chosen)) + row_numbers(path.lengths)] = table[chosen]
        words[ends + arange(len(rows))] = number_chunks(value[rows], b"\n")
        yield b"".join(words.tolist())


def _distinct_texts(texts: list[bytes]) -> tuple[I64, I64]:
    """Return the rank of each text among all, followed by ``;`` (an inner frame) or by nothing (the last one)."""
    variants = [text + b";" for text in texts] + texts
    order = sorted(range(len(variants)), key=variants.__getitem__)
    rank = np.empty(len(variants), np.int64)
    rank[order] = arange(len(variants))
    return rank[: len(texts)], rank[len(texts) :]


def two_columns(before: Profile, after: Profile, emitter: Collapsed) -> Iterator[bytes]:
    """Lines ``stack before after``, as difffolded.pl writes them, sorted bytewise."""
    old, new = _two_column_lines(before, emitter), _two_column_lines(after, emitter)
    for stack in sorted(old.keys() | new.keys()):
        yield b"%b %d %d\n" % (stack, old.get(stack, 0), new.get(stack, 0))


def _two_column_lines(profile: Profile, emitter: Collapsed) -> dict[bytes, int]:
    out = io.BytesIO()
    emitter.emit(profile, out)
    pairs = (line.rpartition(b" ") for line in out.getvalue().splitlines())
    return {stack: int(number) for stack, _, number in pairs}
