"""Other values of samples than their period, and other places than their instruction.

- ``weight``: PERF_SAMPLE_WEIGHT, or the first part of WEIGHT_STRUCT: on x86 the latency of a load in cycles;
- ``mispredicts``: a row for each branch of a branch stack that was predicted wrongly, at the branch itself: what
  ``perf report -b --sort symbol_from,mispredict`` counts;
- data addresses (PERF_SAMPLE_ADDR) in place of stacks, so that what is named is the object that was accessed.

Both latter kinds have no callers: a branch stack knows none, and data is not called.
"""

from typing import Any

import numpy as np
from msgspec.structs import replace

from perf2x.base.abi import CpuMode, SampleType
from perf2x.base.columnar import I64, U8, U64, ListArray, arange, flatnonzero, row_numbers, zeros
from perf2x.errors import SettingError
from perf2x.model.profile import Profile
from perf2x.model.recording import Recording, Samples, Want, take_rows
from perf2x.model.value_limits import MOST_PERIOD

_WEIGHT, _MISPREDICTS, _DATA = "weight", "mispredicts", "data"
_VALUES = (_WEIGHT, _MISPREDICTS)
_MISPREDICTED = np.uint64(1)
"""Bit of struct perf_branch_entry's flags (include/uapi/linux/perf_event.h)."""
_KERNEL_HALF = np.uint64(1 << 63)
_FIELDS = {
    _WEIGHT: (
        SampleType.WEIGHT | SampleType.WEIGHT_STRUCT,
        Want.MEMORY,
        "weights",
        "perf record -W, perf mem record",
    ),
    _MISPREDICTS: (SampleType.BRANCH_STACK, Want.BRANCHES, "branches", "perf record -b"),
    _DATA: (SampleType.ADDR, Want.ADDR, "data addresses", "perf record -d, perf mem record"),
}
"""Fields of samples that hold each kind, the columns to decode, the words for them, and how to record them."""


def value_option(value: str | None) -> str:
    """``LoadOptions.value`` for a kind of numbers; those that all samples have need none."""
    return value if value in _VALUES else ""


def value_options(by: str, value: str) -> dict[str, Any]:
    """Fields of LoadOptions for a table of one kind of rows and numbers."""
    latency = "beside" if value == "latency" else ""
    return {"value": value_option(value), "latency": latency, "data_objects": by == "data-object"}


class SampleValues:
    """Makes the samples that have the wanted values, or places, of those that were recorded."""

    def __init__(self, kind: str, recording: Recording) -> None:
        """OptionError when no event of the recording has what is wanted."""
        self.kind, events = kind, recording.session.events
        bits, self.want, words, how = _FIELDS[kind]
        self._has = np.array([event.sample_type & bits for event in events], np.bool_)
        if len(events) and not self._has.any():
            setting, given = ("data_objects", "") if kind == _DATA else ("value", f" {kind}")
            raise SettingError("", setting, f"{given}: the recording has no {words}; record with: {how}")

    def of(self, samples: Samples) -> Samples:
        """Return the samples of events that have the field, with what is wanted of it."""
        samples = take_rows(samples, flatnonzero(self._has[samples.event]))
        if self.kind == _WEIGHT:
            weight = samples.weight
            return samples if weight is None else replace(samples, period=np.minimum(weight, np.uint64(MOST_PERIOD)))
        return _mispredicted(samples) if self.kind == _MISPREDICTS else _accessed(samples)

    def named(self, profile: Profile) -> Profile:
        """Return the profile with names of events that tell what their values are."""
        if self.kind == _DATA:
            return profile
        events = tuple(
            replace(event, name=f"{self.kind}:{event.name}", unit="count", period=0, frequency=0) if has else event
            for event, has in zip(profile.events, self._has.tolist(), strict=True)
        )
        return replace(profile, events=events)


def _mispredicted(samples: Samples) -> Samples:
    branches = samples.branches
    if branches is None:
        return take_rows(samples, zeros(0))
    wrong = flatnonzero(branches.flags & _MISPREDICTED)
    row = row_numbers(np.diff(branches.offsets))[wrong]
    found = placed(samples, row, branches.from_ip[wrong])
    return replace(found, period=np.ones(len(row), np.uint64))


def _accessed(samples: Samples) -> Samples:
    return samples if samples.addr is None else placed(samples, arange(len(samples)), samples.addr)


def placed(samples: Samples, row: I64, address: U64) -> Samples:
    """Return rows of samples, without stacks, at other addresses; the upper half of all addresses is the kernel's."""
    chain = ListArray.of_empty_rows(len(samples), np.uint64)
    found = take_rows(replace(samples, chain=chain, branches=None, user_stacks=None, raw=None, extra={}), row)
    mode: U8 = np.where(address >= _KERNEL_HALF, CpuMode.KERNEL, CpuMode.USER).astype(np.uint8)
    return replace(found, ip=address, cpumode=mode)


def sample_values(value: str, data_objects: bool, recording: Recording) -> tuple[SampleValues, ...]:
    """Return what makes the samples that were asked for; OptionError where the recording lacks what they are made of.

    ``value`` is one of VALUES, or empty; ``data_objects``: samples stand at the data that they accessed.
    """
    if value == _MISPREDICTS and data_objects:
        raise SettingError("", "data_objects", ": mispredicted branches access no data; choose another ", "value")
    kinds = ((value,) if value else ()) + ((_DATA,) if data_objects else ())
    return tuple(SampleValues(kind, recording) for kind in kinds)
