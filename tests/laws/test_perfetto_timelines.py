"""Laws of Perfetto's format: every sample keeps its weight, and threads' states are their runs on CPUs."""

from collections import Counter, defaultdict
from pathlib import Path

import pytest

from perf2x.emitters.perfetto.event_descriptions import event_names
from perf2x.emitters.timeline.shown_samples import origin_of, thread_runs
from perf2x.emitters.timeline.tracks import tracks_of
from perf2x.model.profile.profile import Profile
from tests.laws.test_timelines import ONE_HALF, SLEEPERS, named, profile_of, recorded
from tests.support import outputs
from tests.support.perfetto_trace import pb, read_trace
from tests.support.timelines import Spans, most_at_once


@pytest.mark.parametrize("path", ONE_HALF, ids=named)
def test_samples_keep_their_weights_and_threads(path: Path) -> None:
    profile = profile_of(path)
    samples, threads = profile.samples, profile.threads
    rows = zip(samples.event.tolist(), samples.thread.tolist(), samples.value.tolist(), strict=True)
    names = event_names(profile)
    wanted: Counter[tuple[str, int, int]] = Counter()
    for event, thread, value in rows:
        wanted[names[event], int(threads.pid[thread]), int(threads.tid[thread])] += value
    found: Counter[tuple[str, int, int]] = Counter()
    for sample in read_trace(outputs.emitted(profile, "perfetto")).samples:
        for event, weight in ((sample.event, sample.weight), *sample.followers):
            found[event, sample.pid, sample.tid] += weight
    assert +found == +wanted


def running(profile: Profile) -> Spans:
    """Of each thread (0, tid) when it was on a CPU; fails where a thread comes twice, or never leaves."""
    found: Spans = defaultdict(list)
    since: dict[int, int] = {}
    for packet in read_trace(outputs.emitted(profile, "perfetto")).of("generic_kernel_task_state_event"):
        event = packet.generic_kernel_task_state_event
        if event.state == pb.GenericKernelTaskStateEvent.TASK_STATE_RUNNING:
            assert event.tid not in since
            since[event.tid] = packet.timestamp
        elif event.tid in since:
            found[0, event.tid].append((since.pop(event.tid), packet.timestamp))
    assert not since, "a thread that has ended runs on"
    return found


@pytest.mark.parametrize("path", [recorded("switches"), SLEEPERS], ids=named)
def test_states_are_the_runs_that_are_drawn(path: Path) -> None:
    """But for those that the recording began or ended in."""
    profile = profile_of(path)
    runs, tracks, origin = thread_runs(profile), tracks_of(profile)[0], origin_of(profile)
    states = running(profile)
    assert most_at_once(states) in (1, 2)
    for row, tid in enumerate(tracks.tid.tolist()):
        own = runs.track == row
        drawn = list(zip((runs.start[own] + origin).tolist(), (runs.end[own] + origin).tolist(), strict=True))
        assert set(drawn[1:-1]) <= set(states[0, tid])
        assert len(states[0, tid]) <= len(drawn)
