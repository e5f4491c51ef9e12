"""The exact bytes of every format but pprof for one small profile: a change in them is a change for users.

``PERF2X_WRITE_GOLDEN=1 python -m pytest tests/unit/emitters/test_golden.py`` writes them anew; look at the difference.
"""

import io
import os
from pathlib import Path

import pytest

from perf2x.base.abi.uapi import CpuMode
from perf2x.kernel.registry import build_emitter
from perf2x.model.profile.profile import Meta, Profile
from perf2x.testing import ProfileBuilder

GOLDEN = Path(__file__).parents[2] / "golden"
FILES = {
    "small.folded": ("collapsed", {"annotate_all": True}),
    "small.trace.json": ("chrome", {"counters": True, "per_cpu": True}),
    "small.speedscope.json": ("speedscope", {}),
    "small.firefox.json": ("firefox", {}),
    "small.svg": ("svg", {"script": False}),
    "small.pftrace": ("perfetto", {}),
    "small.otlp.pb": ("otlp", {}),
}


def small(timeline: bool) -> Profile:
    builder = ProfileBuilder()
    clock = builder.event("cpu-clock", "nanoseconds", frequency=1000)
    faults = builder.event("page-faults", "count", period=1, frequency=0)
    main, worker = builder.thread("my prog", 100), builder.thread("wörker", 100, 101, "my prog")
    program = builder.mapping("/usr/bin/prog", build_id="c0ffee")
    kernel = builder.mapping("[kernel.kallsyms]_text", 0xFFFFFFFF81000000, 0x1000000, kernel=True)
    library = builder.mapping("/usr/lib/libfoo.so.1", 0x7F0000000000)
    start = builder.location(0x400010, program, [("main", "prog.c", 3)], is_caller=True)
    work = builder.location(0x400100, program, [("inner<a;b>", "prog.c", 10), ("outer", "prog.c", 20)], is_caller=True)
    read = builder.location(0xFFFFFFFF81000010, kernel, ["sys_read"], CpuMode.KERNEL)
    nameless = builder.location(0x7F0000000010, library)
    for step in range(4):
        builder.sample(
            [start, work, read] if step % 2 else [start, work], main, clock, 1_000_000, time=step * 1_000_000
        )
    builder.sample([nameless, start], worker, clock, 1_000_000, time=2_500_000, cpu=1)
    builder.sample([nameless], worker, faults, 3, count=1, time=2_700_000, cpu=1)
    builder.sample([], worker, faults, 1, time=9_000_000, cpu=1)
    meta = Meta(source="/tmp/perf.data", hostname="host", arch="x86_64", duration_ns=9_000_000, perf_version="7.2")
    return builder.build(timeline=timeline, meta=meta)


@pytest.mark.parametrize("file", FILES)
def test_golden(file) -> None:
    name, options = FILES[file]
    emitter = build_emitter(name, options)
    out = io.BytesIO()
    emitter.emit(small(emitter.needs.timeline), out)
    if os.environ.get("PERF2X_WRITE_GOLDEN"):
        (GOLDEN / file).write_bytes(out.getvalue())
    assert out.getvalue() == (GOLDEN / file).read_bytes()
