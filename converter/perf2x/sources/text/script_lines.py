"""Reads the text of ``perf script``, of any version and with any fields, as people attach it to reports.

::

    prog  5585/5590 [001]  6936.366023:     250000 cycles:u:       begins a sample; a flat sample has its frame here
    →       7f11db9fcc98 handle_amd+0x18 (/usr/lib/ld.so)          frames, innermost first
    →   ffffffff81e00b0b do_syscall_64+0x3b ([kernel.kallsyms])
                                                                   an empty line ends the sample

A flat sample is one without a call chain. tools/perf/builtin-script.c and tools/perf/util/evsel_fprintf.c define the
layout.
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

_FLAT = rb"(?= *[0-9a-f]{4,16} )[ 0-9a-f]{15}[0-9a-f] \S"
"""The beginning of a flat sample's frame: perf aligns the address in a column of 16 characters."""
_MISC = rb"(?:[KUHGgMDESp]{1,8}[ \t]+)?"
_FRAME = re.compile(
    rb"(?:[ \t]+|(?=[0-9a-f]{6,16} .*\)$))([0-9a-f]{1,16})"  # indentation may be lost
    # not followed by a time or event
    rb"(?:[ \t](?!.*\d\.\d{6,9}: | *%b(?:\d+ +)?\S{1,256}:(?: *$|  | +[0-9a-f]{4,16} )"
    rb"|.*[\d:] +%b)(.*))?$" % (_MISC, _FLAT)  # or by a flat sample's frame: a thread's name may be hex digits (dd)
)
_SOURCE = re.compile(r"  (?:(\S+):(\d{1,9})|\S+\[[0-9a-f]+\])( \(inlined\))?(?: .*)?")
_IGNORED = re.compile(
    rb"#(?!.*\d[ \t].*\d\.\d{6,9}:[ \t])"  # lines of the header, but no sample of a thread whose name begins with #
    rb"|.*(PERF_RECORD_|DEFERRED CALLCHAIN)|[ \t]*0x[0-9a-f]+/0x| instruction trace error"
)
_BRANCH = re.compile(rb"^[^\n]* branches(?::\w+)?:.* => +[0-9a-f]+ ", re.MULTILINE)
_BEGINNING = 1 << 12
"""Bytes of a text that are searched for branches."""
_BELOW = re.compile(
    rb"\t(?:tracing data:|\t\w+ : )|[ \t]+(?:insn|ilen|IPC): "
    rb"|(?:(?= *[0-9a-f]+(?: |$))[ 0-9a-f]{15}[0-9a-f])?(?: \d+[BKMG]| N/A){0,2}$"
)
"""Lines below a stack's frames: tracepoint fields (simpleperf), instructions, physical addresses, page sizes."""
_NUMBER = re.compile(rb" *(?:\d{1,10} +)?\d{1,20} +(?:[0-9a-f]{6,16} \S.* \(.*\))?")
"""A line that begins a sample with only a thread number, a period or both, before blanks or a flat sample's frame.

Such a line is not a frame, whose address is followed by nothing or by a name.
"""
_OWN_PLACE = re.compile(rb".* ((?= {0,15}[0-9a-f]{1,16}(?: |$))[ 0-9a-f]{15}[0-9a-f](?: .*|$))")
"""The last aligned address on the line that begins a sample: the sample's own. Aligned addresses before it are data
addresses.
"""
_BEHIND = re.compile(
    rb"(?<=\))(?:[ \t]*[0-9a-f]{1,16}(?=[ \t]|$))?"
    rb"(?:[ \t]+(?:0x[0-9a-f]+[/(+ ].*|[0-9a-f]{1,16}|\d+[BKMG]|N/A))*[ \t]*$"
    rb"|[ \t]+(?:insn|ilen|IPC): .*|(?: \d+[BKMG]| N/A)+$"
)
"""Fields after the object of a frame: physical addresses, page sizes, branches, instructions."""
_NAMED = (
    rb"[^\s:]{1,256}:[ \t].{0,200}?\S[ \t]+(?:\d{1,10}/)?\d{1,10}(?:[ \t]*$|[ \t]+%b(?:[0-9a-f]{4,16} \S.*\)$"
    rb"|(?:\d{1,18}[ \t]+)?(?:\w+:\w+:[ \t]|\S{1,256}:(?:[ \t]*$|[ \t]+[0-9a-f]{4,16} ))))" % _MISC
)
"""A thread's name whose first word ends in a colon, such as ``nginx: worker 7``. The word is not an event's name,
because a thread number and further fields follow.
"""
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
    rb"|^.*$" % (_NAMED, _FLAT),
    re.MULTILINE,
)


def _column(width: int) -> bytes:
    """Return a pattern for a decimal number that blanks before it pad to ``width`` characters."""
    return b"|".join(b" {%d}\\d{%d} " % (width - digits, digits) for digits in range(1, width)) + b"|\\d{%d}" % width


_PERIOD_ALONE = re.compile(
    # perf pads the thread number after the process number with blanks
    rb"(.{0,200}?/(?=\d)[\d ]{7} %b|.{0,200}?\S %b|)"
    rb"(?:(?=%b) {0,9}(\d{1,18})(?= *$| +[0-9a-f]{1,16} )|(?=%b))(.*)" % (_MISC, _MISC, _column(10), _column(16))
)
"""A line without an event that has a period, or an address of decimal digits. Only the width of its column shows that
the number is not a thread's.
"""
_SYMBOL_AND_OBJECT = re.compile(r"(.*?)\+0x[0-9a-f]+ \((.*)\)")
_OBJECT = re.compile(r"(?:^| )\((?=[/\[]|[A-Za-z]:[\\/])")
"""The bracket before an object's path; the name before it and the path itself may contain other brackets."""
_OFFSET = re.compile(r"\+0x[0-9a-f]+$")
_STANDARD_NAMES = {"[unknown]": "", "(cookie)": ROOT_FRAME_NAMES[RootFrame.USER_MISSING]}
_USER = ("[vdso", "[vsyscall", "[vectors", "[heap", "[stack", "[anon", "[uprobes", "[unknown", "[sigpage")


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
        rb"|\t(?= *[0-9a-f]{4,16}[ \n])[ 0-9a-f]{16}(?: .*)?\n" % (_FLAT, _FLAT),  # aligned by perf, without an object
    )

    @classmethod
    def is_kind(cls, lines: bytes) -> bool:
        """Return whether the first lines of a text are samples, not branches as ``--itrace=b`` prints them."""
        return super().is_kind(lines) and not _BRANCH.search(lines[:_BEGINNING])

    def __init__(self) -> None:
        super().__init__(_parse)
        self._has_begins = False
        """Whether samples begin with a line of their own, as in nearly all texts. If so, frames without such a line
        before them belong to no sample.
        """

    def read(self, block: bytes) -> TextSamples:
        """Return the samples of a block, which ends after a complete sample."""
        lines = block.split(b"\n")
        kind = self.stacks.lines(lines)
        is_frame = kind >= 0
        opens = (kind == BEGIN) | (kind == IGNORED) | is_frame & (of_previous(kind, BLANK) == BLANK)
        rows, frames = flatnonzero(opens), as_int64(kind[is_frame])
        lengths = bincount((cumsum(opens) - 1)[is_frame], len(rows))
        leading = flatnonzero(kind[rows] == BEGIN)
        found = _BEGIN.findall(b"\n".join([lines[row] for row in rows[leading].tolist()])) if len(leading) else []
        if not all(one[7] for one in found):
            begins = [lines[row] for row in rows[leading].tolist()]
            found = [one if one[7] else _with_period(one, line) for one, line in zip(found, begins, strict=True)]
        columns = tuple(zip(*found, strict=True)) or ((),) * 9
        says = np.fromiter((bool(one[4] or one[7]) for one in found), np.bool_, len(found))
        has_number = np.fromiter((bool(one[2] or one[6]) for one in found), np.bool_, len(found))
        self._has_begins |= bool((says | has_number & (lengths[leading] > 0)).any())
        if self._has_begins:
            stray = kind[rows] >= 0
            self.not_read += sum_of(lengths[stray])
            frames, lengths = frames[repeat(~stray, lengths)], np.where(stray, 0, lengths)
        frames, lengths = self._with_flat(frames, lengths, leading, columns[8])
        is_sample = (kind[rows] >= 0) & (lengths > 0)
        is_sample[leading] = says | (lengths[leading] > 0)
        self.not_read += len(leading) - sum_of(is_sample[leading])
        stack = self.stacks.stacks(frames, lengths)
        return take_rows_of(self._samples(columns, leading, is_sample, stack), is_sample)

    def _with_flat(self, frames: I64, lengths: I64, leading: I64, rest: Sequence[bytes]) -> tuple[I64, I64]:
        """Return frames and each sample's number of frames, with the frames of flat samples added.

        ``leading`` are the indices of samples that begin with a line of their own, ``rest`` the ends of these lines.
        """
        offsets = offsets_of(lengths)
        has_source = np.append(self.stacks.is_source(frames), True)[offsets[:-1]]
        bare = flatnonzero((lengths == 0)[leading] | has_source[leading])
        kind = self.stacks.lines([_own_place(rest[row]) for row in bare.tolist()])
        flat = leading[bare[kind >= 0]]
        at, lengths = offsets[flat], lengths.copy()
        lengths[flat] += 1
        return np.insert(frames, at, kind[kind >= 0]), lengths

    def _samples(self, columns: Sequence[Sequence[bytes]], leading: I64, is_sample: Bools, stack: I32) -> TextSamples:
        count = len(stack)
        comms, *numbers_of, seconds, fraction, period, events, _ = columns
        width = np.fromiter(map(len, fraction), np.int64, len(fraction))
        time = _integers(seconds, 0) * 10**9 + _integers(fraction, 0) * 10 ** np.where(width < 6, 3, 9 - width)
        time[width == 0] = LAST_TIME
        value = np.minimum(_integers(period, 1), MOST_PERIOD)
        numbers = self.events.add_all(events)
        self.without_period.update(numbers[np.fromiter(map(len, period), np.int64, len(period)) == 0].tolist())
        nameless = (self.events[b""], self.comms[b""]) if sum_of(is_sample) > sum_of(is_sample[leading]) else (0, 0)
        ids = (_integers(one, -1) for one in numbers_of)
        missing = (*nameless, -1, -1, -1, LAST_TIME, 1)  # samples that do not begin with a line of their own
        filled = [np.full(count, one, np.int64) for one in missing]
        fields: tuple[AnyArray, ...] = (numbers, self.comms.add_all(comms), *ids, time, value)
        for column, values in zip(filled, fields, strict=True):
            column[leading] = values
        event, comm, pid, tid, cpu = (as_int32(column) for column in filled[:5])
        return TextSamples(
            event=event, comm=comm, pid=pid, tid=tid, cpu=cpu, time=as_uint64(filled[5]), value=filled[6],
            count=np.ones(count, np.int64), stack=stack,
        )  # fmt: skip


def _integers(texts: Sequence[bytes], missing: int) -> I64:
    """Return the numbers in texts, ``missing`` for empty texts."""
    if b"" in texts:
        texts = [text or b"%d" % missing for text in texts]
    return np.fromiter(map(int, texts), np.int64, len(texts))


def _with_period(fields: tuple[bytes, ...], line: bytes) -> tuple[bytes, ...]:
    """Return the fields of a line without an event, corrected if the supposed thread number is a period.

    The width of its column shows that a number is the period.
    """
    if not (found := _PERIOD_ALONE.fullmatch(line)):
        return fields
    (front,) = _BEGIN.findall(found[1])[:1]
    return (*front[:6], found[2] or b"", b"", found[3])


def _own_place(rest: bytes) -> bytes:
    """Return a flat sample's frame without the fields around it; ``rest`` is the end of the line that begins it."""
    found = _OWN_PLACE.match(rest)
    return _BEHIND.sub(b"", b" " + found[1] if found else rest)


def _parse(line: bytes) -> TextFrame | int:
    """Return the frame on a line; for other lines, their kind."""
    if not line.strip():
        return BLANK
    if _BELOW.match(line):
        return IGNORED
    if _NUMBER.fullmatch(line):
        return BEGIN
    if found := _FRAME.match(line):
        return _frame(int(found[1], 16), (found[2] or b"").decode("utf-8", "surrogateescape").strip())
    if line.startswith(b"  ") and (source := _SOURCE.fullmatch(line.decode("utf-8", "surrogateescape"))):
        return TextFrame("", inlined=bool(source[3]), source=(source[1] or "", int(source[2] or 0)), is_source=True)
    return IGNORED if _IGNORED.match(line) else BEGIN


def _frame(address: int, text: str) -> TextFrame:
    plain = text.removesuffix("(inlined)")
    if plain != text:
        return TextFrame(_OFFSET.sub("", plain.rstrip()), mode=_mode(address, ""), inlined=True)
    if found := _SYMBOL_AND_OBJECT.fullmatch(text):
        name, object_name = found.groups()
    elif text.endswith(")") and (place := _OBJECT.search(text)):
        name, object_name = text[: place.start()], text[place.end() : -1]
    elif text.endswith(")") and (at := f" {text}".rfind(" (", 0, -10 if text.endswith("(deleted))") else None)) >= 0:
        name, object_name = text[: max(at - 1, 0)], text[at + 1 : -1]
    else:
        name, object_name = text, ""
    name, object_name = _OFFSET.sub("", name), _OFFSET.sub("", object_name)
    name, object_name = (_STANDARD_NAMES.get(one, one) for one in (name, object_name))
    return TextFrame(name, object_name, _mode(address, object_name))


def _mode(address: int, object_name: str) -> int:
    """Return the CPU mode of a frame: kernel if its object is the kernel or a module, or its address has the top bit.

    Objects in brackets belong to the kernel, except those in _USER.
    """
    if object_name.startswith(_USER):
        return CpuMode.USER
    is_kernel = object_name.startswith("[") or object_name.endswith(("vmlinux", ".ko", ".ko.xz", ".ko.zst", ".ko.gz"))
    return CpuMode.KERNEL if is_kernel or address >> 63 else CpuMode.USER
