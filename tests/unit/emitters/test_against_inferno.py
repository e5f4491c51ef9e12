"""``--set annotate_all=yes`` against ``perf script | inferno-collapse-perf --all``, byte for byte.

inferno cannot be had as a package, so its rules for C programs stand here, as a small model of its collapse/perf.rs,
and are applied to what perf said of each recording. Where it guesses and we know, the model is told the truth:

- a name in brackets is kernel to it, so ``[vdso]`` and ``[heap]`` would be marked ``_[k]``;
- a nameless frame of an object in brackets gets a second pair of them: ``[[vdso]]``;
- it drops samples without a stack, which we write as one frame, ``[no stack]``.
"""

import re
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

from perf2x.cli.app import app
from tests.support.perf_script import Block, Frame, read_blocks
from tests.support.recordings import Case, corpus_cases

CASES = [case for case in corpus_cases() if case.name in ("calls", "events", "family")]
USER_BRACKETS = ("[vdso]", "[vsyscall]", "[heap]", "[stack]", "[unknown]", "[uprobes]")


def frame_text(frame: Frame) -> str:
    name = frame.symbol
    if name == "[unknown]":
        module = frame.dso.rsplit("/", 1)[-1]
        name = module if module.startswith("[") else f"[{module}]"
    kernel = frame.dso.endswith((".ko", "vmlinux")) or (frame.dso.startswith("[") and frame.dso not in USER_BRACKETS)
    jit = re.search(r"/tmp/perf-\d+\.map$|/jitted-", frame.dso)
    return name.replace(";", ":") + ("_[k]" if kernel else "_[j]" if jit else "")


def inferno(blocks: list[Block]) -> bytes:
    """One event, the first one seen; sorted by stack; every sample counts once."""
    event = blocks[0].event
    counts: Counter[bytes] = Counter()
    for block in blocks:
        if block.event == event and block.frames:
            texts = [block.comm.replace(" ", "_"), *(frame_text(frame) for frame in reversed(block.frames))]
            counts[";".join(texts).encode()] += 1
    return b"".join(b"%b %d\n" % (stack, count) for stack, count in sorted(counts.items()))


def ours(case: Case, event: str, target: Path) -> bytes:
    words = ["convert", str(case.data), "--to", "collapsed", "--set", "annotate_all=yes", "--value", "samples", "-q"]
    words += ["--symfs", str(case.symfs), "--kallsyms", str(case.kallsyms), "--no-inline", "--event", event]
    words += ["--buildid-dir", str(target.parent)]
    ran = CliRunner().invoke(app, [*words, "-o", str(target)])
    assert ran.exit_code == 0, ran.output
    lines = (line for line in target.read_bytes().splitlines(keepends=True) if b";[no stack] " not in line)
    return b"".join(lines)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_equal_byte_for_byte(case, tmp_path) -> None:
    blocks = read_blocks(case.script)
    assert ours(case, blocks[0].event, tmp_path / "ours.folded") == inferno(blocks)
