"""Collects the samples and distinct stacks of a text, whose frames have names but no addresses.

Each distinct line of a stack is parsed once, and gets a number; a stack is a list of these numbers. Lines of inlined
functions and the line of the function around them form one frame. Such frames are numbered, too: −2 − number stands in
the stack in place of the lines::

    lines       7f01 inner (inlined)     7f01 outer+0x6f (/bin/prog)     7f02 main+0x10 (/bin/prog)
    numbers     0 (continues)            1                               2
    stack       −2: outer, inlined inner                                 2: main

A line may also only add a source to the function before it (``perf script -F +srcline``); it is part of the frame.
"""

import re
from collections.abc import Callable, Sequence
from itertools import islice
from typing import ClassVar

import numpy as np

from perf2x.base.columnar import (
    I32,
    I64,
    U64,
    AnyArray,
    Bools,
    ColumnTable,
    Frozen,
    ListArray,
    ListInterner,
    StringInterner,
    as_int64,
    flatnonzero,
    of_previous,
    offsets_of,
    searchsorted,
    sum_of,
    unique,
    unique_inverse,
    zeros,
)
from perf2x.model.value_limits import LAST_TIME, check_total

MAX_FRAMES = 8191
"""Frames in a stack; a record of perf cannot have more."""

FunctionLine = tuple[str, str, int]
"""(function, source file, line number); "" and 0 if unknown."""
Frame = tuple[str, int, tuple[FunctionLine, ...]]
"""(object, CpuMode, functions), innermost inlined function first; a frame without a name has no functions."""

HEADING, BLANK, IGNORED = -1, -2, -3
"""Kinds of lines outside stacks; a heading has a sample's thread, time and event."""


class TextFrame(Frozen):
    """One line of a stack: a function, or the source of the function on the line before."""

    name: str
    object: str = ""
    mode: int = 0
    is_inlined: bool = False
    """Whether the function is inlined into the function on the next line."""
    source: tuple[str, int] = ("", 0)
    adds_source: bool = False
    """Whether the line only adds a ``source``.

    If so, ``is_inlined`` is about the function before it: perf prints "(inlined)" after the source.
    """


Parser = Callable[[bytes], TextFrame | int]
"""Parses a line of a stack; for other lines, returns HEADING, BLANK or IGNORED."""


class TextSamples(ColumnTable):
    """Samples of a text, in its order. Unknown numbers are −1; unknown times are LAST_TIME.

    ``event`` and ``comm`` are rows of ``Text.events`` and ``Text.comms``.
    """

    event: I32
    comm: I32
    pid: I32
    tid: I32
    cpu: I32
    time: U64
    value: I64
    count: I64
    stack: I32
    """Row of ``Text.stacks``; −1 for none."""


class Text(Frozen):
    """Contents of a text."""

    kind: str
    """As ``TextReader.kind``."""
    events: Sequence[str]
    comms: Sequence[str]
    frames: Sequence[Frame]
    stacks: ListArray
    """Distinct stacks: rows of ``frames``, innermost first."""
    samples: TextSamples
    events_with_periods: frozenset[int]
    """Rows of the events whose samples all have a period."""
    lines_not_read: int
    """Lines that are neither part of a sample nor a comment."""
    stacks_cut: int
    """Distinct stacks that were cut to their innermost MAX_FRAMES frames."""


class _FrameLines(dict[bytes, int]):
    """Number of each line's TextFrame; for other lines, their kind, which is negative.

    Lines that differ only in their addresses share a number.
    """

    def __init__(self, parse: Parser) -> None:
        self._parse = parse
        self._numbers: dict[TextFrame, int] = {}
        # for each number, a sum: 1 for is_inlined, 2 for adds_source
        self.flags = bytearray()

    def __missing__(self, line: bytes) -> int:
        parsed = self._parse(line)
        if isinstance(parsed, int):
            return parsed
        self[line] = number = self._numbers.setdefault(parsed, len(self.flags))
        if number == len(self.flags):
            self.flags.append(parsed.is_inlined | parsed.adds_source << 1)
        return number

    def frames(self) -> list[TextFrame]:
        return list(self._numbers)


class _StackTable:
    """Numbers the distinct lines and stacks of a text."""

    def __init__(self, parse: Parser) -> None:
        self._lines = _FrameLines(parse)
        self._joined_frames = ListInterner(np.int64)  # the line numbers of frames of several lines
        self._stacks = ListInterner(np.int64)  # numbers of lines, or −2 − number of a joined frame
        self.stacks_cut = 0

    @property
    def line_count(self) -> int:
        return len(self._lines.flags)

    def line_codes(self, lines: Sequence[bytes]) -> I32:
        return np.fromiter(map(self._lines.__getitem__, lines), np.int32, len(lines))

    def adds_source(self, lines: AnyArray) -> Bools:
        return np.frombuffer(bytes(self._lines.flags), np.uint8)[lines] > 1

    def stack_numbers(self, lines: AnyArray, lengths: I64) -> I32:
        """Number of each stack (stacks,), −1 without lines.

        ``lines`` are the numbers of the lines of all stacks, innermost first; ``lengths`` (stacks,) are how many each
        has.
        """
        rows = ListArray(offsets_of(lengths), as_int64(lines))
        flags = np.frombuffer(bytes(self._lines.flags), np.uint8)[rows.values]
        if flags.any():
            rows = self._join_lines(rows, flags > 1, flags & 1 > 0)
        lengths = rows.lengths
        result = np.full(len(rows), -1, np.int32)
        rows_with_lines = flatnonzero(lengths)
        if len(rows_with_lines):
            cut_lengths = np.minimum(lengths[rows_with_lines], MAX_FRAMES)
            stacks_before = len(self._stacks)
            result[rows_with_lines] = self._stacks.number_spans(rows.values, rows.offsets[rows_with_lines], cut_lengths)
            self.stacks_cut += sum_of(
                unique(result[rows_with_lines[lengths[rows_with_lines] > cut_lengths]]) >= stacks_before
            )
        return result

    def _join_lines(self, rows: ListArray, adds_source: Bools, is_inlined: Bools) -> ListArray:
        """Put one number, −2 or below, in place of the lines of each frame of several lines. Changes ``is_inlined``."""
        # a source belongs to the line before it; the frame continues after both
        is_inlined[1:] |= adds_source[1:] & is_inlined[:-1]
        begins_frame = ~adds_source & ~of_previous(is_inlined, False)
        begins_frame[rows.offsets[:-1][rows.lengths > 0]] = True
        starts = flatnonzero(begins_frame)
        lengths = np.diff(np.append(starts, len(begins_frame)))
        numbers, joined = rows.values[starts], flatnonzero(lengths > 1)
        numbers[joined] = -2 - self._joined_frames.number_spans(rows.values, starts[joined], lengths[joined])
        return ListArray(searchsorted(starts, rows.offsets), numbers)

    def table(self) -> tuple[list[Frame], ListArray]:
        lines, joined_frames = self._lines.frames(), self._joined_frames.table()
        stacks = self._stacks.table()
        numbers, inverse = unique_inverse(stacks.values)
        line_lists = (
            [number] if number >= 0 else joined_frames.row(-2 - number).tolist() for number in numbers.tolist()
        )
        frame_of_number = [_frame([lines[line] for line in line_list]) for line_list in line_lists]
        frames = sorted(set(frame_of_number), key=lambda frame: (bool(frame[0] or frame[2]), frame))
        row_of_frame = {frame: row for row, frame in enumerate(frames)}
        rows = as_int64([row_of_frame[frame] for frame in frame_of_number])
        return frames, ListArray(stacks.offsets, rows[inverse])


def _frame(lines: Sequence[TextFrame]) -> Frame:
    """Join lines to a frame; object and mode are those of the outermost function's line."""
    functions: list[FunctionLine] = []
    for line in lines:
        if line.adds_source and functions:
            functions[-1] = (functions[-1][0], *line.source)
        elif line.name:
            functions.append((line.name, *line.source))
    outermost = next((line for line in reversed(lines) if not line.adds_source), lines[-1])
    return outermost.object, outermost.mode, tuple(functions)


_EXAMINED_LINES = 200
"""Lines at the start of a text that are searched for the beginning of a sample."""


class TextReader:
    """Base class of readers, each of one kind of text, in blocks of complete samples."""

    kind: ClassVar[str]
    """As users see it."""
    block_ends: ClassVar[tuple[bytes, ...]] = ()
    """Strings, the best first, that begin with a line end: a block may end after this line end."""
    sample_start: ClassVar[re.Pattern[bytes]]
    """Matches at a line that begins a sample of this kind, and of no other kind."""

    def __init__(self, parse: Parser) -> None:
        self.stacks = _StackTable(parse)
        self.comms, self.events = StringInterner[bytes](), StringInterner[bytes]()
        self.lines_not_read = 0
        """Lines that are neither part of a sample nor a comment."""
        self.source = ""
        """Name of the text, for messages."""
        self.total = 0.0
        self.events_without_periods: set[int] = set()
        """Rows of the events that have a sample without a period."""

    @classmethod
    def is_kind(cls, lines: bytes) -> bool:
        """Return whether the first lines of a text look like this kind."""
        starts = islice(re.finditer(rb"^", lines, re.MULTILINE), _EXAMINED_LINES)
        return any(cls.sample_start.match(lines, start.start()) for start in starts)

    @property
    def name_count(self) -> int:
        """Distinct lines of stacks, names of threads and names of events so far."""
        return self.stacks.line_count + len(self.comms) + len(self.events)

    @classmethod
    def complete_end(cls, block: bytes) -> int:
        """Return the offset after the last complete sample of a block, 0 for none."""
        return next((end for end in (block.rfind(ending) + 1 for ending in cls.block_ends) if end), 0)

    def read(self, block: bytes) -> TextSamples:
        """Return the samples of a block of complete samples."""
        raise NotImplementedError

    def summed_samples(self, lines: I64, lengths: I64, counts: Sequence[bytes]) -> TextSamples:
        """Return one sample for each distinct stack, with the sum of its counts, unless it is 0.

        ``lines`` and ``lengths`` are as in ``_StackTable.stack_numbers``; ``counts`` are decimal. Raises FormatError if
        all counts so far add up to 2⁶² or more.
        """
        count = np.fromiter(map(int, counts), np.int64, len(counts))
        self.total = check_total(self.source, count, self.total)
        stack, inverse = unique_inverse(self.stacks.stack_numbers(lines, lengths))
        sums = zeros(len(stack))
        np.add.at(sums, inverse, count)
        is_kept = sums > 0
        # event and comm are row 0, because the text names neither
        unknown, first = np.full(sum_of(is_kept), -1, np.int32), np.zeros(sum_of(is_kept), np.int32)
        time = np.full(len(unknown), LAST_TIME, np.uint64)
        return TextSamples(first, first, unknown, unknown, unknown, time, sums[is_kept], sums[is_kept], stack[is_kept])
