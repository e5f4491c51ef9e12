"""Samples whose caller is missing, because the sampled function had no frame and the kernel followed frame pointers.

There the frame pointer is still the caller's, and leads to the caller's caller. Call frame information tells: where a
function has its frame, that is found by the frame pointer. Source of truth: perf_callchain_user in
arch/x86/events/core.c.
"""

import numpy as np

from perf2x.base.abi import CpuMode
from perf2x.base.binaries.cfi.section_rules import FrameSource, eh_frame_index
from perf2x.base.binaries.cfi.unwind_rules import RuleTable
from perf2x.base.columnar import I64, falses, sum_of
from perf2x.errors import ObjectError
from perf2x.model.profile import Profile
from perf2x.symbolizer.mapped_objects import addresses_of, mapped_objects
from perf2x.symbolizer.sources.symbol_source import Context, DsoKind

_FRAME_POINTER = {"EM_X86_64": 6, "EM_386": 5}
"""Registers in DWARF's numbers."""
_REGISTERS = 17
_MOST = 1000
"""Addresses that are looked at, those with most samples."""


def missing_callers(profile: Profile, context: Context, weight: I64) -> int:
    """Count samples in user code without a frame; ``weight`` (locations,) are those taken at each location."""
    locations, wanted, count = profile.locations, falses(len(weight)), 0
    weight = weight * (locations.mode == CpuMode.USER)
    wanted[np.argsort(-weight, kind="stable")[:_MOST]] = True
    for mapped in mapped_objects(profile, context.session, wanted & (weight > 0)):
        if mapped.key.kind is not DsoKind.FILE:
            continue
        found, table = context.find(mapped.key.name, mapped.key.build_id, mapped.pid), RuleTable(_REGISTERS)
        try:
            index = eh_frame_index(found.code) if found.code is not None else None
        except ObjectError:
            continue
        if found.code is None or index is None or found.code.machine not in _FRAME_POINTER:
            continue
        rules = FrameSource(index, table, []).find(addresses_of(profile, mapped, found)[1::2])
        pointer = _FRAME_POINTER[found.code.machine]
        by_rule = np.array([*(rule.cfa_register for rule in table.rules), pointer])  # the last: no rule
        count += sum_of(weight[mapped.locations][by_rule[rules] != pointer])
    return count
