"""Reads the text of ``perf script``, of any version and with any fields, as people attach it to reports.

::

    prog  5585/5590 [001]  6936.366023:     250000 cycles:u:       the heading of a sample
    →       7f11db9fcc98 handle_amd+0x18 (/usr/lib/ld.so)          frames, innermost first
    →   ffffffff81e00b0b do_syscall_64+0x3b ([kernel.kallsyms])
                                                                   an empty line ends the sample

A sample without a call chain is *flat*: its only frame is at the end of its heading. Users choose the fields
(``perf script -F``), so almost any field may be missing, and even all headings. Nothing is quoted, and names of threads
and functions may contain anything. Hence the long patterns: they recognize a field by its padded width, and by what
follows it. Lines are classified (``_parse``), then put into groups (``ScriptText.read``), whose headings are divided
into fields (``_HEADING``). perf prints the text in tools/perf/builtin-script.c and tools/perf/util/evsel_fprintf.c.
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

# start of a flat sample's frame: perf right-aligns the address in 16 characters
_FLAT_FRAME_START = rb"(?= *[0-9a-f]{4,16} )[ 0-9a-f]{15}[0-9a-f] \S"
_MISC = rb"(?:[KUHGgMDESp]{1,8}[ \t]+)?"  # field misc
# address of a frame, and the rest of the line
_FRAME = re.compile(
    # an address after blanks; pasted text may have none before it, if the line ends in an object
    rb"(?:[ \t]+|(?=[0-9a-f]{6,16} .*\)$))([0-9a-f]{1,16})"
    # a thread's name may be hex digits (dd): the line is a heading if a time, event or flat frame follows
    rb"(?:[ \t](?!.*\d\.\d{6,9}: | *%b(?:\d+ +)?\S{1,256}:(?: *$|  | +[0-9a-f]{4,16} )"
    rb"|.*[\d:] +%b)(.*))?$" % (_MISC, _FLAT_FRAME_START)
)
# source of the frame above: "  main.c:7", or "  prog[401136]" if unknown; groups: file, line, " (inlined)"
_SOURCE_LINE = re.compile(r"  (?:(\S+):(\d{1,9})|\S+\[[0-9a-f]+\])( \(inlined\))?(?: .*)?")
_IGNORED = re.compile(
    rb"#(?!.*\d[ \t].*\d\.\d{6,9}:[ \t])"  # a line of the text's header, not the heading of a thread named #…
    # records that are not samples, branch stacks (0x401136/0x401200/…), errors of the decoders of traces
    rb"|.*(PERF_RECORD_|DEFERRED CALLCHAIN)|[ \t]*0x[0-9a-f]+/0x| instruction trace error"
)
# such as "branches:u:  401136 main+0x6 (/bin/prog) =>  401200 …"
_BRANCH = re.compile(rb"^[^\n]* branches(?::\w+)?:.* => +[0-9a-f]+ ", re.MULTILINE)
_BRANCH_SEARCH_BYTES = 1 << 12
# lines below a stack's frames: tracepoint fields (simpleperf), instructions, physical addresses, page sizes
_LINES_BELOW_FRAMES = re.compile(
    rb"\t(?:tracing data:|\t\w+ : )|[ \t]+(?:insn|ilen|IPC): "
    rb"|(?:(?= *[0-9a-f]+(?: |$))[ 0-9a-f]{15}[0-9a-f])?(?: \d+[BKMG]| N/A){0,2}$"
)
_NUMBERS_ALONE = re.compile(rb" *(?:\d{1,10} +)?\d{1,20} +(?:[0-9a-f]{6,16} \S.* \(.*\))?")
"""A heading of a thread number, a period or both, then blanks or a flat sample's frame.

Blanks at the end of the line, or another address, follow the digits. So they are not the address of a frame: after that
comes the end of the line, or a name.
"""
# a flat sample's frame: from the last address in a column of 16 characters on; data addresses come before it
_FLAT_FRAME_AT_END = re.compile(rb".* ((?= {0,15}[0-9a-f]{1,16}(?: |$))[ 0-9a-f]{15}[0-9a-f](?: .*|$))")
# fields after a frame's object: physical address, page sizes, branch stack, instruction bytes
_FIELDS_AFTER_OBJECT = re.compile(
    rb"(?<=\))(?:[ \t]*[0-9a-f]{1,16}(?=[ \t]|$))?"
    rb"(?:[ \t]+(?:0x[0-9a-f]+[/(+ ].*|[0-9a-f]{1,16}|\d+[BKMG]|N/A))*[ \t]*$"
    rb"|[ \t]+(?:insn|ilen|IPC): .*|(?: \d+[BKMG]| N/A)+$"
)
_NAME_WITH_COLON = (
    rb"[^\s:]{1,256}:[ \t].{0,200}?\S[ \t]+(?:\d{1,10}/)?\d{1,10}(?:[ \t]*$|[ \t]+%b(?:[0-9a-f]{4,16} \S.*\)$"
    rb"|(?:\d{1,18}[ \t]+)?(?:\w+:\w+:[ \t]|\S{1,256}:(?:[ \t]*$|[ \t]+[0-9a-f]{4,16} ))))" % _MISC
)
"""A thread's name whose first word ends in a colon, such as ``nginx: worker 7``, and the fields after it.

The word looks like an event, but a thread number and further fields follow.
"""
# Groups: comm, pid, tid, cpu, seconds, fraction of a second, period, event, rest of the line; all are empty for lines
# that are no heading. (?(3)…) and (?(5)…) depend on whether there is a tid or a time.
_HEADING = re.compile(
    rb"^[ \t]*+(?:(\S.{0,63}?)[ \t]++)??"  # comm
    rb"(?:(?:(-?\d{1,10})/[ \t]*)?(-?\d{1,10})(?:[ \t]++|$))?"  # pid, tid
    rb"(?:\[(\d{1,6})\][ \t]+)?(?:(?(3)|(?=.{0,200}\d\.\d{6,9}:))[KUHGgMDESp]{1,8}[ \t]+)?"  # cpu, misc
    rb"(?:\d{4}-\d\d-\d\d [\d:.]+[ \t]+)?"  # time of day
    rb"(?:(\d{1,10})\.(\d{6,9}|\d{1,5}(?=:\t)):)?"  # time; old simpleperf prints microseconds without leading zeros
    # without a time here, none may follow
    rb"(?(5)|(?!.{0,200}[ \t]\d{1,10}\.\d{6,9}:(?:[ \t]|$)))"
    # without time and tid, the next word must not begin a thread's name (_NAME_WITH_COLON)
    rb"(?(5)|(?(3)|(?!%b)))"
    rb"(?:[ \t]*+(?:(\d{1,18})[ \t]++)?((?!\d+\.\d{6})\S{1,256}?):(?=[ \t]|$))?"  # period, event
    # anything after an event or time, otherwise nothing, or the frame of a flat sample
    rb"(?:(?<=:)|(?=$)|(?<=[ \t])(?=[0-9a-f]{4,16} \S.*\)$)(?!.*[\d:] +%b))(.*)$"
    rb"|^.*$" % (_NAME_WITH_COLON, _FLAT_FRAME_START),
    re.MULTILINE,
)


def _padded_number(width: int) -> bytes:
    return b"|".join(b" {%d}\\d{%d} " % (width - digits, digits) for digits in range(1, width)) + b"|\\d{%d}" % width


_LONE_PERIOD = re.compile(
    # perf pads the thread number after the process number with blanks
    rb"(.{0,200}?/(?=\d)[\d ]{7} %b|.{0,200}?\S %b|)"
    rb"(?:(?=%b) {0,9}(\d{1,18})(?= *$| +[0-9a-f]{1,16} )|(?=%b))(.*)"
    % (_MISC, _MISC, _padded_number(10), _padded_number(16))
)
"""A heading without an event, but with a period, or with an address that consists of decimal digits.

``_HEADING`` takes this number for a thread's; only the width of its column shows what it is. Groups: text before the
number, the period (empty for an address), and the rest of the line.
"""
_SYMBOL_AND_OBJECT = re.compile(r"(.*?)\+0x[0-9a-f]+ \((.*)\)")
_OBJECT_START = re.compile(r"(?:^| )\((?=[/\[]|[A-Za-z]:[\\/])")
"""Parenthesis before an object's path; names and paths may contain others."""
_OFFSET = re.compile(r"\+0x[0-9a-f]+$")
# shown in place of perf's words for unknown names
_STANDARD_NAMES = {"[unknown]": "", "(cookie)": ROOT_FRAME_NAMES[RootFrame.USER_MISSING]}
_USER_OBJECTS = ("[vdso", "[vsyscall", "[vectors", "[heap", "[stack", "[anon", "[uprobes", "[unknown", "[sigpage")


class ScriptText(TextReader):
    """Reads text of ``perf script``."""

    kind = "text of perf script"
    block_ends = (b"\n\n", b"\n")
    # beginnings of samples
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
        # in a text with headings, frames without a heading are not a sample
        self._has_headings = False

    def read(self, block: bytes) -> TextSamples:
        """Return the samples of a block, which ends after a complete sample.

        A group of lines is a heading with its frames, or frames without a heading. It begins at a heading, at an
        ignored line, and at a frame after a blank line. With F for a frame and H for a heading::

            lines          H   F   F   (blank)   H   F   (blank)   F   F
            codes         −1   5   3        −2  −1   5        −2   4   3
            group_starts   0                     4                 7          frame_counts 2, 1, 2

        The first two groups are ``headed``. The third one is a sample only if the text has no headings.
        """
        lines = block.split(b"\n")
        codes = self.stacks.line_codes(lines)
        is_frame = codes >= 0
        begins_group = (codes == HEADING) | (codes == IGNORED) | is_frame & (of_previous(codes, BLANK) == BLANK)
        group_starts, frames = flatnonzero(begins_group), as_int64(codes[is_frame])
        frame_counts = bincount((cumsum(begins_group) - 1)[is_frame], len(group_starts))
        headed = flatnonzero(codes[group_starts] == HEADING)
        fields = (
            _HEADING.findall(b"\n".join([lines[row] for row in group_starts[headed].tolist()])) if len(headed) else []
        )
        if not all(texts[7] for texts in fields):
            headings = [lines[row] for row in group_starts[headed].tolist()]
            pairs = zip(fields, headings, strict=True)
            fields = [texts if texts[7] else _with_lone_period(texts, line) for texts, line in pairs]
        columns = tuple(zip(*fields, strict=True)) or ((),) * 9
        # a time (4) or an event (7) proves a heading; a tid (2) or period (6) does so only before frames
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
        """Add the frames of flat samples.

        ``frames`` are those of all groups, ``frame_counts`` (groups,) their numbers. ``line_ends`` are the texts after
        the fields of the headings of the groups ``headed``.
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
        """Return a row for each group of lines; rows where ``is_sample`` (groups,) does not hold are meaningless."""
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
        # an event and a thread called "" are needed only for samples without a heading
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
    if b"" in texts:
        texts = [text or b"%d" % missing for text in texts]
    return np.fromiter(map(int, texts), np.int64, len(texts))


def _with_lone_period(fields: tuple[bytes, ...], line: bytes) -> tuple[bytes, ...]:
    if not (match := _LONE_PERIOD.fullmatch(line)):
        return fields
    (before,) = _HEADING.findall(match[1])[:1]
    return (*before[:6], match[2] or b"", b"", match[3])


def _flat_frame(line_end: bytes) -> bytes:
    match = _FLAT_FRAME_AT_END.match(line_end)
    return _FIELDS_AFTER_OBJECT.sub(b"", b" " + match[1] if match else line_end)


def _parse(line: bytes) -> TextFrame | int:
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
    """Parse ``name+0x18 (object)`` or ``name (inlined)``.

    Without an offset, the object begins at the first parenthesis before a path, else at the last parenthesis, not
    counting that of ``(deleted)``.
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
    name, object_name = (_STANDARD_NAMES.get(printed, printed) for printed in (name, object_name))
    return TextFrame(name, object_name, _mode(address, object_name))


def _mode(address: int, object_name: str) -> int:
    if object_name.startswith(_USER_OBJECTS):
        return CpuMode.USER
    is_kernel = object_name.startswith("[") or object_name.endswith(("vmlinux", ".ko", ".ko.xz", ".ko.zst", ".ko.gz"))
    return CpuMode.KERNEL if is_kernel or address >> 63 else CpuMode.USER
