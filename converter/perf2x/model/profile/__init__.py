"""The profile in pprof's terms: tables, stacks, frames and listings."""

from perf2x.model.profile.code_counts import (
    COUNTS_CODE,
    EXTERNAL,
    KERNEL_HALF,
    NOT_RECORDED,
    AddressCounts,
    BranchCounts,
    CodeCounts,
    FunctionCounts,
    Place,
    counted,
    merged_code,
    sum_addresses,
    sum_branches,
)
from perf2x.model.profile.frame_tree import (
    FrameRows,
    FrameTree,
    expand,
    folded,
    merge_stacks,
    reading_order,
    weighed_tree,
)
from perf2x.model.profile.listings import (
    CodeListing,
    Costs,
    FunctionListing,
    InstructionCost,
    LineCost,
    Listings,
    Measure,
    SourceListing,
)
from perf2x.model.profile.location_tables import join_locations, take_locations
from perf2x.model.profile.place_names import FunctionRow, PlaceNames
from perf2x.model.profile.profile import (
    Functions,
    Locations,
    Losses,
    Mappings,
    Meta,
    Profile,
    ProfileEvent,
    ProfileSamples,
    RunningThreads,
    Stacks,
    Threads,
    ThreadSwitches,
    Wait,
    count_threads,
    find_event,
    numbered_names,
    placed_waits,
    plain_names,
    sampled,
    sampled_events,
    wait_ends,
)
from perf2x.model.profile.profile_view import NamedPlaces, RecordedBatch, SampleReader, View, names_data, view_of
from perf2x.model.profile.recorded_samples import NEVER, RecordedPart, RecordedRows, check_of
from perf2x.model.profile.shown_frames import (
    NO_STACK,
    LocationFrames,
    are_jit,
    frame_name,
    full_names,
    functions_of,
    in_memory,
    lines_outermost_first,
    location_frames,
    outermost_functions,
)
from perf2x.model.profile.stack_tree import (
    ancestors,
    costs_of_kinds,
    depths,
    equal_rows,
    keep_samples,
    kinds_in_stacks,
    location_rows,
    merged_tree,
    path_sums,
    paths,
    paths_of_length,
    rewrite_stacks,
    select_entries,
    stack_weights,
    sum_sample_rows,
    sum_samples,
    used_stacks,
    with_callers,
    without_times,
)
from perf2x.model.profile.synthetic_frames import (
    ROOT_FRAME_NAMES,
    RootFrame,
    named_functions,
    root_functions,
    with_synthetic_frames,
)
from perf2x.model.profile.tracepoint_fields import FieldColumn, TracepointFields
