"""Reads the text of ``perf script``, of any version and with any fields, as people attach it to reports.

::

    prog  5585/5590 [001]  6936.366023:     250000 cycles:u:       the heading of a sample
    →       7f11db9fcc98 handle_amd+0x18 (/usr/lib/ld.so)          frames, innermost first
    →   ffffffff81e00b0b do_syscall_64+0x3b ([kernel.kallsyms])
                                                                   an empty line ends the sample

A sample recorded without a call chain is *flat*: its only frame is at the end of its heading, on the same line. Users
choose the fields of headings (``perf script -F``), so almost any field may be missing, and even all headings. The
layout has no quoting, and names of threads and functions may contain anything. Hence the long patterns: they recognize
a field by the width to which perf pads it, and by what follows it.

A text is read in three steps. Each line is classified: as a frame, a heading, a blank line, or one to be ignored
(``_parse``). Lines are divided into groups, each of which may be a sample (``ScriptText.read``). The headings are
divided into their fields (``_HEADING``), which may show that a line was not a heading. The layout is defined by
tools/perf/builtin-script.c and tools/perf/util/evsel_fprintf.c.
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
from perf2x.sources.text.text_tables import BLANK, HEADING, IGNORED, TextFrame, TextReader, TextSamples

# the beginning of a flat sample's frame: perf right-aligns the address in a column of 16 characters
_FLAT_FRAME_START = rb"(?= *[0-9a-f]{4,16} )[ 0-9a-f]{15}[0-9a-f] \S"
_MISC = rb"(?:[KUHGgMDESp]{1,8}[ \t]+)?"  # the field misc, one letter for each flag
# the line of a frame; groups: its address, and the rest of the line
_FRAME = re.compile(
    # an address after blanks; after pasting, also without blanks, if the line ends in an object
    rb"(?:[ \t]+|(?=[0-9a-f]{6,16} .*\)$))([0-9a-f]{1,16})"
    # a thread's name may consist of hex digits (dd): the line is a heading if a time, an event or the frame of a flat
    # sample follows
    rb"(?:[ \t](?!.*\d\.\d{6,9}: | *%b(?:\d+ +)?\S{1,256}:(?: *$|  | +[0-9a-f]{4,16} )"
    rb"|.*[\d:] +%b)(.*))?$" % (_MISC, _FLAT_FRAME_START)
)
# below a frame, its source: "  main.c:7", or "  prog[401136]" if it is unknown; groups: file, line, " (inlined)"
_SOURCE_LINE = re.compile(r"  (?:(\S+):(\d{1,9})|\S+\[[0-9a-f]+\])( \(inlined\))?(?: .*)?")
_IGNORED = re.compile(
    rb"#(?!.*\d[ \t].*\d\.\d{6,9}:[ \t])"  # a line of the text's header, not the heading of a thread named #…
    # records that are not samples, branch stacks (0x401136/0x401200/…), errors of the decoders of traces
    rb"|.*(PERF_RECORD_|DEFERRED CALLCHAIN)|[ \t]*0x[0-9a-f]+/0x| instruction trace error"
)
# one branch of a trace: "branches:u:  401136 main+0x6 (/bin/prog) =>  401200 …"
_BRANCH = re.compile(rb"^[^\n]* branches(?::\w+)?:.* => +[0-9a-f]+ ", re.MULTILINE)
# number of bytes at the start of a text that are searched for branches
_BRANCH_SEARCH_BYTES = 1 << 12
# lines below a stack's frames: tracepoint fields (simpleperf), instructions, physical addresses, page sizes
_LINES_BELOW_FRAMES = re.compile(
    rb"\t(?:tracing data:|\t\w+ : )|[ \t]+(?:insn|ilen|IPC): "
    rb"|(?:(?= *[0-9a-f]+(?: |$))[ 0-9a-f]{15}[0-9a-f])?(?: \d+[BKMG]| N/A){0,2}$"
)
_NUMBERS_ALONE = re.compile(rb" *(?:\d{1,10} +)?\d{1,20} +(?:[0-9a-f]{6,16} \S.* \(.*\))?")
"""A heading that consists of a thread number, a period or both, then blanks or a flat sample's frame.

The digits could also be the address of a frame, but on a frame's line, either nothing or a name follows the address.
"""
# a flat sample's frame at the end of a heading: from the last address in a column of 16 characters on; data addresses,
# in columns of the same width, come before it
_FLAT_FRAME_AT_END = re.compile(rb".* ((?= {0,15}[0-9a-f]{1,16}(?: |$))[ 0-9a-f]{15}[0-9a-f](?: .*|$))")
# what may follow the object of a frame on its line: physical address, page sizes, branch stack, instruction bytes
_FIELDS_AFTER_OBJECT = re.compile(
    rb"(?<=\))(?:[ \t]*[0-9a-f]{1,16}(?=[ \t]|$))?"
    rb"(?:[ \t]+(?:0x[0-9a-f]+[/(+ ].*|[0-9a-f]{1,16}|\d+[BKMG]|N/A))*[ \t]*$"
    rb"|[ \t]+(?:insn|ilen|IPC): .*|(?: \d+[BKMG]| N/A)+$"
)
_NAME_WITH_COLON = (
    rb"[^\s:]{1,256}:[ \t].{0,200}?\S[ \t]+(?:\d{1,10}/)?\d{1,10}(?:[ \t]*$|[ \t]+%b(?:[0-9a-f]{4,16} \S.*\)$"
    rb"|(?:\d{1,18}[ \t]+)?(?:\w+:\w+:[ \t]|\S{1,256}:(?:[ \t]*$|[ \t]+[0-9a-f]{4,16} ))))" % _MISC
)
"""A thread's name whose first word ends in a colon, such as ``nginx: worker 7``, and what follows the name.

That word looks like the name of an event, but it is not, because a thread number and further fields follow.
"""
# The heading of a sample. Groups: comm, pid, tid, cpu, seconds, fraction of a second, period, event, and the rest of
# the line; all are empty for any other line. (?(3)…) and (?(5)…) depend on whether there is a tid or a time.
_HEADING = re.compile(
    rb"^[ \t]*+(?:(\S.{0,63}?)[ \t]++)??"  # comm
    rb"(?:(?:(-?\d{1,10})/[ \t]*)?(-?\d{1,10})(?:[ \t]++|$))?"  # pid, tid
    rb"(?:\[(\d{1,6})\][ \t]+)?(?:(?(3)|(?=.{0,200}\d\.\d{6,9}:))[KUHGgMDESp]{1,8}[ \t]+)?"  # cpu, misc
    rb"(?:\d{4}-\d\d-\d\d [\d:.]+[ \t]+)?"  # time of day
    rb"(?:(\d{1,10})\.(\d{6,9}|\d{1,5}(?=:\t)):)?"  # time; old simpleperf prints microseconds without leading zeros
    # if no time was matched, none may follow: otherwise what was matched so far is only part of the thread's name
    rb"(?(5)|(?!.{0,200}[ \t]\d{1,10}\.\d{6,9}:(?:[ \t]|$)))"
    # without time and tid, the next word must not be the first one of a thread's name (_NAME_WITH_COLON)
    rb"(?(5)|(?(3)|(?!%b)))"
    rb"(?:[ \t]*+(?:(\d{1,18})[ \t]++)?((?!\d+\.\d{6})\S{1,256}?):(?=[ \t]|$))?"  # period, event
    # the rest: anything after an event or time, otherwise nothing, or the frame of a flat sample
    rb"(?:(?<=:)|(?=$)|(?<=[ \t])(?=[0-9a-f]{4,16} \S.*\)$)(?!.*[\d:] +%b))(.*)$"
    rb"|^.*$" % (_NAME_WITH_COLON, _FLAT_FRAME_START),
    re.MULTILINE,
)


def _padded_number(width: int) -> bytes:
    """Return a pattern for a decimal number that is padded on the left with blanks to ``width`` characters."""
    return b"|".join(b" {%d}\\d{%d} " % (width - digits, digits) for digits in range(1, width)) + b"|\\d{%d}" % width


_LONE_PERIOD = re.compile(
    # perf pads the thread number after the process number with blanks
    rb"(.{0,200}?/(?=\d)[\d ]{7} %b|.{0,200}?\S %b|)"
    rb"(?:(?=%b) {0,9}(\d{1,18})(?= *$| +[0-9a-f]{1,16} )|(?=%b))(.*)"
    % (_MISC, _MISC, _padded_number(10), _padded_number(16))
)
"""A heading without an event, but with a period, or with an address that consists of decimal digits alone.

``_HEADING`` takes such a number for a thread's; only the width of its column shows what it is. Groups: what precedes
the number, the period (empty if the number is an address), and the rest of the line.
"""
# the name of a frame's function, and its object
_SYMBOL_AND_OBJECT = re.compile(r"(.*?)\+0x[0-9a-f]+ \((.*)\)")
_OBJECT_START = re.compile(r"(?:^| )\((?=[/\[]|[A-Za-z]:[\\/])")
"""The parenthesis before an object's path: function names and paths may contain others."""
_OFFSET = re.compile(r"\+0x[0-9a-f]+$")
# what perf prints in place of a name that it does not know → what we show instead
_STANDARD_NAMES = {"[unknown]": "", "(cookie)": ROOT_FRAME_NAMES[RootFrame.USER_MISSING]}
# objects in brackets that do not belong to the kernel
_USER_OBJECTS = ("[vdso", "[vsyscall", "[vectors", "[heap", "[stack", "[anon", "[uprobes", "[unknown", "[sigpage")


class ScriptText(TextReader):
    """Reads text of ``perf script``."""

    kind = "text of perf script"
    block_ends = (b"\n\n", b"\n")
    # ways in which a sample can begin
    sample_start = re.compile(
        rb"[^#\n]{0,100}?-?\d+[ \t].{0,100}?\d\.\d{6,9}:"  # a time
        rb"|(?:[^#\n]{0,100}[ \t])?\S{1,256}:[ \t]*\n"  # an event, then a frame with an aligned address
        rb"(?=\t|[0-9a-f]|[ 0-9a-f]{12})[ \t]*[0-9a-f]{4,16}[ \n]"
        rb"|\S[^#\n]{0,100}[ \t]\d*[ \t]*\n\t *[0-9a-f]{1,16}[ \n]"  # a thread, then a frame
        rb"|\t *[0-9a-f]{4,16} .* \(.*\)\n"  # a frame with an object, without a heading
        rb"|[^#\n]{1,200} %b.* \(.*\).*\n"  # any field, then the frame of a flat sample
        rb"|[^#\n]{1,200}: {1,2}%b.*\n"  # an event, then the frame of a flat sample, without an object
        # a frame without heading and object, whose address is aligned
        rb"|\t(?= *[0-9a-f]{4,16}[ \n])[ 0-9a-f]{16}(?: .*)?\n" % (_FLAT_FRAME_START, _FLAT_FRAME_START),
    )

    @classmethod
    def is_kind(cls, lines: bytes) -> bool:
        """Return whether the first lines of a text are samples, not branches as ``--itrace=b`` prints them."""
        return super().is_kind(lines) and not _BRANCH.search(lines[:_BRANCH_SEARCH_BYTES])

    def __init__(self) -> None:
        super().__init__(_parse)
        # whether a heading was found so far; if so, frames without a heading are not a sample
        self._has_headings = False

    def read(self, block: bytes) -> TextSamples:
        """Return the samples of a block, which ends after a complete sample.

        A group of lines is a heading with the frames after it, or frames without a heading. So a group begins at each
        heading, at each ignored line, and at a frame after a blank line. With F for a frame and H for a heading::

            lines          H   F   F   (blank)   H   F   (blank)   F   F
            codes         −1   5   3        −2  −1   5        −2   4   3
            group_starts   0                     4                 7          frame_counts 2, 1, 2

        The first two groups are ``headed``. The third one is a sample only if the text has no headings; otherwise its
        frames are stray: their sample is unknown.
        """
        lines = block.split(b"\n")
        codes = self.stacks.line_codes(lines)
        is_frame = codes >= 0
        begins_group = (codes == HEADING) | (codes == IGNORED) | is_frame & (of_previous(codes, BLANK) == BLANK)
        group_starts, frames = flatnonzero(begins_group), as_int64(codes[is_frame])
        frame_counts = bincount((cumsum(begins_group) - 1)[is_frame], len(group_starts))
        # rows of the groups that have a heading, and the fields of the headings
        headed = flatnonzero(codes[group_starts] == HEADING)
        fields = (
            _HEADING.findall(b"\n".join([lines[row] for row in group_starts[headed].tolist()])) if len(headed) else []
        )
        if not all(texts[7] for texts in fields):
            headings = [lines[row] for row in group_starts[headed].tolist()]
            pairs = zip(fields, headings, strict=True)
            fields = [texts if texts[7] else _with_lone_period(texts, line) for texts, line in pairs]
        columns = tuple(zip(*fields, strict=True)) or ((),) * 9  # one for each group of _HEADING
        # a time (4) or an event (7) proves that a line is a heading; a tid (2) or period (6) does so only before frames
        is_proven = np.fromiter((bool(texts[4] or texts[7]) for texts in fields), np.bool_, len(fields))
        has_number = np.fromiter((bool(texts[2] or texts[6]) for texts in fields), np.bool_, len(fields))
        self._has_headings |= bool((is_proven | has_number & (frame_counts[headed] > 0)).any())
        if self._has_headings:
            is_stray = codes[group_starts] >= 0
            self.lines_not_read += sum_of(frame_counts[is_stray])
            frames, frame_counts = frames[repeat(~is_stray, frame_counts)], np.where(is_stray, 0, frame_counts)
        frames, frame_counts = self._with_flat_frames(frames, frame_counts, headed, columns[8])
        is_sample = (codes[group_starts] >= 0) & (frame_counts > 0)
        is_sample[headed] = is_proven | (frame_counts[headed] > 0)
        self.lines_not_read += len(headed) - sum_of(is_sample[headed])
        stack = self.stacks.stack_numbers(frames, frame_counts)
        return take_rows_of(self._samples(columns, headed, is_sample, stack), is_sample)

    def _with_flat_frames(
        self, frames: I64, frame_counts: I64, headed: I64, line_ends: Sequence[bytes]
    ) -> tuple[I64, I64]:
        """Return ``frames`` and ``frame_counts`` with the frames of flat samples added.

        ``frames`` are the codes of the frames of all groups, ``frame_counts`` (groups,) the number of each group's.
        ``headed`` are the rows of the groups that have a heading, ``line_ends`` what follows the fields of each of
        these headings.
        """
        offsets = offsets_of(frame_counts)
        # a group without frames, or whose first line only adds a source, may have its frame on its heading
        begins_with_source = np.append(self.stacks.adds_source(frames), True)[offsets[:-1]]
        candidates = flatnonzero((frame_counts == 0)[headed] | begins_with_source[headed])
        codes = self.stacks.line_codes([_flat_frame(line_ends[row]) for row in candidates.tolist()])
        flat_groups = headed[candidates[codes >= 0]]
        insert_offsets, frame_counts = offsets[flat_groups], frame_counts.copy()
        frame_counts[flat_groups] += 1
        return np.insert(frames, insert_offsets, codes[codes >= 0]), frame_counts

    def _samples(self, columns: Sequence[Sequence[bytes]], headed: I64, is_sample: Bools, stack: I32) -> TextSamples:
        """Return a row for each group of lines; rows where ``is_sample`` does not hold are meaningless.

        ``columns`` are the fields of the headings, by group of ``_HEADING``; ``headed`` are the rows of the groups of
        lines to which these headings belong. Shapes: ``is_sample`` and ``stack`` (groups,).
        """
        count = len(stack)
        comms, *pid_tid_cpu, seconds, fraction, period, events, _ = columns
        width = np.fromiter(map(len, fraction), np.int64, len(fraction))
        # nanoseconds; fewer than six digits are microseconds without leading zeros
        time = _integers(seconds, 0) * 10**9 + _integers(fraction, 0) * 10 ** np.where(width < 6, 3, 9 - width)
        time[width == 0] = LAST_TIME
        value = np.minimum(_integers(period, 1), MOST_PERIOD)
        event_rows = self.events.add_all(events)
        self.events_without_periods.update(
            event_rows[np.fromiter(map(len, period), np.int64, len(period)) == 0].tolist()
        )
        # "" becomes an event and a thread's name only if a sample without a heading needs them
        nameless = (self.events[b""], self.comms[b""]) if sum_of(is_sample) > sum_of(is_sample[headed]) else (0, 0)
        ids = (_integers(texts, -1) for texts in pid_tid_cpu)
        defaults = (*nameless, -1, -1, -1, LAST_TIME, 1)  # for samples without a heading
        sample_columns = [np.full(count, default, np.int64) for default in defaults]
        fields: tuple[AnyArray, ...] = (event_rows, self.comms.add_all(comms), *ids, time, value)
        for column, values in zip(sample_columns, fields, strict=True):
            column[headed] = values
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
    """Return the ``fields`` of a heading, corrected if what ``_HEADING`` took for a thread number is a period.

    The width of the number's column shows that. ``line`` is the heading, which has no event.
    """
    if not (match := _LONE_PERIOD.fullmatch(line)):
        return fields
    (before,) = _HEADING.findall(match[1])[:1]
    return (*before[:6], match[2] or b"", b"", match[3])


def _flat_frame(line_end: bytes) -> bytes:
    """Return a flat sample's frame, without the fields around it, from the end of the sample's heading."""
    match = _FLAT_FRAME_AT_END.match(line_end)
    return _FIELDS_AFTER_OBJECT.sub(b"", b" " + match[1] if match else line_end)


def _parse(line: bytes) -> TextFrame | int:
    """Return the frame on a line; for a line that is not part of a stack, its kind (HEADING, BLANK or IGNORED)."""
    if not line.strip():
        return BLANK
    if _LINES_BELOW_FRAMES.match(line):
        return IGNORED
    if _NUMBERS_ALONE.fullmatch(line):
        return HEADING
    if match := _FRAME.match(line):
        return _frame(int(match[1], 16), (match[2] or b"").decode("utf-8", "surrogateescape").strip())
    if line.startswith(b"  ") and (source := _SOURCE_LINE.fullmatch(line.decode("utf-8", "surrogateescape"))):
        return TextFrame(
            "", is_inlined=bool(source[3]), source=(source[1] or "", int(source[2] or 0)), adds_source=True
        )
    return IGNORED if _IGNORED.match(line) else HEADING


def _frame(address: int, text: str) -> TextFrame:
    """Return the frame whose line has ``text`` after its address: ``name+0x18 (object)`` or ``name (inlined)``.

    Offset and object may be missing. Without an offset, the object begins at the first parenthesis before a path, if
    there is one, otherwise at the last parenthesis, not counting that of ``(deleted)``.
    """
    inlined_name = text.removesuffix("(inlined)")
    if inlined_name != text:
        return TextFrame(_OFFSET.sub("", inlined_name.rstrip()), mode=_mode(address, ""), is_inlined=True)
    if match := _SYMBOL_AND_OBJECT.fullmatch(text):
        name, object_name = match.groups()
    elif text.endswith(")") and (path_start := _OBJECT_START.search(text)):
        name, object_name = text[: path_start.start()], text[path_start.end() : -1]
    elif text.endswith(")") and (space := f" {text}".rfind(" (", 0, -10 if text.endswith("(deleted))") else None)) >= 0:
        name, object_name = text[: max(space - 1, 0)], text[space + 1 : -1]
    else:
        name, object_name = text, ""
    name, object_name = _OFFSET.sub("", name), _OFFSET.sub("", object_name)
    name, object_name = (_STANDARD_NAMES.get(shown, shown) for shown in (name, object_name))
    return TextFrame(name, object_name, _mode(address, object_name))


def _mode(address: int, object_name: str) -> int:
    """Return the CpuMode of a frame: user for objects in _USER_OBJECTS, whatever the address.

    Other frames are the kernel's if their object is in brackets, the kernel or a module, or if their address has the
    top bit.
    """
    if object_name.startswith(_USER_OBJECTS):
        return CpuMode.USER
    is_kernel = object_name.startswith("[") or object_name.endswith(("vmlinux", ".ko", ".ko.xz", ".ko.zst", ".ko.gz"))
    return CpuMode.KERNEL if is_kernel or address >> 63 else CpuMode.USER
