"""Event tables, from the reader to the stitcher, in the kernel's terms."""

from perf2x.model.recording.build_ids import KERNEL, build_id_by_name, has_64_bits, kernel_build_id, with_vdso_names
from perf2x.model.recording.event_names import RECORDING_TERMS, is_tracepoint, matches_event_name, parse_event_name
from perf2x.model.recording.events import (
    ALL_BLOCKS,
    PERF_STAT_ONLY_COUNTS,
    Branches,
    Event,
    ReadValues,
    Recording,
    Samples,
    Session,
    Shard,
    UserStacks,
    Want,
)
from perf2x.model.recording.lost_samples import are_final_totals, losses_to_count
from perf2x.model.recording.sample_batches import join_batches, select_rows, take_rows
from perf2x.model.recording.sideband import (
    NO_RECORDS,
    TABLES,
    Cgroups,
    Comms,
    DeferredChains,
    Ksymbols,
    Losts,
    Mmaps,
    Namespaces,
    Readings,
    Sideband,
    Switches,
    Tasks,
    append_mappings,
)
from perf2x.model.recording.simpleperf_files import FileKind, RecordedFile, shown_path
