"""Roles of kernel functions by name, and addresses that no call stands in front of."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perf2x.symbolizer.interrupt_entry_names import (
    EntryRole,
    are_exact_by_name,
    entry_roles,
    is_interrupted,
    without_padding,
)

ENTRY, PART, NONE = EntryRole.ENTRY, EntryRole.PART, EntryRole.NONE
CALLS_PARTS, CALLS_ENTRIES = EntryRole.CALLS_PARTS, EntryRole.CALLS_ENTRIES


@pytest.mark.parametrize(
    ("machine", "names", "role"),
    [
        ("x86_64", "asm_sysvec_apic_timer_interrupt asm_exc_page_fault asm_common_interrupt", ENTRY | CALLS_PARTS),
        ("x86_64", "asm_exc_nmi asm_fred_entrypoint_kernel asm_spurious_interrupt", ENTRY | CALLS_PARTS),
        ("x86_64", "error_entry paranoid_entry common_interrupt apic_timer_interrupt page_fault nmi", PART),
        ("x86_64", "exc_page_fault sysvec_apic_timer_interrupt __irqentry_text_start handle_exception_nmi", NONE),
        ("x86_64", "do_syscall_64 entry_SYSCALL_64_after_hwframe ret_from_fork_asm el1h_64_irq", NONE),
        ("x86_64", "fred_extint", CALLS_PARTS),
        ("x86_64", "vmx_do_interrupt_irqoff", CALLS_ENTRIES),
        ("i686", "asm_exc_page_fault", ENTRY | CALLS_PARTS),
        ("i686", "handle_exception", PART),
        ("aarch64", "el1h_64_irq el1h_64_sync el0t_64_sync el1_irq el0_sync el1t_64_error", ENTRY),
        ("aarch64", "el1h_64_irq_handler el1_interrupt el1_abort call_on_irq_stack", NONE),
        ("armv7l", "__irq_svc __dabt_svc", ENTRY),
        ("riscv64", "handle_exception ret_from_exception", ENTRY),
        ("s390x", "pgm_check_handler io_int_handler ext_int_handler", ENTRY),
        ("loongarch64", "handle_vint rollback_handle_vint handle_tlb_load handle_adef", ENTRY),
        ("loongarch64", "handle_mm_fault handle_irq_event", NONE),
        ("mips64", "handle_int ret_from_irq handle_tlbl", ENTRY),
        ("mips64", "handle_level_irq", NONE),
        ("ppc64le", "hardware_interrupt_common_virt interrupt_return_srr_kernel", NONE),
        ("", "el1h_64_irq", ENTRY),
        ("", "asm_exc_page_fault", ENTRY | CALLS_PARTS),
    ],
)
def test_functions_have_the_roles_that_their_kernel_gives_them(machine, names, role) -> None:
    found = dict(zip(names.split(), entry_roles(machine, names.split()).tolist(), strict=True))
    assert found == dict.fromkeys(names.split(), role)


def interrupted(callee: int, caller: int) -> bool:
    return bool(is_interrupted(np.array([callee], np.uint8), np.array([caller], np.uint8))[0])


def test_a_frame_behind_an_entry_was_interrupted_unless_it_called() -> None:
    assert interrupted(ENTRY | CALLS_PARTS, NONE)
    assert interrupted(ENTRY | CALLS_PARTS, ENTRY | CALLS_PARTS)  # a non-maskable interrupt within an entry
    assert interrupted(PART, NONE)
    assert not interrupted(PART, ENTRY | CALLS_PARTS)  # error_entry, called by asm_exc_page_fault
    assert not interrupted(ENTRY | CALLS_PARTS, CALLS_ENTRIES)  # asm_sysvec_…, called by vmx_do_interrupt_irqoff
    assert not interrupted(NONE, ENTRY)
    assert not interrupted(CALLS_PARTS, NONE)


def interrupted_scalar(callee: int, caller: int) -> bool:
    if caller & CALLS_ENTRIES:
        return False
    return bool(callee & ENTRY) or bool(callee & PART and not caller & CALLS_PARTS)


def test_all_pairs_of_roles_are_told_as_one_by_one() -> None:
    callee, caller = (
        np.array(side, np.uint8) for side in zip(*((a, b) for a in range(16) for b in range(16)), strict=True)
    )
    expected = [interrupted_scalar(a, b) for a in range(16) for b in range(16)]
    assert is_interrupted(callee, caller).tolist() == expected


def test_padding_has_the_name_of_the_function_behind_it() -> None:
    assert [without_padding(name) for name in ("__pfx_mas_prev", "__cfi_mas_prev", "mas_prev", "pfx_")] == [
        "mas_prev", "mas_prev", "mas_prev", "pfx_",
    ]  # fmt: skip


NAMES = ["mas_prev", "__pfx_mas_prev", "__restore_rt", "main", "__pfx_other", "main"]


def are_exact_by_name_scalar(lookup: int, exact: int) -> bool:
    if exact < 0 or (lookup >= 0 and NAMES[lookup] == NAMES[exact]):
        return False
    in_padding = lookup >= 0 and NAMES[lookup].startswith("__pfx_")
    return in_padding or NAMES[exact] == "__restore_rt"


@given(st.lists(st.tuples(st.integers(-1, 5), st.integers(-1, 5)), max_size=40))
def test_names_tell_which_addresses_are_no_return_addresses(pairs) -> None:
    lookup, exact = np.array(pairs, np.int64).reshape(-1, 2).T
    assert are_exact_by_name(lookup, exact, NAMES).tolist() == [are_exact_by_name_scalar(*pair) for pair in pairs]


def test_a_start_and_a_function_behind_padding_are_not_called() -> None:
    lookup, exact = np.array([1, 0, -1, 2, 3]), np.array([0, 2, 2, 2, 5])
    assert are_exact_by_name(lookup, exact, NAMES).tolist() == [True, True, True, False, False]
