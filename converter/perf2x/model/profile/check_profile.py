"""Checks the invariants of profiles on which emitters may rely."""

import numpy as np

from perf2x.base.columnar import U8, AnyArray, arange, as_int64, flatnonzero, unique
from perf2x.model.profile.profile_tables import ProfileSamples, ProfileTables, RunningThreads, Stacks


def check_profile(profile: ProfileTables) -> None:
    """Raise ValueError, which names the first invariant that is violated."""
    _check_strings(profile)
    _check_lengths(profile)
    _check_ranges(profile)
    _check_addresses(profile)
    _check_tree(profile.stacks)
    _check_samples(profile)
    if profile.running is not None:
        _check_running_threads(profile.running)


def _require(holds: bool | np.bool_, problem: str) -> None:
    if not holds:
        raise ValueError(f"broken profile: {problem}")


def _require_within(column: AnyArray, low: int, high: int, problem: str) -> None:
    _require(not len(column) or (column.min() >= low and column.max() < high), problem)


def _check_strings(profile: ProfileTables) -> None:
    _require(len(profile.strings) > 0 and profile.strings[0] == "", "string 0 is not empty")
    _require(len(set(profile.strings)) == len(profile.strings), "a string is in the table twice")


def _check_lengths(profile: ProfileTables) -> None:
    for table in (profile.threads, profile.mappings, profile.functions, profile.stacks, profile.samples):
        for name in table.__struct_fields__:
            column = getattr(table, name)
            _require(column is None or len(column) == len(table), f"{type(table).__name__}.{name} has the wrong length")
    locations = profile.locations
    for column in (locations.lookup, locations.mapping, locations.mode, locations.synthetic):
        _require(len(column) == len(locations), "a column of locations has the wrong length")
    _require(len(locations.line_offsets) == len(locations) + 1, "line_offsets is not one longer than locations")
    _require(locations.line_offsets[0] == 0, "line_offsets does not start at 0")
    _require(
        locations.line_offsets[-1] == len(locations.line_function), "line_offsets does not end at the number of lines"
    )
    _require(len(locations.line_number) == len(locations.line_function), "line_number has the wrong length")


def _check_ranges(profile: ProfileTables) -> None:
    string_count, locations = len(profile.strings), profile.locations
    string_columns = (
        profile.threads.comm, profile.threads.process, profile.mappings.filename, profile.mappings.build_id,
        profile.functions.name, profile.functions.system_name, profile.functions.filename,
    )  # fmt: skip
    for column in string_columns:
        _require_within(column, 0, string_count, "a string index is out of range")
    _require_within(locations.mapping, -1, len(profile.mappings), "a location's mapping is out of range")
    _require_within(locations.line_function, 0, len(profile.functions), "a line's function is out of range")
    _require_within(np.diff(locations.line_offsets), 0, 2**31, "line_offsets decreases")
    _require(locations.address.dtype == np.uint64 and locations.lookup.dtype == np.uint64, "addresses are not uint64")


def _check_addresses(profile: ProfileTables) -> None:
    locations, mappings = profile.locations, profile.mappings
    mapped = flatnonzero(locations.mapping >= 0)
    mapping = locations.mapping[mapped]
    limit = mappings.limit[mapping]
    for column in (locations.address[mapped], locations.lookup[mapped]):
        is_inside = (column >= mappings.start[mapping]) & (column < limit) | (limit == 0)  # limit 0: unknown addresses
        _require(is_inside.all(), "an address is outside its mapping")


def _check_tree(stacks: Stacks) -> None:
    rows = arange(len(stacks))
    _require(np.all(stacks.parent < rows), "a parent comes after its child")
    _require_within(stacks.parent, -1, len(stacks), "a parent is out of range")
    nodes = as_int64(stacks.parent) << 32 | stacks.location
    _require(len(unique(nodes)) == len(stacks), "a stack is in the tree twice")


def _check_samples(profile: ProfileTables) -> None:
    samples = profile.samples
    leaders_of_leaders = [profile.events[event.leader].leader for event in profile.events if event.leader >= 0]
    _require(set(leaders_of_leaders) <= {-1}, "an event's leader has a leader")
    _require_within(profile.stacks.location, 0, len(profile.locations), "a stack's location is out of range")
    _require_within(samples.event, 0, len(profile.events), "a sample's event is out of range")
    _require_within(samples.thread, 0, len(profile.threads), "a sample's thread is out of range")
    _require_within(samples.stack, -1, len(profile.stacks), "a sample's stack is out of range")
    if profile.parents is not None:
        _require(len(profile.parents) == len(profile.threads), "parents and threads differ in length")
        _require_within(profile.parents, -1, len(profile.threads), "a parent's thread is out of range")
    if samples.tags is not None:
        _require_within(samples.tags, 0, len(profile.tag_sets), "a sample's tags are out of range")
    if samples.wait is not None:
        _check_waits(profile, samples, samples.wait)
    if samples.fields is not None:
        field_rows = sum(table.count for table in profile.fields)
        _require_within(samples.fields, -1, field_rows, "a sample's fields are out of range")
    _require_within(samples.count, 1, 2**62, "a sample counts nothing")
    if samples.latency is not None:
        _require(samples.latency.dtype == np.int64, "latencies are not int64")
        is_share = (samples.latency >= 0) & (samples.latency <= samples.value)
        _require(np.all(is_share), "a latency is not a share of the value")
    _require(samples.value.dtype == np.int64 and samples.count.dtype == np.int64, "values are not int64")
    if samples.time is not None:
        _require(np.all(samples.time[1:] >= samples.time[:-1]), "a timeline is not in time order")


def _check_running_threads(running: RunningThreads) -> None:
    _require(len(running.time) == len(running.threads), "the curve of running threads has columns of two lengths")
    _require(np.all(running.time[1:] > running.time[:-1]), "the curve of running threads is not in time order")
    _require_within(running.threads, 0, 2**31, "a number of running threads is negative")
    _require(np.all(np.diff(running.threads) != 0), "a step of the curve of running threads changes nothing")


def _check_waits(profile: ProfileTables, samples: ProfileSamples, wait: U8) -> None:
    _require(samples.time is not None, "a profile without times has waits")
    _require_within(wait, 0, 5, "a sample's kind of wait is out of range")  # the values of profile.Wait
    is_wait = wait > 0
    _require(np.all(samples.value[is_wait] >= 0), "a wait has a negative length")
    _require(np.all(samples.count[is_wait] == 1), "a wait counts more than one")
    has_only_waits = np.array([event.is_wait for event in profile.events], np.bool_)
    _require(not np.any(has_only_waits[samples.event[~is_wait]]), "a sample of an event of waits is not a wait")
