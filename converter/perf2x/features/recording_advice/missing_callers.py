"""Samples whose caller is missing, because the sampled function had no frame and the kernel followed frame pointers.

There the frame pointer is still the caller's, and leads to the caller's caller. Call frame information shows whether a
function has a frame: then its CFA is computed from the frame pointer. Source of truth: perf_callchain_user in
arch/x86/events/core.c.
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
"""The number of addresses to check: those with the most samples."""


def missing_callers(profile: Profile, context: Context, weight: I64) -> int:
    """Count samples in user code without a frame; ``weight`` (locations,) is the number taken at each location."""
    candidates, count = falses(len(weight)), 0
    weight = weight * (profile.locations.mode == CpuMode.USER)
    candidates[argsort(-weight)[:_MOST]] = True
    for mapped in mapped_objects(profile, context.session, candidates & (weight > 0)):
        found = context.find(mapped.key.name, mapped.key.build_id, mapped.pid)
        if found.code is not None and found.code.machine in _ARCHITECTURES:
            x86 = _ARCHITECTURES[found.code.machine]
            rules = ObjectRules(found.code, found.dwarf, RuleTable(x86.register_count), x86)
            number = rules.find(addresses_of(profile, mapped, found)[1::2])
            # the last entry stands for no rule
            by_rule = as_int64([*(rule.cfa_register for rule in rules.table.rules), x86.frame_pointer])
            count += sum_of(weight[mapped.locations][by_rule[number] != x86.frame_pointer])
    return count
