"""Collects the samples and distinct stacks of a text, whose frames have names but no addresses.

Equal lines get the same number. The lines of inlined functions and the line of their enclosing function form one
frame::

    lines       7f01 inner (inlined)     7f01 outer+0x6f (/bin/prog)     7f02 main+0x10 (/bin/prog)
    numbers     0 (goes on)              1                               2
    frames      3: outer, inlined inner                                  2: main
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
    TextInterner,
    as_int64,
    flatnonzero,
    of_previous,
    offsets_of,
    searchsorted,
    sum_of,
    unique_inverse,
    zeros,
)
from perf2x.model.value_limits import LAST_TIME, check_total

MOST_FRAMES = 8191
"""Maximum number of frames in a stack: a perf record has no space for more."""

Line = tuple[str, str, int]
"""(function, source file, line number), "" and 0 if unknown."""
Frame = tuple[str, int, tuple[Line, ...]]
"""(object, CpuMode, lines); the innermost inlined function is first; a frame without a name has no lines."""


BEGIN, BLANK, IGNORED = -1, -2, -3
"""Kinds of lines that are not frames."""


class TextFrame(Frozen):
    """One line of a stack."""

    name: str
    object: str = ""
    mode: int = 0
    inlined: bool = False
    """Whether the function is inlined into the function on the next line."""
    source: tuple[str, int] = ("", 0)
    is_source: bool = False
    """Whether this line only adds a ``source`` to the function on the line before it; its ``inlined`` is about that
    function, too.
    """


Parser = Callable[[bytes], TextFrame | int]
"""Returns the frame on a line, or a negative number for other lines."""


class TextSamples(ColumnTable):
    """Samples of a text, one per row, in the text's order. Unknown numbers are −1, unknown times LAST_TIME."""

    event: I32
    comm: I32
    pid: I32
    tid: I32
    cpu: I32
    time: U64
    value: I64
    count: I64
    stack: I32
    """Row of the table of stacks; −1: none."""


class Text(Frozen):
    """All that was read from a text."""

    kind: str
    events: Sequence[str]
    comms: Sequence[str]
    frames: Sequence[Frame]
    stacks: ListArray
    """Distinct stacks of frame numbers, innermost first."""
    samples: TextSamples
    with_period: frozenset[int]
    """Events whose samples all have a period."""
    not_read: int
    """Lines that are neither part of a sample nor a comment."""
    cut: int
    """Distinct stacks that were truncated to MOST_FRAMES."""


class _LineNumbers(dict[bytes, int]):
    """Numbers the distinct frames by their lines; lines that are not frames give their kind, which is negative."""

    def __init__(self, parse: Parser) -> None:
        self._parse = parse
        self._numbers: dict[TextFrame, int] = {}
        self.flags = bytearray()
        """By number, a sum: 1 if the frame continues on the next line, 2 if the line only adds a source."""

    def __missing__(self, line: bytes) -> int:
        found = self._parse(line)
        if isinstance(found, int):
            return found
        self[line] = number = self._numbers.setdefault(found, len(self.flags))
        if number == len(self.flags):
            self.flags.append(found.inlined | found.is_source << 1)
        return number

    def frames(self) -> list[TextFrame]:
        """Return the contents of the lines, by number."""
        return list(self._numbers)


class _StackTable:
    """Distinct stacks of a text."""

    def __init__(self, parse: Parser) -> None:
        self._lines = _LineNumbers(parse)
        self._joined = ListInterner(np.int64)
        self._stacks = ListInterner(np.int64)
        self.cut = 0

    @property
    def names(self) -> int:
        """Number of distinct frame lines so far."""
        return len(self._lines.flags)

    def lines(self, lines: Sequence[bytes]) -> I32:
        """Return the number of each line; the negative kind of a line that is not a frame."""
        return np.fromiter(map(self._lines.__getitem__, lines), np.int32, len(lines))

    def is_source(self, lines: AnyArray) -> Bools:
        """Return whether each line, given by number, only adds a source to the line before it."""
        return np.frombuffer(bytes(self._lines.flags), np.uint8)[lines] > 1

    def stacks(self, lines: AnyArray, lengths: I64) -> I32:
        """Return the number of each stack, −1 for a stack without lines.

        ``lines`` are the numbers of the lines of all stacks, innermost first; ``lengths`` are each stack's number of
        lines.
        """
        rows = ListArray(offsets_of(lengths), as_int64(lines))
        flags = np.frombuffer(bytes(self._lines.flags), np.uint8)[rows.values]
        if flags.any():
            rows = self._with_joined(rows, flags > 1, flags & 1 > 0)
        lengths = rows.lengths
        found = np.full(len(rows), -1, np.int32)
        filled = flatnonzero(lengths)
        if len(filled):
            kept = np.minimum(lengths[filled], MOST_FRAMES)
            before = len(self._stacks)
            found[filled] = self._stacks.number_spans(rows.values, rows.offsets[filled], kept)
            self.cut += sum_of(found[filled[lengths[filled] > kept]] >= before)
        return found

    def _with_joined(self, rows: ListArray, is_source: Bools, inlined: Bools) -> ListArray:
        """Return the stacks with a single number, −2 or below, in place of the lines of a frame that has several."""
        inlined[1:] |= is_source[1:] & inlined[:-1]
        begins = ~is_source & ~of_previous(inlined, False)
        begins[rows.offsets[:-1][rows.lengths > 0]] = True
        starts = flatnonzero(begins)
        lengths = np.diff(np.append(starts, len(begins)))
        numbers, several = rows.values[starts], flatnonzero(lengths > 1)
        numbers[several] = -2 - self._joined.number_spans(rows.values, starts[several], lengths[several])
        return ListArray(searchsorted(starts, rows.offsets), numbers)

    def table(self) -> tuple[list[Frame], ListArray]:
        """Return the distinct frames sorted by content, and stacks of their numbers."""
        lines, joined = self._lines.frames(), self._joined.table()
        stacks = self._stacks.table()
        used, place = unique_inverse(stacks.values)
        rows = ([row] if row >= 0 else joined.row(-2 - row).tolist() for row in used.tolist())
        found = [_frame([lines[row] for row in each]) for each in rows]
        frames = sorted(set(found), key=_place)
        rank = {frame: number for number, frame in enumerate(frames)}
        number = as_int64([rank[frame] for frame in found])
        return frames, ListArray(stacks.offsets, number[place])


def _place(frame: Frame) -> tuple[bool, Frame]:
    """Return the sort key of a frame: frames with neither object nor name come first, the others by object."""
    return bool(frame[0] or frame[2]), frame


def _frame(lines: Sequence[TextFrame]) -> Frame:
    """Return one frame from its lines; the object is that of the outermost function's line."""
    inlined: list[Line] = []
    for one in lines:
        if one.is_source and inlined:
            inlined[-1] = (inlined[-1][0], *one.source)
        elif one.name:
            inlined.append((one.name, *one.source))
    outermost = next((one for one in reversed(lines) if not one.is_source), lines[-1])
    return outermost.object, outermost.mode, tuple(inlined)


_LINES = 200
"""Number of a text's first lines of which one must begin a sample of the text's kind."""


class TextReader:
    """Reads a text of one kind, some complete samples at a time; ``parse`` reads one line of a stack."""

    kind: ClassVar[str]
    """The kind's name in ``info``."""
    cuts: ClassVar[tuple[bytes, ...]] = ()
    """Texts that begin with a line end; a block may be cut after that line end. The best is first."""
    begins: ClassVar[re.Pattern[bytes]]
    """Matches a line with which only samples of this kind begin."""

    def __init__(self, parse: Parser) -> None:
        self.stacks = _StackTable(parse)
        self.comms, self.events = TextInterner[bytes](), TextInterner[bytes]()
        self.not_read = 0
        """Lines that are neither part of a sample nor a comment."""
        self.source = ""
        """Name of the text, for messages."""
        self.total = 0.0
        self.without_period: set[int] = set()
        """Events with samples without a period."""

    @classmethod
    def is_kind(cls, lines: bytes) -> bool:
        """Return whether the first lines of a text look like this kind."""
        starts = islice(re.finditer(rb"^", lines, re.MULTILINE), _LINES)
        return any(cls.begins.match(lines, found.start()) for found in starts)

    @property
    def names(self) -> int:
        """Number of distinct frames, threads and events so far."""
        return self.stacks.names + len(self.comms) + len(self.events)

    @classmethod
    def cut(cls, block: bytes) -> int:
        """Return the end of the last complete sample of a block, 0 if unknown."""
        return next((at for at in (block.rfind(cut) + 1 for cut in cls.cuts) if at), 0)

    def read(self, block: bytes) -> TextSamples:
        """Return the samples of some complete lines."""
        raise NotImplementedError

    def counted(self, frames: I64, lengths: I64, counts: Sequence[bytes]) -> TextSamples:
        """Return one sample for each distinct stack, with the sum of its counts; stacks whose sum is 0 are dropped.

        Raises FormatError if the counts add up to more than 64 bits.
        """
        count = np.fromiter(map(int, counts), np.int64, len(counts))
        self.total = check_total(self.source, count, self.total)
        found, place = unique_inverse(self.stacks.stacks(frames, lengths))
        total = zeros(len(found))
        np.add.at(total, place, count)
        kept = total > 0
        none, zero = np.full(sum_of(kept), -1, np.int32), np.zeros(sum_of(kept), np.int32)
        time = np.full(len(none), LAST_TIME, np.uint64)
        return TextSamples(zero, zero, none, none, none, time, total[kept], total[kept], found[kept])
