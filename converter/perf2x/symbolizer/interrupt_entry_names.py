"""Recognizes, by function names, addresses in chains that look like return addresses but follow no call.

The caller of an exception entry called nothing: the exception interrupted it. So its address is exact, that of the
interrupted instruction, and the byte before may belong to another function. A chain, innermost frame first::

    exc_page_fault          C function, called by the entry
    asm_exc_page_fault+42   entry; this is the return address after its call
    mas_prev+0              interrupted at its first byte; the byte before belongs to __pfx_mas_prev

Signal trampolines, and the first byte after padding, are recognized in any code.

Sources of truth: the kernel's arch/*/kernel/entry*.S and its unwinders, which report the recorded pt_regs.ip after an
entry. On powerpc perf_callchain_kernel puts a context marker before such an address.
"""

from collections.abc import Sequence
from enum import IntFlag

import numpy as np

from perf2x.base.columnar import I64, U8, Bools, Frozen, falses, flatnonzero, unique_inverse

# Prefixes of symbols for the bytes before a kernel function (objtool --prefix; clang -fsanitize=kcfi).
_PADDING_PREFIXES = ("__pfx_", "__cfi_")

_ENTERED_AT_START = frozenset({
    "__restore_rt", "__restore", "__default_rt_sa_restorer", "__default_sa_restorer",  # C libraries
    "__kernel_rt_sigreturn", "__kernel_sigreturn",  # vDSO
    "runtime.sigreturn__sigaction", "runtime.sigreturn__sigaction.abi0", "runtime.sigreturn", "runtime.sigreturn.abi0",
    "__start_context",
    "ret_from_fork", "ret_from_fork_asm", "ret_from_kernel_thread", "return_to_handler",  # kernel
})  # fmt: skip
"""Code whose first byte is put on a stack as a return address, although no call precedes it.

The kernel does so with signal trampolines, makecontext with __start_context, copy_thread with the start of new tasks,
and function graph tracing with return_to_handler.
"""


class EntryRole(IntFlag):
    """The role of a kernel function when an interrupt or exception enters the kernel."""

    NONE = 0
    ENTRY = 1
    """The processor enters it, so its caller in the chain was interrupted."""
    PART = 2
    """The processor enters it, or an entry calls it, depending on kernel and address."""
    CALLS_PARTS = 4
    """Calls functions that are PART. As the caller of a PART, it was therefore not interrupted."""
    CALLS_ENTRIES = 8
    """Calls functions that are ENTRY, as KVM does for a host interrupt that arrived while the guest was running."""


# plain numbers, because flag arithmetic takes a microsecond per operation
_ENTRY, _PART, _CALLS_PARTS, _CALLS_ENTRIES = (int(role) for role in EntryRole if role)


class _EntryNames(Frozen):
    """Names of kernel functions that are ENTRY or PART; those with ``entry_prefixes`` are ENTRY."""

    entries: frozenset[str]
    entry_prefixes: tuple[str, ...] = ()
    parts: frozenset[str] = frozenset()


_X86_BEFORE_5_8 = """
    divide_error overflow bounds invalid_op device_not_available double_fault coprocessor_segment_overrun invalid_TSS
    segment_not_present spurious_interrupt_bug coprocessor_error alignment_check simd_coprocessor_error debug int3 nmi
    stack_segment general_protection page_fault async_page_fault machine_check common_interrupt common_spurious
    ret_from_intr interrupt_entry apic_timer_interrupt reschedule_interrupt call_function_interrupt reboot_interrupt
    call_function_single_interrupt irq_work_interrupt error_interrupt thermal_interrupt threshold_interrupt
    deferred_error_interrupt spurious_interrupt irq_move_cleanup_interrupt x86_platform_ipi kvm_posted_intr_ipi
    kvm_posted_intr_wakeup_ipi kvm_posted_intr_nested_ipi xen_hvm_callback_vector hyperv_callback_vector
    hyperv_reenlightenment_vector hv_stimer0_callback_vector
"""
"""Entries of entry_64.S up to Linux 5.7. Later kernels use some of these names for C functions, so all are PART."""
_X86_PARTS = """
    error_entry xen_error_entry error_return paranoid_entry paranoid_exit common_interrupt_return handle_exception
"""
_X86 = _EntryNames(
    frozenset({"asm_common_interrupt", "asm_spurious_interrupt", "asm_int80_emulation"}),
    ("asm_exc_", "asm_sysvec_", "asm_xenpv_", "asm_fred_entrypoint_", "xen_asm_exc_", "xen_asm_sysvec_"),
    frozenset((_X86_PARTS + _X86_BEFORE_5_8).split()),
)
_ARM64 = _EntryNames(
    frozenset(
        f"el{level}_{kind}"
        for level in ("0", "1", "0t_64", "0t_32", "1t_64", "1h_64")
        for kind in ("sync", "irq", "fiq", "error")
    )
)
_ARM = _EntryNames(frozenset({"__irq_svc", "__fiq_svc", "__dabt_svc", "__pabt_svc", "__und_svc"}))
_RISCV = _EntryNames(frozenset({"handle_exception", "ret_from_exception", "handle_kernel_stack_overflow"}))
_S390 = _EntryNames(
    frozenset(f"{kind}_handler" for kind in ("pgm_check", "io_int", "ext_int", "mcck_int", "restart_int"))
)
_LOONGARCH_KINDS = """
    vint ade adef adem ale bce bp fpe fpu lsx lasx lbt ri watch reserved tlb_load tlb_load_ptw tlb_store tlb_store_ptw
    tlb_modify tlb_modify_ptw tlb_protect
"""
_LOONGARCH = _EntryNames(frozenset({"rollback_handle_vint", *(f"handle_{kind}" for kind in _LOONGARCH_KINDS.split())}))
_MIPS_NAMES = """
    handle_int rollback_handle_int ret_from_irq ret_from_exception handle_tlbl handle_tlbs handle_tlbm handle_adel
    handle_ades tlb_do_page_fault_0 tlb_do_page_fault_1
"""
_MIPS = _EntryNames(frozenset(_MIPS_NAMES.split()))
# By the beginning of the architecture's name in ``uname -m``.
_MACHINES = {
    "x86_64": _X86, "i386": _X86, "i486": _X86, "i586": _X86, "i686": _X86, "aarch64": _ARM64, "arm": _ARM,
    "riscv": _RISCV, "s390": _S390, "loongarch": _LOONGARCH, "mips": _MIPS,
}  # fmt: skip
_PART_CALLERS = ("asm_", "xen_asm_", "fred_")
_ENTRY_CALLERS = ("vmx_do_", "asm_fred_entry_from_kvm")


def entry_roles(machine: str, names: Sequence[str]) -> U8:
    """Return (n,) the EntryRole of each kernel function; ``machine`` is as ``uname -m`` prints it.

    If ``machine`` is "" (not recorded), the names of x86-64 and arm64 are used.
    """
    tables = [table for prefix, table in _MACHINES.items() if machine.startswith(prefix)]
    tables = tables if machine else [_X86, _ARM64]
    merged = _EntryNames(
        frozenset[str]().union(*(table.entries for table in tables)),
        tuple(prefix for table in tables for prefix in table.entry_prefixes),
        frozenset[str]().union(*(table.parts for table in tables)),
    )
    return np.array([_role(merged, name) for name in names], np.uint8)


def _role(entry_names: _EntryNames, name: str) -> int:
    role = 0
    if name in entry_names.entries or name.startswith(entry_names.entry_prefixes):
        role = _ENTRY
    elif name in entry_names.parts:
        role = _PART
    if name.startswith(_PART_CALLERS):
        role |= _CALLS_PARTS
    return role | _CALLS_ENTRIES if name.startswith(_ENTRY_CALLERS) else role


def is_interrupted(callee: U8, caller: U8) -> Bools:
    """Return (n,) whether each caller was interrupted; the arguments are EntryRoles of neighbouring frames."""
    is_entry_part = (callee & EntryRole.PART != 0) & (caller & EntryRole.CALLS_PARTS == 0)
    interrupted: Bools = ((callee & EntryRole.ENTRY != 0) | is_entry_part) & (caller & EntryRole.CALLS_ENTRIES == 0)
    return interrupted


def are_exact_by_name(lookup_function: I64, exact_function: I64, names: Sequence[str]) -> Bools:
    """Return (n,) whether names show that an address is exact, although it was taken as a return address.

    ``lookup_function`` (n,) is the function that contains the byte before each address; ``exact_function`` (n,)
    contains the address itself. Both are rows of ``names``, −1 for none.
    """
    is_exact = falses(len(lookup_function))
    rows = flatnonzero((exact_function >= 0) & (lookup_function != exact_function))
    names_with_none = ["", *names]  # row −1 becomes ""
    pairs, pair_index = unique_inverse((lookup_function[rows] + 1) * len(names_with_none) + exact_function[rows] + 1)
    name_pairs = (
        (names_with_none[pair // len(names_with_none)], names_with_none[pair % len(names_with_none)])
        for pair in pairs.tolist()
    )
    is_exact_pair = [
        lookup_name != exact_name and (lookup_name.startswith(_PADDING_PREFIXES) or exact_name in _ENTERED_AT_START)
        for lookup_name, exact_name in name_pairs
    ]
    is_exact[rows] = np.array(is_exact_pair, np.bool_)[pair_index]
    return is_exact


def without_padding(name: str) -> str:
    """Return the name of the function that padding belongs to; other names unchanged."""
    if not name.startswith(_PADDING_PREFIXES):
        return name
    return next(name.removeprefix(prefix) for prefix in _PADDING_PREFIXES if name.startswith(prefix))
