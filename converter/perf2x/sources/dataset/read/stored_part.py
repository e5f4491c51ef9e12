"""Presents recordings in a dataset as one recording, whose samples were stitched when they were added."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from msgspec import DecodeError, field, json
from msgspec.structs import replace

from perf2x.base.abi import SampleType
from perf2x.base.diagnostics import Count, Diagnostics
from perf2x.base.frozen_struct import Frozen
from perf2x.errors import FormatError, OptionError
from perf2x.kernel.input_source import Lacks
from perf2x.kernel.load_options import LoadOptions
from perf2x.kernel.merge_reports import sum_reports
from perf2x.kernel.options_for_format import ONE_RECORDING
from perf2x.model.printable_text import undo_printable
from perf2x.model.profile import Meta, Profile
from perf2x.model.recording import ALL_BLOCKS, KERNEL, NO_RECORDS, Samples, Session, Shard, Sideband, Want
from perf2x.sources.dataset.read.dataset_part import DatasetPart, Row
from perf2x.sources.dataset.read.restore_profile import restore_events, restore_meta, restore_profile
from perf2x.sources.stitched_recording import StitchedRecording, events_of
from perf2x.stitcher.call_graphs import UnwindReport
from perf2x.stitcher.deferred.deferred_join import DeferredReport
from perf2x.symbolizer.known.location_names import LocationNames
from perf2x.symbolizer.symbol_options import SymbolOptions

_WITH_TIMES = "fleet ingest --timeline"


class StoredFacts(Frozen, omit_defaults=True):
    """Stored as JSON: reports of reading, stitching and unwinding; missing fields have their defaults."""

    deferred: DeferredReport = field(default_factory=DeferredReport)
    unwound: UnwindReport = field(default_factory=lambda: UnwindReport({}))
    record_counts: Mapping[str, int] = field(default_factory=dict)
    counts: tuple[Count, ...] = ()
    """Diagnostics, including those of names that ``fleet ingest`` looked up."""
    comments: tuple[str, ...] = ()
    """Meta.comments, except those that can be made from ``deferred`` and ``counts``."""
    has_unmapped_kernel_names: bool = False
    """Whether the names of kernel addresses outside all mappings are stored."""
    recorded_fields: tuple[str, ...] = ()
    """Those of ``cpu`` and ``cgroup`` that samples of at least one event have."""
    clock_id: int = -1


def parse_facts(text: str, source: str) -> StoredFacts:
    """Decode the JSON of the dataset ``source``. Raises FormatError if it is damaged."""
    try:
        return json.decode(text, type=StoredFacts)
    except (DecodeError, ValueError) as error:
        raise FormatError(f"{source}: damaged: its column facts cannot be read ({error})") from None


class StoredPart(StitchedRecording):
    """Recordings of a dataset as one ``model.recording.events.Recording``, without records or single samples."""

    def __init__(
        self,
        name: str,
        part: DatasetPart,
        rows: Sequence[Row],
        facts: Sequence[StoredFacts],
        diagnostics: Diagnostics,
    ) -> None:
        """Take recordings with the same events and kernel; ``name`` is the dataset's address as the user typed it."""
        self.name = name
        self._part, self.rows, self._facts = part, rows, facts
        self._first = rows[0].values
        self.diagnostics = diagnostics

    @property
    def lacks(self) -> Lacks:
        """Datasets have no records, single samples or code; if only sums are stored, no times and CPUs."""
        prefix = f"{self.name} is a dataset"
        at_ingest = f"{prefix}; ", " applies when a recording is added"
        no_times = f": {self.source}: the dataset has sums without times and CPUs; {_WITH_TIMES} keeps them"
        return {
            "stitching": at_ingest,
            "trace": at_ingest,
            "records": (f"{prefix}, which does not keep the data that ", " needs"),
            "code": (f"{prefix}, which keeps stacks, not the branches that code is counted by",),
            "as_recorded": (ONE_RECORDING,),
            **({} if self._first["is_timeline"] else {"times": ("", no_times)}),
        }

    @property
    def source(self) -> str:
        """Input from which the first recording was added."""
        return undo_printable(self._first["source"])

    @property
    def recordings(self) -> tuple[str, ...]:
        """Inputs from which the recordings were added."""
        return tuple(undo_printable(row.values["source"]) for row in self.rows)

    @property
    def has_events(self) -> bool:
        """Whether the recordings define any event."""
        return bool(self._first["events"])

    @cached_property
    def session(self) -> Session:
        """Facts about the session in which all recordings agree."""
        meta, kernel = self._meta, self._first["kernel_build_id"]
        bits = {"cpu": SampleType.CPU, "cgroup": SampleType.CGROUP}
        sample_type = sum(bits[name] for name in self._facts[0].recorded_fields if name in bits)
        return Session(
            source=meta.source,
            byte_order="<",
            events=events_of(restore_events(self.rows[0]), sample_type),
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

    @property
    def sideband(self) -> Sideband:
        """Numbers of records by type, without the records."""
        counts = Counter[str]()
        for facts in self._facts:
            counts.update(facts.record_counts)
        return replace(NO_RECORDS, record_counts=dict(counts))

    @property
    def sample_count(self) -> int:
        """Number of samples when the recordings were added."""
        return sum(int(row.values["samples"]) for row in self.rows)

    @property
    def fingerprint(self) -> bytes | None:
        """None, because a part may have several recordings."""
        return None

    def samples(self, want: Want, shard: Shard = ALL_BLOCKS) -> Iterator[Samples]:
        """Raise OptionError, because single samples are not kept."""
        raise OptionError(f"{self.source}: a dataset does not keep samples as they were recorded")

    @cached_property
    def _meta(self) -> Meta:
        from perf2x.model.transforms.merge_profiles import merged_meta

        pairs = zip(self.rows, self._facts, strict=True)
        return merged_meta([restore_meta(row, tuple(facts.comments), facts.clock_id) for row, facts in pairs])

    def full_profile(self, options: LoadOptions) -> Profile:
        """Return the profile of all samples; report the stored diagnostics."""
        for facts in self._facts:
            self.diagnostics.absorb(facts.counts)
        self._restored = restore_profile(self._part, self.rows, self._meta, with_cgroups="cgroup" in options.columns)
        return self._restored.profile

    @property
    def reports(self) -> tuple[DeferredReport, UnwindReport]:
        """Sums of the stored reports."""
        return sum_reports([each.deferred for each in self._facts]), sum_reports([each.unwound for each in self._facts])

    def stored_names(self, profile: Profile, symbols: SymbolOptions) -> LocationNames:
        """Return the dataset's names of a profile's locations."""
        from perf2x.sources.dataset.names.known_lines import known_names

        ident = self.rows[0].ident
        location_names = known_names(profile, self._restored, self._part, ident, symbols.names, inline=symbols.inline)
        return replace(location_names, kernel_looked_up=self._facts[0].has_unmapped_kernel_names)
