"""Reads the text of ``perf script``, of any version and with any fields, as people attach it to reports.

::

    prog  5585/5590 [001]  6936.366023:     250000 cycles:u:       the first line of a sample
    →       7f11db9fcc98 handle_amd+0x18 (/usr/lib/ld.so)          frames, innermost first
    →   ffffffff81e00b0b do_syscall_64+0x3b ([kernel.kallsyms])
                                                                   an empty line ends the sample

A flat sample has no call chain: its only frame is at the end of its first line. Users choose the fields of the first
line (``perf script -F``), so almost any may be missing, and the first line itself. The layout has no quoting, and names
of threads and functions may contain anything: hence the long patterns, which tell fields by their columns and by what
follows them. tools/perf/builtin-script.c and tools/perf/util/evsel_fprintf.c define the layout.
"""

import re
from collections.abc import Sequence

import numpy as np

from perf2x.base.abi import CpuMode
from perf2x.base.columnar import (
    I32,
    I64,
    AnyArray,
    Bools,
    as_int32,
    as_int64,
    as_uint64,
    bincount,
    cumsum,
    flatnonzero,
    of_previous,
    offsets_of,
    repeat,
    sum_of,
    take_rows_of,
)
from perf2x.model.profile import ROOT_FRAME_NAMES, RootFrame
from perf2x.model.value_limits import LAST_TIME, MOST_PERIOD
from perf2x.sources.text.text_tables import BEGIN, BLANK, IGNORED, TextFrame, TextReader, TextSamples

_FLAT_FRAME = rb"(?= *[0-9a-f]{4,16} )[ 0-9a-f]{15}[0-9a-f] \S"
"""The beginning of a flat sample's frame: perf right-aligns the address in a column of 16 characters."""
_MISC = rb"(?:[KUHGgMDESp]{1,8}[ \t]+)?"  # the field misc, one letter for each flag
_FRAME = re.compile(
    rb"(?:[ \t]+|(?=[0-9a-f]{6,16} .*\)$))([0-9a-f]{1,16})"  # indentation may be lost
    # not followed by a time or event
    rb"(?:[ \t](?!.*\d\.\d{6,9}: | *%b(?:\d+ +)?\S{1,256}:(?: *$|  | +[0-9a-f]{4,16} )"
    rb"|.*[\d:] +%b)(.*))?$"
    % (_MISC, _FLAT_FRAME)  # or by a flat sample's frame: a thread's name may be hex digits (dd)
)
_SOURCE = re.compile(r"  (?:(\S+):(\d{1,9})|\S+\[[0-9a-f]+\])( \(inlined\))?(?: .*)?")
_IGNORED = re.compile(
    rb"#(?!.*\d[ \t].*\d\.\d{6,9}:[ \t])"  # lines of the header, but no sample of a thread whose name begins with #
    rb"|.*(PERF_RECORD_|DEFERRED CALLCHAIN)|[ \t]*0x[0-9a-f]+/0x| instruction trace error"
)
_BRANCH = re.compile(rb"^[^\n]* branches(?::\w+)?:.* => +[0-9a-f]+ ", re.MULTILINE)
_BRANCH_SEARCH_BYTES = 1 << 12
"""Number of bytes at the start of a text that are searched for branches."""
_BELOW_FRAMES = re.compile(
    rb"\t(?:tracing data:|\t\w+ : )|[ \t]+(?:insn|ilen|IPC): "
    rb"|(?:(?= *[0-9a-f]+(?: |$))[ 0-9a-f]{15}[0-9a-f])?(?: \d+[BKMG]| N/A){0,2}$"
)
"""Lines below a stack's frames: tracepoint fields (simpleperf), instructions, physical addresses, page sizes."""
_NUMBERS_ALONE = re.compile(rb" *(?:\d{1,10} +)?\d{1,20} +(?:[0-9a-f]{6,16} \S.* \(.*\))?")
"""A first line that has nothing but a thread number, a period or both, then blanks or a flat sample's frame.

A frame looks different: its address is followed by nothing or by a name.
"""
_OWN_FRAME = re.compile(rb".* ((?= {0,15}[0-9a-f]{1,16}(?: |$))[ 0-9a-f]{15}[0-9a-f](?: .*|$))")
"""The last aligned address on a sample's first line, which is that of its frame; data addresses come before it."""
_AFTER_OBJECT = re.compile(
    rb"(?<=\))(?:[ \t]*[0-9a-f]{1,16}(?=[ \t]|$))?"
    rb"(?:[ \t]+(?:0x[0-9a-f]+[/(+ ].*|[0-9a-f]{1,16}|\d+[BKMG]|N/A))*[ \t]*$"
    rb"|[ \t]+(?:insn|ilen|IPC): .*|(?: \d+[BKMG]| N/A)+$"
)
"""Fields after the object of a frame: physical addresses, page sizes, branches, instructions."""
_NAME_WITH_COLON = (
    rb"[^\s:]{1,256}:[ \t].{0,200}?\S[ \t]+(?:\d{1,10}/)?\d{1,10}(?:[ \t]*$|[ \t]+%b(?:[0-9a-f]{4,16} \S.*\)$"
    rb"|(?:\d{1,18}[ \t]+)?(?:\w+:\w+:[ \t]|\S{1,256}:(?:[ \t]*$|[ \t]+[0-9a-f]{4,16} ))))" % _MISC
)
"""A thread's name whose first word ends in a colon, such as ``nginx: worker 7``.

That word is not the name of an event, because a thread number and further fields follow.
"""
# the first line of a sample; groups: comm, pid, tid, cpu, seconds, fraction of a second, period, event, and the rest
_BEGIN = re.compile(
    rb"^[ \t]*+(?:(\S.{0,63}?)[ \t]++)??"  # comm
    rb"(?:(?:(-?\d{1,10})/[ \t]*)?(-?\d{1,10})(?:[ \t]++|$))?"  # pid, tid
    rb"(?:\[(\d{1,6})\][ \t]+)?(?:(?(3)|(?=.{0,200}\d\.\d{6,9}:))[KUHGgMDESp]{1,8}[ \t]+)?"  # cpu, misc
    rb"(?:\d{4}-\d\d-\d\d [\d:.]+[ \t]+)?"  # time of day
    rb"(?:(\d{1,10})\.(\d{6,9}|\d{1,5}(?=:\t)):)?"  # time; old simpleperf omits zeros
    # a time follows, so this is still part of the thread's name
    rb"(?(5)|(?!.{0,200}[ \t]\d{1,10}\.\d{6,9}:(?:[ \t]|$)))"
    rb"(?(5)|(?(3)|(?!%b)))"
    rb"(?:[ \t]*+(?:(\d{1,18})[ \t]++)?((?!\d+\.\d{6})\S{1,256}?):(?=[ \t]|$))?"  # period, event
    # text, or a frame not preceded by an event
    rb"(?:(?<=:)|(?=$)|(?<=[ \t])(?=[0-9a-f]{4,16} \S.*\)$)(?!.*[\d:] +%b))(.*)$"
    rb"|^.*$" % (_NAME_WITH_COLON, _FLAT_FRAME),
    re.MULTILINE,
)


def _column(width: int) -> bytes:
    """Return a pattern for a decimal number that is padded on the left with blanks to ``width`` characters."""
    return b"|".join(b" {%d}\\d{%d} " % (width - digits, digits) for digits in range(1, width)) + b"|\\d{%d}" % width


_PERIOD_ALONE = re.compile(
    # perf pads the thread number after the process number with blanks
    rb"(.{0,200}?/(?=\d)[\d ]{7} %b|.{0,200}?\S %b|)"
    rb"(?:(?=%b) {0,9}(\d{1,18})(?= *$| +[0-9a-f]{1,16} )|(?=%b))(.*)" % (_MISC, _MISC, _column(10), _column(16))
)
"""A first line without an event, which has a period, or an address that consists of decimal digits.

Only the width of its column shows that such a number is not a thread's.
"""
_SYMBOL_AND_OBJECT = re.compile(r"(.*?)\+0x[0-9a-f]+ \((.*)\)")
_OBJECT = re.compile(r"(?:^| )\((?=[/\[]|[A-Za-z]:[\\/])")
"""The bracket before an object's path; the name before it and the path itself may contain other brackets."""
_OFFSET = re.compile(r"\+0x[0-9a-f]+$")
# what perf prints for a name → what we show instead
_STANDARD_NAMES = {"[unknown]": "", "(cookie)": ROOT_FRAME_NAMES[RootFrame.USER_MISSING]}
# objects in brackets that do not belong to the kernel
_USER_OBJECTS = ("[vdso", "[vsyscall", "[vectors", "[heap", "[stack", "[anon", "[uprobes", "[unknown", "[sigpage")


class ScriptText(TextReader):
    """Reads text of ``perf script``."""

    kind = "text of perf script"
    cuts = (b"\n\n", b"\n")
    begins = re.compile(
        rb"[^#\n]{0,100}?-?\d+[ \t].{0,100}?\d\.\d{6,9}:"  # a time
        rb"|(?:[^#\n]{0,100}[ \t])?\S{1,256}:[ \t]*\n"  # an event, then a frame with an aligned address
        rb"(?=\t|[0-9a-f]|[ 0-9a-f]{12})[ \t]*[0-9a-f]{4,16}[ \n]"
        rb"|\S[^#\n]{0,100}[ \t]\d*[ \t]*\n\t *[0-9a-f]{1,16}[ \n]"  # a thread, then a frame
        rb"|\t *[0-9a-f]{4,16} .* \(.*\)\n"
        rb"|[^#\n]{1,200} %b.* \(.*\).*\n"  # any field, then a frame
        rb"|[^#\n]{1,200}: {1,2}%b.*\n"  # an event, then a frame without an object
        rb"|\t(?= *[0-9a-f]{4,16}[ \n])[ 0-9a-f]{16}(?: .*)?\n"
        % (_FLAT_FRAME, _FLAT_FRAME),  # aligned by perf, without an object
    )

    @classmethod
    def is_kind(cls, lines: bytes) -> bool:
        """Return whether the first lines of a text are samples, not branches as ``--itrace=b`` prints them."""
        return super().is_kind(lines) and not _BRANCH.search(lines[:_BRANCH_SEARCH_BYTES])

    def __init__(self) -> None:
        super().__init__(_parse)
        self._has_first_lines = False
        """Whether samples have a first line before their frames, as in nearly all texts.

        If so, frames that follow neither such a line nor another frame do not belong to a sample.
        """

    def read(self, block: bytes) -> TextSamples:
        """Return the samples of a block, which ends after a complete sample."""
        lines = block.split(b"\n")
        kind = self.stacks.lines(lines)
        is_frame = kind >= 0
        # Groups of lines, each perhaps a sample: one begins at a first line, at an ignored one, and at a frame after a
        # blank line. ``rows`` are the first lines of the groups, ``lengths`` their numbers of frames.
        begins_group = (kind == BEGIN) | (kind == IGNORED) | is_frame & (of_previous(kind, BLANK) == BLANK)
        rows, frames = flatnonzero(begins_group), as_int64(kind[is_frame])
        lengths = bincount((cumsum(begins_group) - 1)[is_frame], len(rows))
        # the groups that have a first line, and the fields on it
        leading = flatnonzero(kind[rows] == BEGIN)
        fields = _BEGIN.findall(b"\n".join([lines[row] for row in rows[leading].tolist()])) if len(leading) else []
        if not all(texts[7] for texts in fields):
            begins = [lines[row] for row in rows[leading].tolist()]
            pairs = zip(fields, begins, strict=True)
            fields = [texts if texts[7] else _with_lone_period(texts, line) for texts, line in pairs]
        columns = tuple(zip(*fields, strict=True)) or ((),) * 9
        # a time or an event proves that a line begins a sample; a thread or period does so only before frames
        is_proven = np.fromiter((bool(texts[4] or texts[7]) for texts in fields), np.bool_, len(fields))
        has_number = np.fromiter((bool(texts[2] or texts[6]) for texts in fields), np.bool_, len(fields))
        self._has_first_lines |= bool((is_proven | has_number & (lengths[leading] > 0)).any())
        if self._has_first_lines:
            is_stray = kind[rows] >= 0
            self.not_read += sum_of(lengths[is_stray])
            frames, lengths = frames[repeat(~is_stray, lengths)], np.where(is_stray, 0, lengths)
        frames, lengths = self._with_flat_frames(frames, lengths, leading, columns[8])
        is_sample = (kind[rows] >= 0) & (lengths > 0)
        is_sample[leading] = is_proven | (lengths[leading] > 0)
        self.not_read += len(leading) - sum_of(is_sample[leading])
        stack = self.stacks.stacks(frames, lengths)
        return take_rows_of(self._samples(columns, leading, is_sample, stack), is_sample)

    def _with_flat_frames(self, frames: I64, lengths: I64, leading: I64, line_ends: Sequence[bytes]) -> tuple[I64, I64]:
        """Return frames and (groups,) numbers of frames, with the frames of flat samples added.

        ``leading`` are the groups that have a first line, ``line_ends`` what follows the fields on these lines.
        """
        offsets = offsets_of(lengths)
        # a group without frames, or whose first frame only adds a source, may have its frame on its first line
        begins_with_source = np.append(self.stacks.is_source(frames), True)[offsets[:-1]]
        candidates = flatnonzero((lengths == 0)[leading] | begins_with_source[leading])
        kind = self.stacks.lines([_own_frame(line_ends[row]) for row in candidates.tolist()])
        flat = leading[candidates[kind >= 0]]
        insert_at, lengths = offsets[flat], lengths.copy()
        lengths[flat] += 1
        return np.insert(frames, insert_at, kind[kind >= 0]), lengths

    def _samples(self, columns: Sequence[Sequence[bytes]], leading: I64, is_sample: Bools, stack: I32) -> TextSamples:
        """Return a row for each group of lines, from the ``columns`` of fields of the groups ``leading``.

        Rows where ``is_sample`` (groups,) does not hold are meaningless. ``stack`` (groups,).
        """
        count = len(stack)
        comms, *pid_tid_cpu, seconds, fraction, period, events, _ = columns
        width = np.fromiter(map(len, fraction), np.int64, len(fraction))
        time = _integers(seconds, 0) * 10**9 + _integers(fraction, 0) * 10 ** np.where(width < 6, 3, 9 - width)
        time[width == 0] = LAST_TIME
        value = np.minimum(_integers(period, 1), MOST_PERIOD)
        event_rows = self.events.add_all(events)
        self.events_without_periods.update(
            event_rows[np.fromiter(map(len, period), np.int64, len(period)) == 0].tolist()
        )
        nameless = (self.events[b""], self.comms[b""]) if sum_of(is_sample) > sum_of(is_sample[leading]) else (0, 0)
        ids = (_integers(texts, -1) for texts in pid_tid_cpu)
        defaults = (*nameless, -1, -1, -1, LAST_TIME, 1)  # for samples without a first line
        sample_columns = [np.full(count, default, np.int64) for default in defaults]
        fields: tuple[AnyArray, ...] = (event_rows, self.comms.add_all(comms), *ids, time, value)
        for column, values in zip(sample_columns, fields, strict=True):
            column[leading] = values
        event, comm, pid, tid, cpu = (as_int32(column) for column in sample_columns[:5])
        return TextSamples(
            event=event, comm=comm, pid=pid, tid=tid, cpu=cpu, stack=stack,
            time=as_uint64(sample_columns[5]), value=sample_columns[6],
            count=np.ones(count, np.int64),
        )  # fmt: skip


def _integers(texts: Sequence[bytes], missing: int) -> I64:
    """Return (n,) the decimal number in each text, ``missing`` for empty texts."""
    if b"" in texts:
        texts = [text or b"%d" % missing for text in texts]
    return np.fromiter(map(int, texts), np.int64, len(texts))


def _with_lone_period(fields: tuple[bytes, ...], line: bytes) -> tuple[bytes, ...]:
    """Return the fields of a first line without an event, corrected if what looks like a thread number is a period.

    The width of its column shows that the number is a period.
    """
    if not (match := _PERIOD_ALONE.fullmatch(line)):
        return fields
    (before,) = _BEGIN.findall(match[1])[:1]
    return (*before[:6], match[2] or b"", b"", match[3])


def _own_frame(line_end: bytes) -> bytes:
    """Return a flat sample's frame, without the fields around it, from the end of the sample's first line."""
    match = _OWN_FRAME.match(line_end)
    return _AFTER_OBJECT.sub(b"", b" " + match[1] if match else line_end)


def _parse(line: bytes) -> TextFrame | int:
    """Return the frame on a line; for other lines, their kind."""
    if not line.strip():
        return BLANK
    if _BELOW_FRAMES.match(line):
        return IGNORED
    if _NUMBERS_ALONE.fullmatch(line):
        return BEGIN
    if match := _FRAME.match(line):
        return _frame(int(match[1], 16), (match[2] or b"").decode("utf-8", "surrogateescape").strip())
    if line.startswith(b"  ") and (source := _SOURCE.fullmatch(line.decode("utf-8", "surrogateescape"))):
        return TextFrame("", is_inlined=bool(source[3]), source=(source[1] or "", int(source[2] or 0)), is_source=True)
    return IGNORED if _IGNORED.match(line) else BEGIN


def _frame(address: int, text: str) -> TextFrame:
    """Return the frame whose line has ``text`` after its address: ``name+0x18 (object)`` or ``name (inlined)``.

    Offset and object may be missing. Without an offset, the object begins at a bracket before a path, if there is one,
    otherwise at the last bracket.
    """
    inlined_name = text.removesuffix("(inlined)")
    if inlined_name != text:
        return TextFrame(_OFFSET.sub("", inlined_name.rstrip()), mode=_mode(address, ""), is_inlined=True)
    if match := _SYMBOL_AND_OBJECT.fullmatch(text):
        name, object_name = match.groups()
    elif text.endswith(")") and (bracket := _OBJECT.search(text)):
        name, object_name = text[: bracket.start()], text[bracket.end() : -1]
    elif text.endswith(")") and (space := f" {text}".rfind(" (", 0, -10 if text.endswith("(deleted))") else None)) >= 0:
        name, object_name = text[: max(space - 1, 0)], text[space + 1 : -1]
    else:
        name, object_name = text, ""
    name, object_name = _OFFSET.sub("", name), _OFFSET.sub("", object_name)
    name, object_name = (_STANDARD_NAMES.get(shown, shown) for shown in (name, object_name))
    return TextFrame(name, object_name, _mode(address, object_name))


def _mode(address: int, object_name: str) -> int:
    """Return the CpuMode of a frame: kernel if its object is the kernel or a module, or its address has the top bit.

    Objects in brackets belong to the kernel, except those in _USER_OBJECTS.
    """
    if object_name.startswith(_USER_OBJECTS):
        return CpuMode.USER
    is_kernel = object_name.startswith("[") or object_name.endswith(("vmlinux", ".ko", ".ko.xz", ".ko.zst", ".ko.gz"))
    return CpuMode.KERNEL if is_kernel or address >> 63 else CpuMode.USER
