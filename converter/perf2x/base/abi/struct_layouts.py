"""Layouts of perf_event_attr, to which each revision adds fields, and of record headers.

Source of truth: include/uapi/linux/perf_event.h (struct perf_event_attr, struct perf_event_header).
"""

from typing import Literal

import numpy as np

ByteOrder = Literal["<", ">"]
ENDIAN: dict[str, Literal["little", "big"]] = {"<": "little", ">": "big"}

ATTR_REVISIONS: tuple[tuple[int, tuple[tuple[str, str], ...]], ...] = (
    (
        64,
        (
            ("type", "u4"), ("size", "u4"), ("config", "u8"), ("sample_period", "u8"), ("sample_type", "u8"),
            ("read_format", "u8"), ("flags", "u8"), ("wakeup_events", "u4"), ("bp_type", "u4"), ("config1", "u8"),
        ),
    ),
    (72, (("config2", "u8"),)),
    (80, (("branch_sample_type", "u8"),)),
    (96, (("sample_regs_user", "u8"), ("sample_stack_user", "u4"), ("clockid", "i4"))),
    (104, (("sample_regs_intr", "u8"),)),
    (112, (("aux_watermark", "u4"), ("sample_max_stack", "u2"), ("reserved_2", "u2"))),
    (120, (("aux_sample_size", "u4"), ("aux_action", "u4"))),
    (128, (("sig_data", "u8"),)),
    (136, (("config3", "u8"),)),
    (144, (("config4", "u8"),)),
)  # fmt: skip
"""PERF_ATTR_SIZE_VER0 … VER9: size of the struct up to this revision, and the fields that it added."""

ATTR_SIZE_VER0 = ATTR_REVISIONS[0][0]
ATTR_SIZE_NEWEST = ATTR_REVISIONS[-1][0]


def attr_dtype(byte_order: ByteOrder) -> np.dtype[np.void]:
    """Return the dtype of the newest perf_event_attr; older structs must be padded with zeros."""
    fields = [(name, byte_order + code) for _, added in ATTR_REVISIONS for name, code in added]
    return np.dtype(fields)


HEADER_SIZE = 8
"""struct perf_event_header: u32 type, u16 misc, u16 size."""
