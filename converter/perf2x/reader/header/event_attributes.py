"""Parses struct perf_event_attr of any size to an Event.

Source of truth: include/uapi/linux/perf_event.h. A smaller attr is padded with zeros, a larger one is cut to the
known part, as the kernel does (perf_copy_attr in kernel/events/core.c).
"""

from perf2x.base.abi.layouts import ATTR_SIZE_NEWEST, ByteOrder, attr_dtype
from perf2x.base.abi.uapi import ATTR_FLAGS
from perf2x.model.recording.events import Event
from perf2x.reader.header.default_event_names import default_event_name

import numpy as np  # isort: skip

PRECISE_IP_BIT = ATTR_FLAGS.index("precise_ip")


def parse_attr(data: bytes, order: ByteOrder, index: int, ids: tuple[int, ...] = (), name: str = "") -> Event:
    """Parse one event; without a name it gets perf's default name."""
    raw = data[:ATTR_SIZE_NEWEST].ljust(ATTR_SIZE_NEWEST, b"\0")
    row = np.frombuffer(raw, attr_dtype(order), 1)[0]
    fields = {key: int(row[key]) for key in row.dtype.names or ()}
    flags, precise = _decode_flags(fields["flags"], order)
    return Event(
        index=index,
        name=name or default_event_name(fields["type"], fields["config"], flags, precise),
        type=fields["type"],
        config=fields["config"],
        sample_period=fields["sample_period"],
        sample_type=fields["sample_type"],
        read_format=fields["read_format"],
        flags=flags,
        precise_ip=precise,
        ids=ids,
        attr_size=fields["size"],
        config1=fields["config1"],
        config2=fields["config2"],
        branch_sample_type=fields["branch_sample_type"],
        sample_regs_user=fields["sample_regs_user"],
        sample_stack_user=fields["sample_stack_user"],
        sample_regs_intr=fields["sample_regs_intr"],
        clockid=fields["clockid"] if "use_clockid" in flags else -1,
    )


def _decode_flags(word: int, order: ByteOrder) -> tuple[frozenset[str], int]:
    """Return the names of the set bits, and the two-bit field precise_ip.

    A big-endian compiler puts the first bit field into the most significant bit, so bit i is bit 63 − i.
    """
    bits = word if order == "<" else int(f"{word:064b}"[::-1], 2)
    precise = bits >> PRECISE_IP_BIT & 3
    if order == ">":
        precise = precise >> 1 | (precise & 1) << 1
    names = {name for bit, name in enumerate(ATTR_FLAGS) if bits >> bit & 1}
    return frozenset(names - {"precise_ip", "precise_ip_hi"}), precise
