"""The text of ``perf script``, sample by sample, for tools that read it.

Samples are read once more, batch by batch, and written in order of time: a batch waits until no later one can have
earlier samples. What is the same in many samples (a thread, a stack) is made once.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, ClassVar

import numpy as np

from perf2x.base.abi.uapi import SampleType
from perf2x.base.columnar.arrays import AnyArray
from perf2x.emitters.encoding.text_chunks import chunk_array
from perf2x.emitters.perf_script.frame_lines import FrameLines
from perf2x.emitters.perf_script.sample_columns import StartColumns, last_columns, value_columns
from perf2x.emitters.perf_script.script_fields import event_fields
from perf2x.emitters.perf_script.time_order import TimeOrder
from perf2x.model.plugin_options import Needs, option
from perf2x.model.printable_text import printable
from perf2x.model.profile.profile import Profile
from perf2x.model.profile.recorded_samples import RecordedRows, SampleReader
from perf2x.model.recording.events import Samples, Want
from perf2x.model.recording.sample_batches import take_rows


@dataclass(frozen=True, slots=True)
class PerfScript:
    """The text of perf script: for flamegraph.pl, Firefox Profiler, llvm-profgen and whatever else reads it."""

    suffix: ClassVar[str] = ".perf.txt"
    needs: ClassVar[Needs] = Needs(
        recorded=True,
        full_names=True,
        honours=frozenset(),
        why="it prints samples as they were recorded",
        viewer="read it: less {0}",
    )

    fields: str = option("", "what perf script's -F takes: fields to print, or to +add and -leave out")
    ns: bool = option(False, "times in nanoseconds")
    hide_call_graph: bool = option(False, "leave call chains out: the sampled function alone")

    def emit(self, profile: Profile, out: BinaryIO) -> None:
        """Write all samples; nothing of a profile without recorded ones."""
        if profile.recorded is None or profile.recorded.reader is None:
            return
        for chunk in _Writer(profile, profile.recorded, profile.recorded.reader, self).chunks():
            out.write(chunk)


class _Writer:
    def __init__(self, profile: Profile, rows: RecordedRows, reader: SampleReader, options: PerfScript) -> None:

        self._rows, self._reader = rows, reader
        self._events, self._options = self._reader.session.events, options
        self._fields = event_fields(self._events, options.fields)
        self._frames = FrameLines(profile, reader)
        self._start = StartColumns(profile, nanoseconds=options.ns)
        width = max((len(event.name) for event in self._events), default=0)
        self._names = [f"{event.name:>{width}}" for event in self._events]

    def chunks(self) -> Iterator[bytes]:
        order, at = TimeOrder(self._rows.batch_end, self._rows.batch_first), 0
        for samples in self._reader.read(self._want()):
            here = slice(at, at + len(samples))
            at += len(samples)
            lines = self._lines(samples, self._rows.thread[here], self._rows.stack[here])
            time = np.zeros(len(samples), np.uint64) if samples.time is None else samples.time
            yield from order.add(time, lines, at)

    def _lines(self, samples: Samples, thread: AnyArray, stack: AnyArray) -> AnyArray:
        """(n,) text of each sample."""
        lines = np.empty(len(samples), np.object_)
        for event in np.unique(samples.event).tolist():
            rows = np.flatnonzero(samples.event == event)
            columns = list(self._columns(event, take_rows(samples, rows), thread[rows], stack[rows]))
            parts = np.empty((len(rows), len(columns)), np.object_)
            for place, column in enumerate(columns):
                parts[:, place] = column
            lines[rows] = [b"".join(row) for row in parts.tolist()]
        return lines

    def _columns(self, event: int, samples: Samples, thread: AnyArray, stack: AnyArray) -> Iterator[AnyArray]:
        fields = self._fields[event]
        has_chain = bool(self._events[event].sample_type & SampleType.CALLCHAIN) and not self._options.hide_call_graph
        chained = has_chain and "ip" in fields
        yield from self._start.columns(samples, thread, fields, padded=not chained)
        yield from value_columns(samples, fields, self._names[event])
        if "trace" in fields and samples.raw is not None:
            texts, row = self._reader.worded(self._events[event], samples.raw)
            yield chunk_array([printable(text).encode() for text in texts])[row]
        if "ip" in fields:
            unwound = has_chain and bool(self._events[event].sample_type & SampleType.STACK_USER)
            yield (
                self._frames.chains(stack, fields, unwound=unwound) if chained else self._frames.leaves(stack, fields)
            )
        yield from last_columns(samples, fields)
        yield np.full(len(samples), b"\n", np.object_)

    def _want(self) -> Want:
        fields = frozenset().union(*self._fields)
        wanted = {"addr": Want.ADDR, "weight": Want.MEMORY, "data_src": Want.MEMORY, "brstack": Want.BRANCHES,
                  "trace": Want.RAW, "cgroup": Want.CGROUP}  # fmt: skip
        want = (
            Want.EXTRA
            if fields & {"phys_addr", "ins_lat", "retire_lat", "data_page_size", "code_page_size"}
            else Want(0)
        )
        for name, one in wanted.items():
            want |= one if name in fields else Want(0)
        return want
