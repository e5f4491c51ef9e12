"""Names an event whose name was not recorded, as perf does.

Source of truth: evsel__name and evsel__add_modifiers in tools/perf/util/evsel.c.
"""

from perf2x.base.abi.uapi import EventType

HARDWARE = (
    "cycles", "instructions", "cache-references", "cache-misses", "branches", "branch-misses", "bus-cycles",
    "stalled-cycles-frontend", "stalled-cycles-backend", "ref-cycles",
)  # fmt: skip
SOFTWARE = (
    "cpu-clock", "task-clock", "page-faults", "context-switches", "cpu-migrations", "minor-faults", "major-faults",
    "alignment-faults", "emulation-faults", "dummy", "bpf-output", "cgroup-switches",
)  # fmt: skip
CACHES = ("L1-dcache", "L1-icache", "LLC", "dTLB", "iTLB", "branch", "node")
CACHE_OPERATIONS = ("load", "store", "prefetch")
CACHE_PLURALS = ("loads", "stores", "prefetches")
MISS = 1


def default_event_name(kind: int, config: int, flags: frozenset[str], precise_ip: int) -> str:
    """Return perf's name for type and config, with modifiers: ``cycles:u``."""
    return _base_name(kind, config) + _modifiers(flags, precise_ip)


def _base_name(kind: int, config: int) -> str:
    if kind == EventType.HARDWARE:
        return HARDWARE[config] if config < len(HARDWARE) else f"unknown-hardware-{config:#x}"
    if kind == EventType.SOFTWARE:
        return SOFTWARE[config] if config < len(SOFTWARE) else f"unknown-software-{config:#x}"
    if kind == EventType.HW_CACHE:
        return _cache_name(config)
    if kind == EventType.TRACEPOINT:
        return f"tracepoint-{config}"
    if kind == EventType.RAW:
        return f"raw 0x{config:x}"
    if kind == EventType.BREAKPOINT:
        return "breakpoint"
    return f"unknown attr type: {kind}"


def _cache_name(config: int) -> str:
    """PERF_TYPE_HW_CACHE: cache, operation and result in a byte each."""
    cache, operation, result = config & 0xFF, config >> 8 & 0xFF, config >> 16 & 0xFF
    if cache >= len(CACHES) or operation >= len(CACHE_OPERATIONS) or result > MISS:
        return f"invalid-cache-{config:#x}"
    if result == MISS:
        return f"{CACHES[cache]}-{CACHE_OPERATIONS[operation]}-misses"
    return f"{CACHES[cache]}-{CACHE_PLURALS[operation]}"


def _modifiers(flags: frozenset[str], precise_ip: int) -> str:
    letters = ""
    if flags & {"exclude_kernel", "exclude_user", "exclude_hv"}:
        letters += "k" * ("exclude_kernel" not in flags)
        letters += "u" * ("exclude_user" not in flags)
        letters += "h" * ("exclude_hv" not in flags)
    letters += "p" * precise_ip
    if flags & {"exclude_host", "exclude_guest"}:
        letters += "H" * ("exclude_host" not in flags)
        letters += "G" * ("exclude_guest" not in flags)
    return f":{letters}" if letters else ""
