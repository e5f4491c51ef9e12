"""Names what a file is that is no recording, by its first bytes, for the sentence that refuses it."""

import re

_KINDS = (
    (rb"\x7fELF", "an ELF program or library; give the recording of it"),
    (rb"\x89PNG|\xff\xd8\xff|GIF8|RIFF....WEBP|BM....\0{4}", "an image"),
    (rb"SIMPLEPERF", "simpleperf's protobuf; give the perf.data that it was made of"),
    (rb"%PDF", "a PDF document"),
    (rb"PK\x03\x04", "a zip archive; unpack it"),
    (rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml|<!doctype|<html|<svg)", "a page or an image of another tool"),
    (rb"(?:\xef\xbb\xbf)?\s*[{\[]\s*(?:[\"{\[\]}]|$)", "JSON of another tool"),
    (rb"\x0a[\x02-\x20]\x08[\x01-\x7f]\x10", "a pprof profile, which was converted already"),
    (rb"[ \t]{0,16}(?:\d{1,10}[ \t]{1,16})?0x[0-9a-f]{1,16}/0x[0-9a-f]{1,16}/",
     "text of branches alone, as perf script -F brstack prints it for perf2bolt; it has no stacks"),
    (rb"[^\n]*branches(?::\w+)?:[^\n]*=>", "text of branches; perf script --itrace=i10us prints samples"),
    (rb"(?:#[^\n]*\n|\n)*#[ \t]*(?:Samples:|Overhead)", "text of perf report; give that of perf script"),
    (rb"@\w*\[|Attaching \d+ probe", "output of bpftrace; fold it: stackcollapse-bpftrace.pl"),
    (rb"CPU +ID +FUNCTION:NAME", "output of DTrace; fold it: stackcollapse.pl"),
    (rb"Sampling at \d+ Hertz|Tracing [^\n]*Hit Ctrl-C", "text of a tool of bcc; let it fold stacks: -f"),
)  # fmt: skip
_NAMES = [(re.compile(pattern, re.IGNORECASE | re.DOTALL), name) for pattern, name in _KINDS]
FIRST = 1 << 12
"""Bytes that tell."""


def named_file(head: bytes) -> str:
    """Return the kind of an input that begins so, to stand behind "it is"; "" if it is not known."""
    start = head[:FIRST]
    return next((name for pattern, name in _NAMES if pattern.match(start)), "")


def wrong_beginning(head: bytes, magic: bytes) -> str:
    """Say why an input that begins so is no recording."""
    name = named_file(head)
    return f"it is {name}" if name else f"starts with {head[: len(magic)]!r}, expected {magic!r}"
