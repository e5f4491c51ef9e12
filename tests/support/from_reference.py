"""The reference's stacks in perf's terms."""

from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tests.forge import kernel as k
from tests.reference.decode import Recording, read
from tests.reference.stitch import MISSING, Stack, stitch
from tests.support.against_perf import Ours, perf_object


@dataclass
class Opinion:
    """Return everything that the reference decodes from one recording; shared by the tests that need it."""

    recording: Recording
    stacks: list[Stack]

    @property
    def samples(self) -> list[Ours]:
        """Samples of events whose user part is in the file, not in a copy of the stack that must be unwound."""
        return [ours_of(stack) for stack in self.stacks if stack.event.name not in self.unwound]

    @property
    def unwound(self) -> set[str]:
        """Names of events recorded with ``--call-graph dwarf``."""
        return {event.name for event in self.recording.events if event.sample_type & k.STACK_USER}

    @property
    def comms(self) -> dict[int, set[str]]:
        """Every name that a thread had at any time."""
        names: dict[int, set[str]] = defaultdict(set)
        for record in self.recording.of("COMM"):
            names[record.tid].add(record.comm)
        for stack in self.stacks:
            names[stack.sample.tid].add(stack.comm)
        return names


@lru_cache(maxsize=8)
def opinion_of(path: Path) -> Opinion:
    recording = read(path)
    return Opinion(recording, stitch(recording))


def ours_of(stack: Stack) -> Ours:
    inner_first = [frame for frame in reversed(stack.frames) if frame != MISSING]
    frames = [(frame.address, perf_object(frame.mapping)) for frame in inner_first]
    kernel = sum(frame.mode == k.KERNEL for frame in inner_first)
    sample = stack.sample
    return Ours(
        sample.tid, sample.time, stack.event.name, stack.comm, stack.period, frames, kernel, stack.missing
    )  # fmt: skip
