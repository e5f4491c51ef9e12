"""Random Arm SPE trace of every packet, the same for a seed on any machine, and recordings of it."""

import random

from tests import forge
from tests.forge import spe

CPUS = (spe.N1, spe.AMPEREONE, spe.HIP12, spe.OTHER_CPU)
ITRACES = ("bfmtaMi1i", "i1i", "bl", "bl1i1i", "M", "fmt", "i3i", "bMi2i", "a")
_OTHERS = (0, 2, 4, 6, 7, 8, 0x0C, 0x49, 0x88, 0x8C, 0xFF)
_ACCESSES = (0, 1, 4, 5, 0x10, 0x14, 0x20, 0x25, 0x30, 2, 0x1E, 0x1F, 8, 0x88, 0x8D, 0x40, 0x44, 0x63)
_JUMPS = (0, 1, 2, 3, 4, 0x18, 0x19, 0x1A, 0x1B)
CALLS = (8, 9, 0x0A, 0x0B, 0x10, 0x11, 0x12, 0x13)
"""Operations of which perf takes the form for a kind of register, and so for accesses to memory."""


def record(r: random.Random, ticks: int, thread: int, jumps: tuple[int, ...] = _JUMPS) -> bytes:
    """One record: its program counter, other packets in any order with padding between them, a timestamp."""
    pc = r.choice([spe.PROGRAM + r.randrange(spe.SIZE), r.randrange(1 << 55), 0xFF800008010000])
    kind = r.choice([0, 1, 1, 1, 2, 2])
    parts = [spe.context(thread, r.choice([spe.EL1, spe.EL2]))]
    parts += [spe.counter(index, r.randrange(1 << 16)) for index in range(3) if r.random() < 0.8]
    if r.random() < 0.95:
        parts.append(spe.operation(kind, r.choice((_OTHERS, _ACCESSES, jumps)[kind])))
        parts.append(spe.events(*(bit for bit in range(26) if r.random() < 0.3), size=r.choice([4, 8])))
    if r.random() < 0.3:
        parts.append(spe.extended(spe.counter(r.randrange(8), r.randrange(1 << 16)), r.randrange(1, 4)))
    if kind == 2:
        parts.append(spe.target(r.randrange(1 << 55), r.choice([spe.EL0, spe.EL1])))
        parts += [spe.previous(r.randrange(1 << 55))] if r.random() < 0.5 else []
    else:
        parts.append(spe.data(r.choice([r.randrange(1 << 64), 0x00FFF00012345678])))
        parts += [spe.physical(r.randrange(1 << 48))] if r.random() < 0.5 else []
        parts.append(spe.source(r.randrange(20), r.choice([1, 2])))
    if r.random() < 0.1:
        parts.append(spe.instruction(r.randrange(1 << 56), index=r.choice([5, 6, 7])))
    r.shuffle(parts)
    first = spe.instruction(pc, r.choice([0, 0, 1, 2, 3]), secure=r.random() < 0.1)
    first = spe.extended(first) if r.random() < 0.1 else first
    spread = (bytes(r.randrange(20) if r.random() < 0.1 else 0) + part for part in parts)
    return first + b"".join(spread) + spe.timestamp(ticks)


def trace(r: random.Random, records: int, start: int = 1000) -> bytes:
    """Records with padding and alignment behind some of them, in all a multiple of 16 bytes.

    It ends in padding: perf takes an alignment that is the last for damage.
    """
    made, ticks = b"", start
    for _ in range(records):
        ticks += r.randrange(1, 50)
        made += record(r, ticks, 100)
        if r.random() < 0.1:
            made += spe.aligned(made, r.choice([2, 4, 8, 16]))
        if r.random() < 0.1:
            made += bytes(r.randrange(40))
    return made + bytes(16 + -len(made) % 16)


def damaged(seed: int) -> bytes:
    """Trace with bytes that were changed at random, of which packets begin elsewhere."""
    r = random.Random(seed)
    made = bytearray(trace(r, 60))
    for _ in range(r.randrange(30)):
        made[r.randrange(len(made))] = r.randrange(256)
    return bytes(made) + bytes(-len(made) % 16)


def recording_of(data: bytes) -> bytes:
    """A recording of one buffer, which begins at a multiple of 16 bytes of the file."""
    made = forge.write_file(spe.spe_session(), spe.spe_records([spe.Buffer(data)]))
    more = [forge.FinishedRound()]
    return (
        made
        if made.index(data) % 16 == 0
        else forge.write_file(spe.spe_session(), spe.spe_records([spe.Buffer(data)], more))
    )


def recording(seed: int) -> bytes:
    """A recording of one or two CPUs; perf counts alignment from the file's start, so trace begins at a multiple."""
    r = random.Random(seed)
    midr = r.choice(CPUS)
    old, filters, midrs = r.random() < 0.3, r.choice([0, 1 << 23]), (midr, r.choice([midr, spe.OTHER_CPU]))
    buffers = [spe.Buffer(trace(r, r.randrange(1, 40), 1000 + cpu), cpu) for cpu in range(r.choice([1, 2]))]
    clock = forge.TimeConv(shift=r.choice([0, 3]), mult=40, zero=5)

    def written(*more: forge.Record) -> bytes:
        records = spe.spe_records(buffers, more, old, midrs, filters, clock)
        return forge.write_file(spe.spe_session(old=old, midr=midr), records)

    made = written()
    return made if made.index(buffers[0].data) % 16 == 0 else written(forge.FinishedRound())
