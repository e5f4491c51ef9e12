"""Stacks that a tool counted itself: folded ones, and those that DTrace and bpftrace print.

::

    main;work;read_[k] 42             folded: outermost first (inferno, FlameGraph, bcc -f, py-spy, async-profiler)

              libc.so.1`read+0x7      DTrace: innermost first, an empty line between two
              prog`main+0x10
               42

    @[                                bpftrace: innermost first, the stacks and other keys of a map
        read+11
        main+20
    , prog]: 42
"""

import re
from operator import methodcaller

import numpy as np

from perf2x.base.abi.uapi import CpuMode
from perf2x.base.columnar.arrays import (
    arange,
    begins_run,
    cumsum,
    flatnonzero,
    of_previous,
    repeat,
    searchsorted,
    sum_of,
)
from perf2x.base.columnar.ragged import offsets_of, ranges
from perf2x.text_reader.text_tables import BLANK, END, IGNORED, TextFrame, TextReader, TextSamples

_MARKS = {"_[k]": CpuMode.KERNEL, "_[i]": CpuMode.UNKNOWN}
"""Suffixes of folded frames that say what they are: code of the kernel, inlined. Others stay part of the name."""

MOST_DIGITS = 18
_COUNT = re.compile(rb"\]: \d{1,18}")
_TWO_COUNTS = re.compile(rb"[ \t]\d+(?:\.\d*)?[ \t]+\d+(?:\.\d*)?[ \t]*$")
_NO_COMMENT = re.compile(rb"^[ \t]*[^#\s]", re.MULTILINE)
_LONGEST = 1 << 20
"""Bytes of a stack; longer ones may be cut in two."""
_PROBE = re.compile(rb"[ \t]*\d+[ \t]+\d+[ \t]+\S+[ \t]*$")
_ENDS = re.compile(rb"\n[ \t]*\d{1,18}[ \t]*(?=\n)")


class Folded(TextReader):
    """Reads folded stacks; their first frame may be the name of a thread, which nobody can tell."""

    kind = "folded stacks"
    cuts = (b"\n",)
    _line = re.compile(rb"^([^#\n].*(?<=\S)|[^#\s])[ \t]+(\d{1,18})(?:\.\d*)?[ \t]*$", re.MULTILINE)

    def __init__(self) -> None:
        super().__init__(_folded_frame)

    @classmethod
    def is_kind(cls, lines: bytes) -> bool:
        """Whether most lines end in one count (two are a difference), and one of them has a caller."""
        known = [line for line in lines.split(b"\n") if line.strip() and not line.startswith(b"#")]
        found = [line for line in known if cls._line.match(line) and not _TWO_COUNTS.search(line)]
        return any(b";" in line for line in found) and 4 * len(found) >= 3 * len(known)

    def read(self, block: bytes) -> TextSamples:
        """The samples of some whole lines."""
        found = self._line.findall(block)
        self.not_read += len(_NO_COMMENT.findall(block)) - len(found)
        if not found:
            return self.counted(np.zeros(0, np.int64), np.zeros(0, np.int64), ())
        stacks, counts = zip(*found, strict=True)
        lengths = np.fromiter(map(methodcaller("count", b";"), stacks), np.int64, len(stacks)) + 1
        frames = self.stacks.lines(b";".join(stacks).split(b";")).astype(np.int64)
        ends = cumsum(lengths)
        innermost_first = repeat(ends + offsets_of(lengths)[:-1] - 1, lengths) - arange(len(frames))
        return self.counted(frames[innermost_first], lengths, counts)


def _folded_frame(text: bytes) -> TextFrame:
    name = text.decode("utf-8", "surrogateescape")
    mark = _MARKS.get(name[-4:])
    return TextFrame(name) if mark is None else TextFrame(name[:-4], mode=mark, inlined=name.endswith("_[i]"))


class _Printed(TextReader):
    """Reads stacks of one frame a line, each ended by a line with its count."""

    def read(self, block: bytes) -> TextSamples:
        """The samples of some whole stacks."""
        lines = self.lines(block)
        kind = self.stacks.lines(lines)
        kept = kind != IGNORED
        lines = [line for line, keep in zip(lines, kept.tolist(), strict=True) if keep]
        kind = kind[kept].astype(np.int64)
        is_frame = kind >= 0
        ends = flatnonzero(kind == END)
        run = cumsum(begins_run(is_frame))
        first = searchsorted(run, run[np.maximum(ends - 1, 0)])
        has_frames = of_previous(is_frame, False)[ends]
        lengths = np.where(has_frames, ends - first, 0)
        self.not_read += sum_of(is_frame) - sum_of(lengths)
        counts = [lines[row].strip(b" \t]:") for row in ends.tolist()]
        return self.counted(kind[ranges(first, lengths)], lengths, counts)

    def lines(self, block: bytes) -> list[bytes]:
        """The lines of a block: frames, and counts."""
        return block.split(b"\n")


class Dtrace(_Printed):
    """Reads stacks that DTrace prints; frames have their module in front, ``genunix`kmem_free``."""

    kind = "stacks of DTrace"
    begins = re.compile(rb"(?:[ \t]+[^\s`]+`.*\n)+[ \t]+\d{1,18}[ \t]*\r?$", re.MULTILINE)

    def __init__(self) -> None:
        super().__init__(_dtrace_line)

    @classmethod
    def cut(cls, block: bytes) -> int:
        """End of the last whole stack, 0 without one."""
        return max((found.end() for found in _ENDS.finditer(block, max(len(block) - _LONGEST, 0))), default=0)


class Bpftrace(_Printed):
    """Reads stacks that bpftrace prints; keys behind them, such as the thread's name, are frames, outermost."""

    kind = "stacks of bpftrace"
    cuts = (b"\n@", b"\n")
    begins = re.compile(rb"@\w*\[(?:, .*|(?:\n.*){1,8191}?)\]: \d{1,18}$", re.MULTILINE)
    _keys = re.compile(rb"^(?:@\w*\[(?=,)|(?!@)),?[ \t]*(.*\S)[ \t]*\](: \d+)[ \t]*$", re.MULTILINE)

    def __init__(self) -> None:
        super().__init__(_bpftrace_line)

    def lines(self, block: bytes) -> list[bytes]:
        """The lines of a block: frames, counts, and lines of their own for keys."""
        return self._keys.sub(rb"    \1\n]\2", block).split(b"\n")


_OFFSET = re.compile(r"\+(0x)?[0-9a-f]+$")


def _printed_frame(line: bytes) -> TextFrame:
    return TextFrame(_OFFSET.sub("", line.decode("utf-8", "surrogateescape").strip()))


def _dtrace_line(line: bytes) -> TextFrame | int:
    text = line.strip()
    if not text:
        return IGNORED  # between a stack of the kernel and the program's
    if not line[:1].isspace() or _PROBE.match(line):
        return BLANK
    return END if text.isdigit() and len(text) <= MOST_DIGITS else _printed_frame(line)


def _bpftrace_line(line: bytes) -> TextFrame | int:
    text = line.strip()
    if not text or text.startswith(b"@"):
        return BLANK
    if text == b",":
        return IGNORED
    return END if _COUNT.fullmatch(text) else _printed_frame(line)
