"""Counts samples whose stack, walked by frame pointer, lacks the caller because the function has no frame.

In a function that has not set up a frame, the frame pointer is still the caller's, and leads to the caller's caller.
Call frame information shows whether a function has a frame at an address: then its CFA is computed from the frame
pointer. Source of truth: perf_callchain_user in arch/x86/events/core.c.
"""

from perf2x.base.abi import CpuMode
from perf2x.base.binaries.cfi.unwind_rules import RuleTable
from perf2x.base.columnar import I64, argsort, as_int64, falses, sum_of
from perf2x.model.profile import Profile
from perf2x.stitcher.unwind.object_rules import ObjectRules
from perf2x.stitcher.unwind.x86_64 import I386, X86_64
from perf2x.symbolizer.mapped_objects import addresses_of, mapped_objects
from perf2x.symbolizer.sources.symbol_source import Context

_ARCHITECTURES = {each.machine: each for each in (X86_64, I386)}
_MOST = 1000
"""Maximum number of locations to check: those with the most samples."""


def missing_callers(profile: Profile, context: Context, weight: I64) -> int:
    """Count samples in user code without a frame; ``weight`` (locations,) is the number of samples at each location."""
    candidates, count = falses(len(weight)), 0
    weight = weight * (profile.locations.mode == CpuMode.USER)
    candidates[argsort(-weight)[:_MOST]] = True
    for mapped in mapped_objects(profile, context.session, candidates & (weight > 0)):
        found = context.find(mapped.key.name, mapped.key.build_id, mapped.pid)
        if found.code is not None and found.code.machine in _ARCHITECTURES:
            x86 = _ARCHITECTURES[found.code.machine]
            rules = ObjectRules(found.code, found.dwarf, RuleTable(x86.register_count), x86)
            rule_number = rules.find(addresses_of(profile, mapped, found)[1::2])
            # the last entry is for −1, no rule: such a sample does not count
            cfa_register = as_int64([*(rule.cfa_register for rule in rules.table.rules), x86.frame_pointer])
            count += sum_of(weight[mapped.locations][cfa_register[rule_number] != x86.frame_pointer])
    return count
