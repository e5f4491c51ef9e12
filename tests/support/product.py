"""perf2x's own stacks, sample by sample, in the terms of the comparisons."""

from pathlib import Path

from perf2x.base.abi.uapi import CpuMode, SampleType
from perf2x.base.diagnostics import Diagnostics
from perf2x.model.profile.profile import Profile
from perf2x.model.recording.events import Recording, Want
from perf2x.reader import open_recording
from perf2x.stitcher.history.process_history import build_process_history
from perf2x.stitcher.profile_builder import build_profile
from perf2x.stitcher.stitch import Stitcher, StitchOptions
from tests.support.against_perf import Ours, perf_object

PLACEHOLDER = "[user stack missing]"
Located = tuple[int, str | None, int]
"""Address, recorded file name of its mapping, mode; made-up frames are (0, their name, 0)."""


def stitched(path: Path, timeline: bool = True) -> tuple[Recording, Profile]:
    """A recording and its profile before symbols; user parts that must be unwound are left out."""
    diagnostics = Diagnostics()
    recording = open_recording(str(path), diagnostics=diagnostics)
    history = build_process_history(recording.session, recording.sideband, diagnostics, per_process=True)
    stitcher = Stitcher(history, StitchOptions(timeline=timeline, per_process=True))
    for batch in recording.samples(Want.CHAIN):
        stitcher.add(batch)
    return recording, build_profile(recording.session, history, stitcher.result())


def stacks_of(profile: Profile) -> list[list[Located]]:
    """For each row of the prefix tree its frames, outermost first."""
    names = [location_of(profile, row) for row in range(len(profile.locations))]
    stacks: list[list[Located]] = []
    pairs = zip(profile.stacks.parent.tolist(), profile.stacks.location.tolist(), strict=True)
    for parent, location in pairs:
        stacks.append([*(stacks[parent] if parent >= 0 else []), names[location]])
    return stacks


def location_of(profile: Profile, row: int) -> Located:
    locations, strings = profile.locations, profile.strings
    if locations.synthetic[row]:
        function = int(locations.line_function[int(locations.line_offsets[row])])
        return 0, strings[int(profile.functions.name[function])], 0
    mapping = int(locations.mapping[row])
    filename = strings[int(profile.mappings.filename[mapping])] if mapping >= 0 else None
    return int(locations.address[row]), filename, int(locations.mode[row])


def product_samples(recording: Recording, profile: Profile) -> list[Ours]:
    """One per sample of a timeline profile, with recorded file names as perf prints them."""
    stacks, threads, samples = stacks_of(profile), profile.threads, profile.samples
    timed = any(event.sample_type & SampleType.TIME for event in recording.session.events)
    assert samples.time is not None
    columns = (samples.event, samples.thread, samples.stack, samples.value, samples.time)
    return [
        ours_of(
            stacks[stack] if stack >= 0 else [],
            int(threads.tid[thread]),
            time if timed else None,
            profile.events[event].name,
            profile.strings[int(threads.comm[thread])],
            value,
        )
        for event, thread, stack, value, time in zip(*(column.tolist() for column in columns), strict=True)
    ]


def ours_of(stack: list[Located], tid: int, time: int | None, event: str, comm: str, period: int) -> Ours:
    missing = any(name == PLACEHOLDER for _, name, mode in stack if not mode)
    frames = [frame for frame in reversed(stack) if frame[1] != PLACEHOLDER]
    kernel = sum(mode == CpuMode.KERNEL for _, _, mode in frames)
    named = [(address, perf_object(name)) for address, name, _ in frames]
    return Ours(tid, time, event, comm, period, named, kernel, missing)
