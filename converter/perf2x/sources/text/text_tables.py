"""Tables of one text: samples, and the distinct stacks of frames that only have a name.

Equal lines have one number. Lines of inlined functions are merged with the line of their enclosing function::

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
"""(object, uapi.CpuMode, lines, innermost inlined function first); no lines without a name."""


BEGIN, BLANK, IGNORED = -1, -2, -3
"""Kinds of lines that are not frames."""


class TextFrame(Frozen):
    """One line of a stack."""

    name: str
    object: str = ""
    mode: int = 0
    inlined: bool = False
    """Whether it is inlined into the function on the next line."""
    source: tuple[str, int] = ("", 0)
    is_source: bool = False
    """Whether it only adds the ``source`` of the line before it, which may show that the function is inlined."""


Parser = Callable[[bytes], TextFrame | int]
"""Returns the frame on a line, or a negative number for other lines."""


class TextSamples(ColumnTable):
    """Samples of a text, a row each, in order; −1 in integers, and LAST_TIME, mean unknown."""

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
    """All of a text."""

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
    """Numbers of distinct lines; other lines get their kind, which is negative."""

    def __init__(self, parse: Parser) -> None:
        self._parse = parse
        self._numbers: dict[TextFrame, int] = {}
        self.flags = bytearray()
        """By number: 1 if the line continues on the next one, 2 if it is a source."""

    def __missing__(self, line: bytes) -> int:
        found = self._parse(line)
        if isinstance(found, int):
            return found
        self[line] = number = self._numbers.setdefault(found, len(self.flags))
        if number == len(self.flags):
            self.flags.append(found.inlined | found.is_source << 1)
        return number

    def frames(self) -> list[TextFrame]:
        """Contents of lines, by number."""
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
        """Number of different frames so far."""
        return len(self._lines.flags)

    def lines(self, lines: Sequence[bytes]) -> I32:
        """Return (n,) the number of each line."""
        return np.fromiter(map(self._lines.__getitem__, lines), np.int32, len(lines))

    def is_source(self, lines: AnyArray) -> Bools:
        """Return (n,) whether lines are only the source of the line before them."""
        return np.frombuffer(bytes(self._lines.flags), np.uint8)[lines] > 1

    def stacks(self, lines: AnyArray, lengths: I64) -> I32:
        """Return (n,) the number of each stack, given the numbers of its lines, innermost first; −1 for no lines."""
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
        """Return rows in which lines of one frame are one number, −2 or below."""
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
    """Return the sort key of frames: those without an object first, then by object."""
    return bool(frame[0] or frame[2]), frame


def _frame(lines: Sequence[TextFrame]) -> Frame:
    """Return one frame from its lines; the outermost one has the object."""
    inlined: list[Line] = []
    for one in lines:
        if one.is_source and inlined:
            inlined[-1] = (inlined[-1][0], *one.source)
        elif one.name:
            inlined.append((one.name, *one.source))
    outermost = next((one for one in reversed(lines) if not one.is_source), lines[-1])
    return outermost.object, outermost.mode, tuple(inlined)


_LINES = 200
"""Maximum number of lines before the first sample."""


class TextReader:
    """Reads a text of one kind, some complete samples at a time; ``parse`` is for its _StackTable."""

    kind: ClassVar[str]
    """Its name in ``info``."""
    cuts: ClassVar[tuple[bytes, ...]] = ()
    """Texts that include a line end, after which a sample may begin, best first."""
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
        """Return stacks with their counts, equal ones summed; stacks with count 0 are dropped.

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
