"""Event tables, from the reader to the stitcher, in the kernel's words."""

from perf2x.model.recording.build_ids import (
    KERNEL,
    VDSO,
    VDSO_32,
    build_id_by_name,
    has_64_bits,
    is_vdso,
    kernel_build_id,
    with_vdso_names,
)
from perf2x.model.recording.events import (
    ALL,
    COUNTED,
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
from perf2x.model.recording.lost_samples import counted_losses, final_counts
from perf2x.model.recording.recorded_files import FileKind, RecordedFile, shown_path
from perf2x.model.recording.recorded_names import (
    RECORDING_TERMS,
    event_name,
    is_injected,
    is_jitdump,
    is_object,
    is_real_path,
    is_tracepoint,
    means,
    without_deleted,
)
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
    further_mappings,
)
