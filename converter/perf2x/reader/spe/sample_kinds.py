"""Kinds of samples that are made of Arm SPE records, as perf's ``--itrace`` chooses them, and their events.

Source of truth: arm_spe_synth_events in tools/perf/util/arm-spe.c, tools/perf/Documentation/itrace.txt.
"""

import re
from collections.abc import Sequence

from msgspec.structs import replace

from perf2x.base.abi import EventType, SampleType
from perf2x.base.errors import SettingError
from perf2x.base.frozen import Frozen
from perf2x.model.recording import Event

_KINDS = (
    ("instructions", "i"), ("memory", "M"), ("remote-access", "a"), ("branch", "b"), ("tlb-access", "t"),
    ("tlb-miss", "t"), ("llc-access", "m"), ("llc-miss", "m"), ("l1d-access", "f"), ("l1d-miss", "f"),
)  # fmt: skip
"""Names of events with their letters: the reverse of perf's order, because formats of one event show the first."""
_ALL = "bfmtaMi"
_TOKEN = r"[bfmtaM]|i[0-9]{0,9}i?|l[0-9]{0,9}"
_MOST_BRANCHES = 2
_OWN = SampleType.IP | SampleType.TID | SampleType.ADDR | SampleType.PERIOD | SampleType.DATA_SRC | SampleType.WEIGHT
_RECORDED = SampleType.TIME | SampleType.CPU | SampleType.PHYS_ADDR


class SampleKinds(Frozen):
    """Choice of ``--itrace``."""

    names: tuple[str, ...]
    """Of KINDS, in their order."""
    period: int = 1
    """Every so many records, one makes samples."""
    branches: int = 0
    """Branches that samples of branches and instructions carry; 0: the branch itself, and only samples of branches."""

    def events(self, recorded: Sequence[Event], trace: Event) -> tuple[Event, ...]:
        """Return an event for each kind, numbered behind the recorded ones; ``trace`` is the one that was recorded."""
        timed = any(event.sample_type & SampleType.TIME for event in recorded)
        kind = _OWN | trace.sample_type & _RECORDED | (SampleType.TIME if timed else 0)
        stacks = {"branch", "instructions" if self.branches else ""}
        return tuple(
            replace(
                trace, index=index, name=name, type=EventType.HARDWARE, config=int(name == "instructions"), ids=(),
                sample_period=self.period, sample_type=kind | (SampleType.BRANCH_STACK if name in stacks else 0),
                read_format=0, flags=trace.flags - {"freq"}, group_leader=-1,
            )
            for index, name in enumerate(self.names, len(recorded))
        )  # fmt: skip


def sample_kinds(itrace: str) -> SampleKinds:
    """Return what letters of ``--itrace`` choose, "" everything; SettingError for others than Arm SPE has."""
    given = {found[0]: found[1:].rstrip("i") for found in re.findall(_TOKEN, itrace or _ALL)}
    names = tuple(name for name, letter in _KINDS if letter in given)
    if not names or not re.fullmatch(f"(?:{_TOKEN}|[ ,])*", itrace):
        raise SettingError("", "itrace", f" {itrace!r} chooses no samples; those of Arm SPE are {_ALL}, iNi, l and lN")
    branches = min(int(given["l"] or _MOST_BRANCHES), _MOST_BRANCHES) if "l" in given else 0
    return SampleKinds(names, max(int(given.get("i") or 1), 1), branches)
