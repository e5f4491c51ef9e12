"""Replaces the periods of samples by other values, or their stacks by other addresses.

- ``weight``: the period becomes PERF_SAMPLE_WEIGHT, or the first part of WEIGHT_STRUCT: on x86 the latency of a load in
  cycles;
- ``mispredicts``: a sample becomes one for each mispredicted branch, at the branch's source, as in ``perf report -b
  --sort symbol_from,mispredict``;
- ``data``: the stack becomes the address of the accessed data (PERF_SAMPLE_ADDR), so that data objects have the costs.

For the last two, samples have no callers: branch stacks do not show them, and data is not called.
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
# Users choose these as ``LoadOptions.value``; ``data`` has an option of its own.
_VALUES = (_WEIGHT, _MISPREDICTS)
# Bit of struct perf_branch_entry's flags (include/uapi/linux/perf_event.h).
_MISPREDICTED_BIT = np.uint64(1)
# Addresses with this bit are the kernel's.
_KERNEL_BIT = np.uint64(1 << 63)
# Sample fields, columns to decode, noun for messages, and commands that record the fields.
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


def load_value(value: str | None) -> str:
    """Return ``LoadOptions.value`` for a table's value: "" for values that all samples have."""
    return value if value in _VALUES else ""


def table_load_options(by: str, value: str) -> dict[str, Any]:
    """Return the LoadOptions that a table with these rows and values (row_kinds.py) needs."""
    latency = "beside" if value == "latency" else ""
    return {"value": load_value(value), "latency": latency, "data_objects": by == "data-object"}


class SampleReplacement:
    """One kind of replacement (``weight``, ``mispredicts`` or ``data``) for the samples of one recording."""

    def __init__(self, kind: str, recording: Recording) -> None:
        """Raise OptionError if no event of the recording has the needed fields."""
        self.kind, events = kind, recording.session.events
        needed, self.want, fields, commands = _FIELDS[kind]
        self._event_has_field = np.array([event.sample_type & needed for event in events], np.bool_)
        if len(events) and not self._event_has_field.any():
            setting, typed = ("data_objects", "") if kind == _DATA else ("value", f" {kind}")
            raise SettingError("", setting, f"{typed}: the recording has no {fields}; record with: {commands}")

    def apply(self, samples: Samples) -> Samples:
        """Replace the samples; samples of events without the needed fields are left out."""
        samples = take_rows(samples, flatnonzero(self._event_has_field[samples.event]))
        if self.kind == _WEIGHT:
            weight = samples.weight
            return samples if weight is None else replace(samples, period=np.minimum(weight, np.uint64(MOST_PERIOD)))
        return _at_mispredicted_branches(samples) if self.kind == _MISPREDICTS else _at_accessed_data(samples)

    def with_event_names(self, profile: Profile) -> Profile:
        """Put the kind of value before names of events, as in ``weight:cpu/mem-loads/``; ``data`` changes no names."""
        if self.kind == _DATA:
            return profile
        events = tuple(
            replace(event, name=f"{self.kind}:{event.name}", unit="count", period=0, frequency=0)
            if has_field
            else event
            for event, has_field in zip(profile.events, self._event_has_field.tolist(), strict=True)
        )
        return replace(profile, events=events)


def _at_mispredicted_branches(samples: Samples) -> Samples:
    branches = samples.branches
    if branches is None:
        return take_rows(samples, zeros(0))
    mispredicted = flatnonzero(branches.flags & _MISPREDICTED_BIT)
    row = row_numbers(np.diff(branches.offsets))[mispredicted]
    moved = samples_at(samples, row, branches.from_ip[mispredicted])
    return replace(moved, period=np.ones(len(row), np.uint64))


def _at_accessed_data(samples: Samples) -> Samples:
    if samples.addr is None:
        return samples
    row = arange(len(samples) + 1)
    # in the chain, address 0 stays an unknown place; as the sampled ip it would be one that the kernel hides
    return replace(samples_at(samples, row[:-1], samples.addr), chain=ListArray(row, samples.addr))


def samples_at(samples: Samples, row: I64, address: U64) -> Samples:
    """Copy ``samples[row[i]]`` without its stack, as if it had been taken at ``address[i]``; both are (n,).

    Addresses in the upper half of the address space are the kernel's.
    """
    chain = ListArray.of_empty_rows(len(samples), np.uint64)
    moved = take_rows(replace(samples, chain=chain, branches=None, user_stacks=None, raw=None, extra={}), row)
    mode: U8 = np.where(address >= _KERNEL_BIT, CpuMode.KERNEL, CpuMode.USER).astype(np.uint8)
    return replace(moved, ip=address, cpumode=mode)


def sample_replacements(value: str, data_objects: bool, recording: Recording) -> tuple[SampleReplacement, ...]:
    """Make the requested replacements. Raises OptionError if the recording lacks their fields.

    ``value`` is ``weight``, ``mispredicts`` or "".
    """
    if value == _MISPREDICTS and data_objects:
        raise SettingError("", "data_objects", ": mispredicted branches access no data; choose another ", "value")
    kinds = ((value,) if value else ()) + ((_DATA,) if data_objects else ())
    return tuple(SampleReplacement(kind, recording) for kind in kinds)
