"""Replaces the period of samples by another value, or their stacks by other addresses.

- ``weight``: PERF_SAMPLE_WEIGHT, or the first part of WEIGHT_STRUCT: on x86 the latency of a load in cycles;
- ``mispredicts``: a row for each mispredicted branch of a branch stack, at the branch itself, as counted by ``perf
  report -b --sort symbol_from,mispredict``;
- data addresses (PERF_SAMPLE_ADDR) instead of stacks, so that the accessed object is shown.

Mispredicted branches and data have no callers: a branch stack does not record them, and data is not called.
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
"""The sample fields of each kind, the columns to decode, a description, and how to record them."""


def value_option(value: str | None) -> str:
    """Return the value of ``LoadOptions.value`` for a kind of values; empty for values that all samples have."""
    return value if value in _VALUES else ""


def value_options(by: str, value: str) -> dict[str, Any]:
    """Return fields of LoadOptions for a table with these rows and values."""
    latency = "beside" if value == "latency" else ""
    return {"value": value_option(value), "latency": latency, "data_objects": by == "data-object"}


class SampleValues:
    """Replaces the values, or addresses, of recorded samples."""

    def __init__(self, kind: str, recording: Recording) -> None:
        """Raise OptionError if no event of the recording has the needed fields."""
        self.kind, events = kind, recording.session.events
        bits, self.want, words, how = _FIELDS[kind]
        self._has = np.array([event.sample_type & bits for event in events], np.bool_)
        if len(events) and not self._has.any():
            setting, typed = ("data_objects", "") if kind == _DATA else ("value", f" {kind}")
            raise SettingError("", setting, f"{typed}: the recording has no {words}; record with: {how}")

    def of(self, samples: Samples) -> Samples:
        """Return the samples of events that have the field, with its values."""
        samples = take_rows(samples, flatnonzero(self._has[samples.event]))
        if self.kind == _WEIGHT:
            weight = samples.weight
            return samples if weight is None else replace(samples, period=np.minimum(weight, np.uint64(MOST_PERIOD)))
        return _mispredicted(samples) if self.kind == _MISPREDICTS else _accessed(samples)

    def named(self, profile: Profile) -> Profile:
        """Return the profile with event names that include the kind of value."""
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
    """Return rows of samples, without stacks, at ``address``; addresses in the upper half are the kernel's."""
    chain = ListArray.of_empty_rows(len(samples), np.uint64)
    found = take_rows(replace(samples, chain=chain, branches=None, user_stacks=None, raw=None, extra={}), row)
    mode: U8 = np.where(address >= _KERNEL_HALF, CpuMode.KERNEL, CpuMode.USER).astype(np.uint8)
    return replace(found, ip=address, cpumode=mode)


def sample_values(value: str, data_objects: bool, recording: Recording) -> tuple[SampleValues, ...]:
    """Return the requested replacements. Raises OptionError if the recording lacks their fields.

    ``value`` is ``weight``, ``mispredicts`` or empty; ``data_objects``: samples are placed at the accessed data.
    """
    if value == _MISPREDICTS and data_objects:
        raise SettingError("", "data_objects", ": mispredicted branches access no data; choose another ", "value")
    kinds = ((value,) if value else ()) + ((_DATA,) if data_objects else ())
    return tuple(SampleValues(kind, recording) for kind in kinds)
