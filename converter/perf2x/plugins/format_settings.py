"""Names and options of the built-in formats, as type checkers see them; tests compare them with the emitters.

A plugin's format is made by its class, or by ``build_emitter``.
"""

from collections.abc import Sequence
from typing import Literal, TypedDict

FormatName = Literal[
    "autofdo",
    "bolt",
    "callgrind",
    "chrome",
    "collapsed",
    "firefox",
    "gcov",
    "html",
    "otlp",
    "perf-script",
    "perfetto",
    "pprof",
    "speedscope",
    "svg",
]


class Settings(TypedDict, total=False):
    """Options of formats: each format has some of them (``perf2x formats -v``)."""

    annotate_all: bool
    args: bool
    branch_filter: str
    columns: Sequence[str]
    compress: bool
    counters: bool
    direction: Literal["icicle", "flame"]
    event: str | None
    fields: str
    hide_call_graph: bool
    gcc: Literal["16", "15", "14", "13", "12"]
    inline: Literal["lines", "frames", "off"]
    inline_suffix: bool
    instructions: bool
    jit_suffix: bool
    kernel_suffix: bool
    label: Sequence[
        Literal[
            "pid",
            "tid",
            "comm",
            "process",
            "cpu",
            "cgroup",
            "mode",
            "thread",
            "event",
            "time",
            "mem_op",
            "mem_level",
            "snoop",
            "tlb",
        ]
    ]
    markers: bool
    max_boxes: int
    max_events: int
    max_moments: int
    max_samples: int
    min_duration: int
    min_width: float
    ns: bool
    object: str
    original_payload: int
    per_cpu: bool
    placeholders: bool
    reader: Literal["any", "go-pgo"]
    references: bool
    root: bool
    sample_types: Literal["plain", "compat", "identifiers"]
    schema: Literal["v1development"]
    script: bool
    states: bool
    style: Literal["traces", "branches"]
    timestamps: bool
    title: str
    value: Literal["period", "samples"]
    width: int
    with_pid: bool
    with_tid: bool
