"""Events of a recording in the profile's terms."""

from collections.abc import Sequence

from perf2x.base.abi.uapi import EventType, ReadFormat, SampleType, SoftwareConfig
from perf2x.model.profile.profile import ProfileEvent
from perf2x.model.recording.events import Event
from perf2x.model.value_limits import MOST_PERIOD


def profile_events(events: Sequence[Event]) -> tuple[ProfileEvent, ...]:
    """Convert events to the profile's terms, each with the event that reads it."""
    reads = [_is_read_by_leader(event) and not _is_read_by_leader(events[event.group_leader]) for event in events]
    leaders = [event.group_leader if read else -1 for event, read in zip(events, reads, strict=True)]
    return tuple(profile_event(event, leader) for event, leader in zip(events, leaders, strict=True))


def profile_event(event: Event, leader: int = -1) -> ProfileEvent:
    """Convert an event to the profile's terms; clock events count nanoseconds (evsel__unit in tools/perf)."""
    clocks = (SoftwareConfig.CPU_CLOCK, SoftwareConfig.TASK_CLOCK)
    is_clock = event.type == EventType.SOFTWARE and event.config in clocks
    is_wait = event.name.split(":")[0] == "offcpu-time"  # perf record --off-cpu
    is_freq = "freq" in event.flags
    return ProfileEvent(
        name=event.name,
        unit="nanoseconds" if is_clock or is_wait else "count",
        period=0 if is_freq else min(event.sample_period, MOST_PERIOD),
        frequency=event.sample_period if is_freq else 0,
        is_wait=is_wait,
        leader=leader,
    )


def _is_read_by_leader(event: Event) -> bool:
    """Tell members of a group whose leader alone is sampled (``{a,b}:S``); perf gives them no period."""
    reads = event.sample_type & SampleType.READ and event.read_format & ReadFormat.GROUP
    return bool(reads) and event.sample_period == 0 and event.group_leader not in (-1, event.index)
