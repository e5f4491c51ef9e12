"""Stacks through code of a raw jitdump are what perf makes of them after ``perf inject --jit``, sample by sample.

The answer is that of perf 6.1 with libunwind. perf 7.2 (libdw) ends in the injected files: it takes the place of a file
for that of its first segment, 128 bytes behind, and finds no call frame information there.
"""

import re
from bisect import bisect_right
from dataclasses import replace

from perf2x.symbolizer.sources.parse_jitdump import JitCode, read_jitdump
from tests.oracle.test_unwinder import samples_of
from tests.support.against_perf import Ours, compare
from tests.support.perf_script import Block, read_blocks
from tests.support.recordings import CORPUS, corpus_cases

(CASE,) = (case for case in corpus_cases() if case.name == "unwind_jit")
(DUMP,) = (CORPUS / "unwind_jit").glob("jit-*.dump")
CODES = sorted(read_jitdump(DUMP).codes, key=lambda code: code.address)
PROGRAM_AT = 0x400000
TEXT_IN_FILE = 0x80
"""Offset of the code in a file that ``perf inject --jit`` wrote (GEN_ELF_TEXT_OFFSET in tools/perf/util/genelf.h)."""


def code_at(address: int) -> JitCode:
    return CODES[bisect_right(CODES, address, key=lambda code: code.address) - 1]


def as_printed(sample: Ours) -> Ours:
    """The sample with offsets into mapped files in place of addresses, as perf 6.1 prints frames of libunwind."""
    frames = [
        (address - code_at(address).address + TEXT_IN_FILE if dso.endswith(".dump") else address - PROGRAM_AT, dso)
        for address, dso in sample.frames
    ]
    return replace(sample, frames=frames)


def without_injection(block: Block) -> Block:
    """The block with the dump's name in place of the names of the injected files."""
    injected = re.compile(r"jitted(-\d+)-\d+\.so$")
    return replace(block, frames=[frame._replace(dso=injected.sub(r"jit\1.dump", frame.dso)) for frame in block.frames])


def test_dumped_code_is_unwound_as_after_injection() -> None:
    """Trampolines of CPython's kinds, and a leaf with V8's: no machine in the header, three kinds of entries."""
    assert CASE.script is not None
    ours, placeholders = samples_of(CASE.data)
    outcome = compare(map(as_printed, ours), map(without_injection, read_blocks(CASE.script)))
    assert outcome.verdicts == {"equal": len(ours)} and not placeholders
    in_dump = sum(dso.endswith(".dump") for sample in ours for _, dso in sample.frames)
    assert in_dump > 2 * len(ours)
