"""Constants of linux/perf_event.h for tests, written down a second time on purpose."""

IP, TID, TIME, ADDR, READ, CALLCHAIN, ID, CPU, PERIOD, STREAM_ID, RAW, BRANCH_STACK = (1 << bit for bit in range(12))
REGS_USER, STACK_USER, WEIGHT, DATA_SRC, IDENTIFIER, TRANSACTION, REGS_INTR = (1 << bit for bit in range(12, 19))
PHYS_ADDR, AUX, CGROUP, DATA_PAGE_SIZE, CODE_PAGE_SIZE, WEIGHT_STRUCT = (1 << bit for bit in range(19, 25))

READ_ENABLED, READ_RUNNING, READ_ID, READ_GROUP, READ_LOST = (1 << bit for bit in range(5))

BRANCH_CALL_STACK, BRANCH_HW_INDEX, BRANCH_COUNTERS = 1 << 11, 1 << 17, 1 << 19

KERNEL, USER, HYPERVISOR, GUEST_KERNEL, GUEST_USER = 1, 2, 3, 4, 5
MISC_MODE = 7
MISC_13, MISC_14, MISC_15 = 1 << 13, 1 << 14, 1 << 15

CONTEXT_HV = 2**64 - 32
CONTEXT_KERNEL = 2**64 - 128
CONTEXT_USER = 2**64 - 512
CONTEXT_USER_DEFERRED = 2**64 - 640
CONTEXT_GUEST = 2**64 - 2048
CONTEXT_GUEST_KERNEL = 2**64 - 2176
CONTEXT_GUEST_USER = 2**64 - 2560
CONTEXT_MAX = 2**64 - 4095

FLAG_BITS = {
    "disabled": 0, "inherit": 1, "pinned": 2, "exclusive": 3, "exclude_user": 4, "exclude_kernel": 5, "exclude_hv": 6,
    "exclude_idle": 7, "mmap": 8, "comm": 9, "freq": 10, "inherit_stat": 11, "enable_on_exec": 12, "task": 13,
    "watermark": 14, "mmap_data": 17, "sample_id_all": 18, "exclude_host": 19, "exclude_guest": 20,
    "exclude_callchain_kernel": 21, "exclude_callchain_user": 22, "mmap2": 23, "comm_exec": 24, "use_clockid": 25,
    "context_switch": 26, "write_backward": 27, "namespaces": 28, "ksymbol": 29, "bpf_event": 30, "aux_output": 31,
    "cgroup": 32, "text_poke": 33, "build_id": 34, "inherit_thread": 35, "remove_on_exec": 36, "sigtrap": 37,
    "defer_callchain": 38, "defer_output": 39,
}  # fmt: skip
"""Bit of each one-bit flag of perf_event_attr with a little-endian compiler."""
PRECISE_IP_BIT = 15
"""Two bits wide."""


def bit_field(shift: int, width: int, value: int, order: str) -> int:
    """Place a C bit field in a u64: compilers start at the low end on little-endian, at the high end on big-endian."""
    return value << (shift if order == "<" else 64 - shift - width)
