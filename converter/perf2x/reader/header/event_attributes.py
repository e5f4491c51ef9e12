"""Parses a struct perf_event_attr of any size into an Event.

Source of truth: include/uapi/linux/perf_event.h. As in the kernel (perf_copy_attr in kernel/events/core.c), a smaller
struct of older versions is padded with zeros. The unknown rest of a larger one is ignored.

Events get perf's default names: evsel__name and evsel__add_modifiers in tools/perf/util/evsel.c.
"""

from typing import Any

from perf2x.base.abi import ATTR_FLAGS, ATTR_SIZE_NEWEST, ByteOrder, EventType, attr_dtype
from perf2x.model.recording import Event

import numpy as np  # isort: skip

_PRECISE_IP_BIT = ATTR_FLAGS.index("precise_ip")
# Fields of both perf_event_attr and Event.
_COPIED_FIELDS = (
    "type", "config", "config1", "config2", "sample_period", "sample_type", "read_format", "branch_sample_type",
    "sample_regs_user", "sample_stack_user", "sample_regs_intr",
)  # fmt: skip


def parse_attr(data: bytes, byte_order: ByteOrder, index: int, ids: tuple[int, ...] = ()) -> Event:
    """Parse ``data``, a perf_event_attr, into the event with this index and these ids."""
    attr = data[:ATTR_SIZE_NEWEST].ljust(ATTR_SIZE_NEWEST, b"\0")
    row = np.frombuffer(attr, attr_dtype(byte_order), 1)[0]
    fields: dict[str, Any] = {key: int(row[key]) for key in row.dtype.names or ()}
    flags, precise_ip = _decode_flags(fields["flags"], byte_order)
    return Event(
        index=index,
        name=_base_name(fields["type"], fields["config"]) + modifiers(flags, precise_ip),
        flags=flags,
        precise_ip=precise_ip,
        ids=ids,
        attr_size=fields["size"],
        clockid=fields["clockid"] if "use_clockid" in flags else -1,
        **{name: fields[name] for name in _COPIED_FIELDS},
    )


def _decode_flags(word: int, byte_order: ByteOrder) -> tuple[frozenset[str], int]:
    """The names of the set bits, and the value of precise_ip.

    In big-endian files, the first bit-field is the most significant bit: bit i is bit 63 − i.
    """
    bits = word if byte_order == "<" else int(f"{word:064b}"[::-1], 2)
    precise_ip = bits >> _PRECISE_IP_BIT & 3
    if byte_order == ">":
        precise_ip = precise_ip >> 1 | (precise_ip & 1) << 1  # these two bits are reversed, too
    names = {name for bit, name in enumerate(ATTR_FLAGS) if bits >> bit & 1}
    return frozenset(names - {"precise_ip", "precise_ip_hi"}), precise_ip


_HARDWARE = (
    "cycles", "instructions", "cache-references", "cache-misses", "branches", "branch-misses", "bus-cycles",
    "stalled-cycles-frontend", "stalled-cycles-backend", "ref-cycles",
)  # fmt: skip
_SOFTWARE = (
    "cpu-clock", "task-clock", "page-faults", "context-switches", "cpu-migrations", "minor-faults", "major-faults",
    "alignment-faults", "emulation-faults", "dummy", "bpf-output", "cgroup-switches",
)  # fmt: skip
_CACHES = ("L1-dcache", "L1-icache", "LLC", "dTLB", "iTLB", "branch", "node")
_CACHE_OPERATIONS = ("load", "store", "prefetch")
_CACHE_PLURALS = ("loads", "stores", "prefetches")
_MISS = 1  # PERF_COUNT_HW_CACHE_RESULT_MISS


def _base_name(kind: int, config: int) -> str:
    if kind == EventType.HARDWARE:
        return _HARDWARE[config] if config < len(_HARDWARE) else f"unknown-hardware-{config:#x}"
    if kind == EventType.SOFTWARE:
        return _SOFTWARE[config] if config < len(_SOFTWARE) else f"unknown-software-{config:#x}"
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
    """The config has cache, operation and result in a byte each."""
    cache, operation, result = config & 0xFF, config >> 8 & 0xFF, config >> 16 & 0xFF
    if cache >= len(_CACHES) or operation >= len(_CACHE_OPERATIONS) or result > _MISS:
        return f"invalid-cache-{config:#x}"
    if result == _MISS:
        return f"{_CACHES[cache]}-{_CACHE_OPERATIONS[operation]}-misses"
    return f"{_CACHES[cache]}-{_CACHE_PLURALS[operation]}"


def modifiers(flags: frozenset[str], precise_ip: int) -> str:
    """Return the modifiers that perf appends to an event's name, such as ``:u``."""
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
