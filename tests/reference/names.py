"""Names of events: EVENT_DESC, then EVENT_UPDATE records, then the few names that a type and config imply."""

import struct

from tests.reference.container import Contents

SOFTWARE = (
    "cpu-clock", "task-clock", "page-faults", "context-switches", "cpu-migrations", "minor-faults", "major-faults",
    "alignment-faults", "emulation-faults", "dummy", "bpf-output", "cgroup-switches",
)  # fmt: skip
HARDWARE = (
    "cycles", "instructions", "cache-references", "cache-misses", "branches", "branch-misses", "bus-cycles",
    "stalled-cycles-frontend", "stalled-cycles-backend", "ref-cycles",
)  # fmt: skip


def event_names(contents: Contents) -> list[tuple[str, bool]]:
    """(name, whether the file decides it) for each attribute, in order; perf names a pipe's events by itself."""
    described = _described(contents)
    out = []
    for attr, ids in contents.attrs:
        kind, _, config = struct.unpack_from(contents.order + "IIQ", attr)
        name = next((described[ident] for ident in ids if ident in described), None)
        known = {0: HARDWARE, 1: SOFTWARE}.get(kind, ())
        out.append(
            (
                name or (known[config] if config < len(known) else f"event_{kind}_{config:x}"),
                name is not None and not contents.pipe,
            )
        )
    return out


def _described(contents: Contents) -> dict[int, str]:
    found = _event_desc(contents.features[12], contents.order) if 12 in contents.features else {}
    for record in contents.records:
        number = struct.unpack_from(contents.order + "I", record)[0]
        if number == 78:
            kind, ident = struct.unpack_from(contents.order + "QQ", record, 8)
            if kind == 2:
                found[ident] = record[24:].split(b"\0")[0].decode()
    return found


def _event_desc(raw: bytes, order: str) -> dict[int, str]:
    count, attr_size = struct.unpack_from(order + "II", raw)
    found, at = {}, 8
    for _ in range(count):
        at += attr_size
        ids, length = struct.unpack_from(order + "II", raw, at)
        name = raw[at + 8 : at + 8 + length].split(b"\0")[0].decode()
        at += 8 + length
        found |= dict.fromkeys(struct.unpack_from(order + f"{ids}Q", raw, at), name)
        at += 8 * ids
    return found
