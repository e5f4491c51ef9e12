"""A recording out of a dataset, in the place of one that is read: its samples were stitched when it was added.

Facts of a stored recording that only perf2x reads again: JSON in a column of the table of recordings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import DecodeError, Struct, field, json
from msgspec.structs import replace

from perf2x.base.abi.uapi import SampleType
from perf2x.base.columnar.arrays import sum_of
from perf2x.base.errors import FormatError, OptionError, SettingError
from perf2x.model.diagnostics import Count, Diagnostics
from perf2x.model.profile.profile import Meta, Profile
from perf2x.model.recording.build_ids import KERNEL
from perf2x.model.recording.events import ALL, Event, Samples, Session, Shard, Want
from perf2x.model.recording.sideband import Sideband
from perf2x.pipeline.for_output import refuse_given
from perf2x.pipeline.load_options import LoadOptions
from perf2x.pipeline.stitched.stitched_recording import StitchedRecording
from perf2x.stitcher.call_graphs import UnwindReport
from perf2x.stitcher.deferred.deferred_join import DeferredReport

if TYPE_CHECKING:
    from perf2x.stitcher.call_graphs import UnwindReport
    from perf2x.stitcher.deferred.deferred_join import DeferredReport
    from perf2x.storage.dataset.read.read_dataset import Dataset, RecordingRow
    from perf2x.storage.dataset.read.restore_stacks import RecordingRows
    from perf2x.symbolizer.known.place_names import LocationNames
    from perf2x.symbolizer.symbol_options import SymbolOptions

WITH_TIMES = "fleet ingest --timeline (parquet: timeline=yes)"


_TIMES = ("choice.times", "choice.wall_times", "choice.cpus")


class StoredFacts(Struct, frozen=True, omit_defaults=True):
    """Reports on reading, stitching and unwinding; missing ones have their defaults."""

    deferred: DeferredReport = field(default_factory=DeferredReport)
    unwound: UnwindReport = field(default_factory=lambda: UnwindReport({}))
    record_counts: Mapping[str, int] = field(default_factory=dict)
    counts: tuple[Count, ...] = ()
    """Diagnostics, also of names that were looked up on the way."""
    comments: tuple[str, ...] = ()
    """Meta.comments, without those that are made of ``deferred`` and ``counts``."""
    kernel_looked_up: bool = False
    """Whether names of kernel addresses outside all mappings were looked up."""
    samples_say: tuple[str, ...] = ()
    """``cpu`` and ``cgroup`` where samples of some event say them."""
    clock_id: int = -1
    """Meta.clock_id."""


def facts_text(facts: StoredFacts) -> str:
    """Encode facts as JSON."""
    return json.encode(facts).decode()


def parse_facts(text: str, source: str) -> StoredFacts:
    """Decode facts; FormatError when they are damaged."""
    try:
        return json.decode(text, type=StoredFacts)
    except (DecodeError, ValueError) as error:
        raise FormatError(f"{source}: damaged: its column facts cannot be read ({error})") from None


class StoredRecording(StitchedRecording):
    """A recording of a dataset; ``tables.events.Recording`` with facts, and without records or single samples."""

    def __init__(self, dataset: Dataset, row: RecordingRow, diagnostics: Diagnostics) -> None:
        self._dataset, self._row = dataset, row
        self.diagnostics = diagnostics
        self.facts: StoredFacts = parse_facts(row.row["facts"], row.source)

    def check(self, options: LoadOptions) -> None:
        """OptionError for what asks for times or CPUs, which a recording of sums has not, unless sums do."""
        if self._row.row["is_timeline"] or self._row.row["error"] is not None:
            return
        words = f"{self.source}: the dataset has sums without times and CPUs; {WITH_TIMES} keeps them"
        refuse_given(options, _TIMES, "", f": {words}")
        by_cpu = options.grouping.root == "cpu"
        if by_cpu or (not options.sums_do and (options.needs_times or options.keeps_cpu)):
            raise SettingError("", "root", f" cpu: {words}") if by_cpu else OptionError(words)

    @property
    def ident(self) -> str:
        """The recording's id."""
        found: str = self._row.row["recording"]
        return found

    @property
    def tags(self) -> dict[str, str]:
        """The recording's own labels."""
        return self._row.tags

    @property
    def source(self) -> str:
        """Name of the input that it was made of."""
        return self._meta.source

    @property
    def has_events(self) -> bool:
        """Whether the recording names any event."""
        return bool(self._row.row["events"])

    @cached_property
    def session(self) -> Session:
        """Facts of the recording, as far as a dataset has them."""
        meta = self._meta
        kernel = self._row.row["kernel_build_id"]
        return Session(
            source=meta.source,
            byte_order="<",
            events=tuple(self._events()),
            arch=meta.arch,
            hostname=meta.hostname,
            os_release=meta.os_release,
            perf_version=meta.perf_version,
            command_line=meta.command_line,
            cpus_online=meta.cpus,
            clock_id=meta.clock_id,
            wall_clock_offset_ns=meta.wall_start_ns - meta.start_ns if meta.wall_start_ns else None,
            build_ids={KERNEL: bytes.fromhex(kernel)} if kernel else {},
            features={"sample_time": {"first": meta.start_ns, "last": meta.start_ns + meta.duration_ns}},
        )

    def _events(self) -> Iterator[Event]:
        bits = {"cpu": SampleType.CPU, "cgroup": SampleType.CGROUP}
        from perf2x.storage.dataset.read.restore_profile import restore_events

        told = sum(bits[name] for name in self.facts.samples_say if name in bits)
        for index, event in enumerate(restore_events(self._row.row)):
            yield Event(
                index=index, name=event.name, type=-1, config=0, sample_period=event.period or event.frequency,
                sample_type=told, read_format=0, flags=frozenset(["freq"] if event.frequency else []), unit=event.unit,
            )  # fmt: skip

    @property
    def sideband(self) -> Sideband:
        """No records but their counts."""
        from perf2x.reader.sideband_decoder import build_sideband

        return build_sideband({}, dict(self.facts.record_counts), 0)

    @property
    def sample_count(self) -> int:
        """Samples as they were recorded."""
        return int(self._row.row["samples"])

    @property
    def beginning(self) -> bytes | None:
        """Digest of the recording's first records, as it was added."""
        found: str | None = self._row.row["session"]
        return bytes.fromhex(found) if found else None

    def samples(self, want: Want, shard: Shard = ALL) -> Iterator[Samples]:
        """Refuse: single samples are not kept."""
        raise OptionError(f"{self.session.source}: a dataset does not keep samples as they were recorded")

    @property
    def _rows(self) -> RecordingRows:
        return self._dataset.rows_of(self._row)

    @cached_property
    def _meta(self) -> Meta:
        from perf2x.storage.dataset.read.restore_profile import restore_meta

        return restore_meta(self._row.row, tuple(self.facts.comments), self.facts.clock_id)

    def whole(self, options: LoadOptions) -> Profile:
        """The profile of all samples, with its counts."""
        self.diagnostics.absorb(self.facts.counts)
        from perf2x.storage.dataset.read.restore_profile import restore_profile

        return restore_profile(self._rows, self._meta, with_cgroups=options.keeps_cgroup)

    @property
    def reports(self) -> tuple[DeferredReport, UnwindReport]:
        """Reports from when it was added."""
        return self.facts.deferred, self.facts.unwound

    def lacks_samples(self, profile: Profile) -> bool:
        """Whether the dataset's condition has left some of the recording's samples out."""
        return self._dataset.chooses_samples and sum_of(profile.samples.count) < self.sample_count

    def names(self, profile: Profile, symbols: SymbolOptions) -> LocationNames:
        """The names that the dataset has of a profile's locations."""
        from perf2x.storage.dataset.names.known_lines import known_names

        found = known_names(profile, self._rows, self._dataset.symbols, symbols.names, inline=symbols.inline)
        return replace(found, kernel_looked_up=self.facts.kernel_looked_up)
