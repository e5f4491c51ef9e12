"""Counts samples whose stack, walked by frame pointer, lacks the caller because the sampled function has no frame.

Before a function sets up its frame, the frame pointer is still its caller's, and a walk finds the caller's caller next.
With a frame, the CFA is computed from the frame pointer. Source of truth: perf_callchain_user in
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

_ARCHITECTURES = {each.elf_machine: each for each in (X86_64, I386)}
# only the locations with the most samples
_MAX_LOCATIONS = 1000


def samples_without_caller(profile: Profile, context: Context, samples: I64) -> int:
    """Count samples at x86 instructions, in user code, where the function has no frame.

    ``samples`` (locations,): the number of samples whose innermost frame is each location.
    """
    is_candidate, count = falses(len(samples)), 0
    samples = samples * (profile.locations.mode == CpuMode.USER)
    is_candidate[argsort(-samples)[:_MAX_LOCATIONS]] = True
    for mapped in mapped_objects(profile, context.session, is_candidate & (samples > 0)):
        files = context.find(mapped.key.name, mapped.key.build_id, mapped.pid)
        if files.code is not None and files.code.machine in _ARCHITECTURES:
            machine = _ARCHITECTURES[files.code.machine]
            rules = ObjectRules(files.code, files.dwarf, RuleTable(machine.register_count), machine)
            # the second of each location's two addresses is that of the sampled instruction itself
            rule_number = rules.find(addresses_of(profile, mapped, files)[1::2])
            # the last entry is for −1, no rule
            cfa_register = as_int64([*(rule.cfa_register for rule in rules.table.rules), machine.frame_pointer])
            count += sum_of(samples[mapped.locations][cfa_register[rule_number] != machine.frame_pointer])
    return count
