"""The text of ``perf script``, sample by sample, for tools that read it.

Samples are read again, batch by batch, and written in time order: a batch is held back until no later batch can have an
earlier sample. Text that many samples share (a thread, a stack) is made once.
"""

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import or_
from typing import Annotated, BinaryIO

import numpy as np
from msgspec.structs import replace

from perf2x.base.abi import SampleType
from perf2x.base.columnar import I64, U64, AnyArray, as_uint64, flatnonzero, lexsort, unique, zeros
from perf2x.emitters.encoding.decimal_text import chunk_array
from perf2x.emitters.perf_script.field_selection import event_fields, named_places
from perf2x.emitters.perf_script.field_texts import (
    MemoryText,
    StartColumns,
    branch_column,
    last_columns,
    value_columns,
)
from perf2x.emitters.perf_script.frame_lines import FrameTexts, PlaceText
from perf2x.errors import SettingError
from perf2x.model.format_features import SingleSampleSettings
from perf2x.model.plugin_options import FRAMES, INLINE, SAMPLES, Format, Needs
from perf2x.model.printable_text import without_controls
from perf2x.model.profile import NEVER, Profile, RecordedBatch, SampleReader, View, names_data
from perf2x.model.recording import Samples, Want, take_rows
from perf2x.model.recording.branch_types import filter_branches, parse_branch_filter
from perf2x.model.setting import Setting

_MORE = frozenset({"phys_addr", "ins_lat", "retire_lat", "data_page_size", "code_page_size"})
_WANTED = {"addr": Want.ADDR, "weight": Want.MEMORY, "data_src": Want.MEMORY, "brstack": Want.BRANCHES,
           "brstacksym": Want.BRANCHES, "trace": Want.RAW, "cgroup": Want.CGROUP,
           **dict.fromkeys(_MORE, Want.EXTRA)}  # fmt: skip
_BRANCHES = frozenset({"brstack", "brstacksym"})


class PerfScript(Format):
    """The text of perf script: for flamegraph.pl, Firefox Profiler, llvm-profgen and other tools."""

    suffix = ".perf.txt"

    fields: Annotated[
        str,
        Setting("Fields to print, or to +add and -remove, as for perf script -F.", ("--fields", "-F")),
    ] = ""
    ns: Annotated[bool, Setting("Print times in nanoseconds.", ("--ns",))] = False
    hide_call_graph: Annotated[
        bool,
        Setting("Leave out call chains; print only the sampled function.", ("--hide-call-graph", "-G")),
    ] = False
    branch_filter: Annotated[
        str,
        Setting(
            "Branches of brstack to print, by type, speculation or privilege: call,ind_call,user.",
            ("--branch-filter",),
        ),
    ] = ""

    @property
    def needs(self) -> Needs:
        """Names of addresses outside stacks are needed, if the chosen fields show them."""
        return Needs(
            features=(SingleSampleSettings(as_recorded=True, places=named_places(self.fields)),),
            lines="srcline" in self.fields,
            full_names=True,
            honours=frozenset({SAMPLES, FRAMES, INLINE}),
            why="it prints samples as they were recorded",
            viewer="read it: less {0}",
        )

    def emit(self, profile: View, out: BinaryIO) -> None:
        """Write all samples; nothing for a profile without recorded samples."""
        if profile.single_samples is None:
            return
        out.writelines(_Writer(profile, profile.single_samples, self).chunks())


class _Writer:
    def __init__(self, profile: Profile, reader: SampleReader, options: PerfScript) -> None:
        self._reader, self._options = reader, options
        self._events = reader.session.events
        self._branch_filter = parse_branch_filter(options.branch_filter)
        sampled = frozenset(profile.samples.event.tolist())
        self._fields = event_fields(self._events, options.fields, sampled, chains=not options.hide_call_graph)
        printed = frozenset().union(*self._fields)
        self._want = reduce(or_, (want for name, want in _WANTED.items() if name in printed), Want(0))
        if self._branch_filter and not printed & _BRANCHES:
            raise SettingError(
                "", "branch_filter", f" {options.branch_filter}: there is no brstack among the ", "fields"
            )
        self._frames = FrameTexts(profile, reader.symbol_start, reader.session.build_ids)
        self._places = {kind: PlaceText(places, reader) for kind, places in reader.places.items()}
        self._start = StartColumns(profile, nanoseconds=options.ns)
        self._memory = MemoryText()
        cgroups = reader.sideband.cgroups
        self._cgroups = dict(zip(cgroups.id.tolist(), cgroups.path, strict=True))
        names = [without_controls(event.name) for event in self._events]
        width = max(map(len, names), default=0)
        self._names = [f"{name:>{width}}" for name in names]

    def chunks(self) -> Iterator[bytes]:
        order = TimeOrder()
        for batch in self._reader.read(self._want):
            samples = batch.samples
            time = as_uint64(samples.position) if samples.time is None else samples.time
            yield order.add(time, samples.position, self._lines(batch), batch.earliest_later)

    def _lines(self, batch: RecordedBatch) -> AnyArray:
        """Return (n, chunks) the text of each sample."""
        samples, parts = batch.samples, []
        for event in unique(samples.event).tolist():
            rows = flatnonzero(samples.event == event)
            columns = self._columns(event, take_rows(samples, rows), batch.thread[rows], batch.stack[rows])
            parts.append((rows, list(columns)))
        return _rows(len(samples), parts)

    def _columns(self, event: int, samples: Samples, thread: AnyArray, stack: AnyArray) -> Iterator[AnyArray]:
        fields, attributes = self._fields[event], self._events[event]
        has_chain = attributes.sample_type & SampleType.CALLCHAIN and not self._options.hide_call_graph
        chained = bool(has_chain) and "ip" in fields
        yield from self._start.of_samples(samples, thread, fields, padded=not chained)
        data = self._places.get("data") if names_data(attributes) else None
        yield from value_columns(samples, fields, self._names[event], self._memory, self._cgroups, data)
        if "trace" in fields and samples.raw is not None:
            texts, row = self._reader.raw_texts(attributes, samples.raw)
            yield chunk_array([without_controls(text).encode() for text in texts])[row]
        if chained:
            unwound = bool(attributes.sample_type & SampleType.STACK_USER)
            yield self._frames.chains(stack, fields, unwound=unwound)
        elif "ip" in fields:
            yield self._frames.leaves(stack, fields)
        if samples.branches is not None and fields & _BRANCHES:
            branches = filter_branches(samples.branches, self._branch_filter)
            yield branch_column(replace(samples, branches=branches), fields, self._places.get("branches"))
        yield from last_columns(samples, fields)
        yield np.full(len(samples), b"\n", np.object_)


def _rows(count: int, parts: Sequence[tuple[I64 | slice, list[AnyArray]]]) -> AnyArray:
    """Return (count, chunks): the columns of all parts side by side; empty where rows have fewer."""
    table = np.full((count, max((len(columns) for _, columns in parts), default=0)), b"", np.object_)
    for rows, columns in parts:
        for place, column in enumerate(columns):
            table[rows, place] = column
    return table


class TimeOrder:
    """Holds back lines until all earlier ones are written; a line is a row of chunks.

    Lines of equal time stay in file order, as in perf's ordered events (tools/perf/util/ordered-events.c).
    """

    def __init__(self) -> None:
        self._time: U64 = np.zeros(0, np.uint64)
        self._position: I64 = zeros(0)
        self._lines: AnyArray = np.zeros((0, 1), np.object_)

    def add(self, time: U64, position: I64, lines: AnyArray, behind: int) -> bytes:
        """Add lines (n, chunks); return the text of those before ``behind``, the earliest time still to come."""
        count = len(self._time)
        time, position = np.append(self._time, time), np.append(self._position, position)
        lines = _rows(len(time), [(slice(count), list(self._lines.T)), (slice(count, None), list(lines.T))])
        order = lexsort((position, time))
        ready = len(time) if behind == NEVER else int(np.searchsorted(time[order], np.uint64(behind), "left"))
        late = order[ready:]
        self._time, self._position, self._lines = time[late], position[late], lines[late]
        return b"".join(lines[order[:ready]].ravel().tolist())
