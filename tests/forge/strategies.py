"""Hypothesis strategies: whole recordings, with any value that the kernel could write in each field."""

from dataclasses import replace

from hypothesis import strategies as st

from tests import forge
from tests.forge import kernel as k

U32 = st.integers(0, 2**32 - 1)
U64 = st.integers(0, 2**64 - 1)
SMALL = st.integers(0, 6)
IDS = st.integers(1, 5)
ADDRESSES = st.one_of(
    st.integers(0x1000, 0x9000), st.integers(2**63, 2**63 + 0x1000), st.integers(0, k.CONTEXT_MAX - 1)
)
TIMES = st.integers(0, 2**62)
NAMES = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=12)
MARKERS = (
    k.CONTEXT_HV, k.CONTEXT_KERNEL, k.CONTEXT_USER, k.CONTEXT_GUEST, k.CONTEXT_GUEST_KERNEL, k.CONTEXT_GUEST_USER,
)  # fmt: skip
PLAIN_BITS = (
    k.IP, k.TID, k.TIME, k.ADDR, k.ID, k.CPU, k.PERIOD, k.STREAM_ID, k.CALLCHAIN, k.RAW, k.BRANCH_STACK, k.REGS_USER,
    k.STACK_USER, k.DATA_SRC, k.TRANSACTION, k.REGS_INTR, k.PHYS_ADDR, k.CGROUP, k.DATA_PAGE_SIZE, k.CODE_PAGE_SIZE,
    k.AUX,
)  # fmt: skip
"""Every field but READ, which makes one record several samples, and IDENTIFIER, which ``events`` sets."""


@st.composite
def events(draw: st.DrawFn, count: int) -> tuple[forge.Event, ...]:
    """Draw ``count`` events; several of them carry IDENTIFIER, as perf arranges when their layouts differ."""
    out = []
    trailers = draw(st.sampled_from((set(), {"sample_id_all"}, {"sample_id_all"}))) if count == 1 else {"sample_id_all"}
    for index in range(count):
        bits = draw(st.lists(st.sampled_from(PLAIN_BITS), unique=True))
        weight = draw(st.sampled_from((0, k.WEIGHT, k.WEIGHT_STRUCT)))
        identifier = k.IDENTIFIER if count > 1 or draw(st.booleans()) else 0
        flags = trailers | set(draw(st.lists(st.sampled_from(OTHER_FLAGS), max_size=4)))
        out.append(
            forge.Event(
                name=f"event{index}",
                type=1,
                config=index,
                period=draw(st.integers(1, 2**40)),
                sample_type=sum(bits) | weight | identifier | k.TID,
                flags=frozenset(flags),
                ids=(10 * index + 1, 10 * index + 2),
                branch_sample_type=draw(BRANCH_TYPES),
                sample_regs_user=draw(st.integers(0, 2**24 - 1)),
                sample_stack_user=64,
                sample_regs_intr=draw(st.integers(0, 2**24 - 1)),
                size=draw(st.sampled_from((104, 112, 120, 128, 136))),
            )
        )
    return tuple(out)


OTHER_FLAGS = sorted(k.FLAG_BITS.keys() - {"sample_id_all"})
BRANCH_TYPES = st.sampled_from((0, k.BRANCH_HW_INDEX, k.BRANCH_COUNTERS, k.BRANCH_HW_INDEX | k.BRANCH_COUNTERS))


def registers(mask: int) -> st.SearchStrategy[forge.Registers]:
    count = mask.bit_count()
    values = st.lists(U64, min_size=count, max_size=count).map(tuple)
    general = st.builds(forge.Registers, st.integers(0, 2), values)
    return general | st.builds(forge.Registers, st.sampled_from((5, 6)), values, wide(4), wide(1))


def wide(words: int) -> st.SearchStrategy[tuple[tuple[int, ...], ...]]:
    """Draw a few registers of ``words`` words each."""
    return st.lists(st.tuples(*[U64] * words), max_size=3).map(tuple)


@st.composite
def samples(draw: st.DrawFn, described: tuple[forge.Event, ...]) -> forge.Sample:
    index = draw(st.integers(0, len(described) - 1))
    event = described[index]
    stack = draw(st.binary(max_size=64).map(lambda raw: raw[: len(raw) // 8 * 8]))
    return forge.Sample(
        event=index, mode=draw(st.integers(0, 5)), id=draw(st.sampled_from(event.ids)), ip=draw(ADDRESSES),
        pid=draw(IDS), tid=draw(IDS), time=draw(TIMES), addr=draw(U64), stream_id=draw(U64), cpu=draw(SMALL),
        period=draw(st.integers(0, 2**40)),
        chain=tuple(draw(st.lists(st.one_of(ADDRESSES, st.sampled_from(MARKERS)), max_size=8))),
        raw=draw(st.binary(max_size=20)),
        branches=tuple(draw(st.lists(st.builds(forge.Branch, ADDRESSES, ADDRESSES, cycles=SMALL), max_size=3))),
        regs_user=draw(registers(event.sample_regs_user)), stack=stack,
        stack_used=draw(st.integers(0, len(stack) // 8)) * 8, weight=draw(U64), data_src=draw(U64),
        transaction=draw(U64), regs_intr=draw(registers(event.sample_regs_intr)), phys_addr=draw(U64),
        cgroup=draw(U64), data_page_size=draw(U64), code_page_size=draw(U64), aux=draw(st.binary(max_size=9)),
    )  # fmt: skip


@st.composite
def side_band(draw: st.DrawFn, described: tuple[forge.Event, ...]) -> forge.Record:
    """Draw any record that is not a sample."""
    record = draw(st.one_of(*SIDE_BAND))
    index = draw(st.integers(0, len(described) - 1))
    stamp = forge.Stamp(draw(IDS), draw(IDS), draw(TIMES), draw(SMALL), draw(st.sampled_from(described[index].ids)))
    return replace(record, event=index, stamp=stamp)


SPANS = {"addr": st.integers(0x1000, 0x9000), "len": st.integers(1, 0x4000)}
SIDE_BAND: tuple[st.SearchStrategy[forge.Record], ...] = (
    st.builds(forge.Mmap, pid=IDS, tid=IDS, **SPANS, pgoff=U32, filename=NAMES),
    st.builds(forge.Mmap2, pid=IDS, tid=IDS, **SPANS, pgoff=U32, filename=NAMES, build_id=st.binary(max_size=20)),
    st.builds(forge.Comm, pid=IDS, tid=IDS, comm=NAMES, is_exec=st.booleans()),
    st.builds(forge.Fork, pid=IDS, ppid=IDS, tid=IDS, ptid=IDS, time=TIMES),
    st.builds(forge.Exit, pid=IDS, ppid=IDS, tid=IDS, ptid=IDS, time=TIMES),
    st.builds(forge.CallchainDeferred, cookie=U64, ips=st.lists(ADDRESSES, max_size=6).map(tuple)),
    st.builds(forge.Lost, id=IDS, lost=U32),
    st.builds(forge.LostSamples, lost=U32),
    st.builds(forge.Ksymbol, addr=U64, len=U32, name=NAMES, unregister=st.booleans()),
    st.builds(forge.Cgroup, id=U64, path=NAMES),
    st.builds(forge.Switch, is_out=st.booleans(), preempted=st.booleans()),
    st.builds(forge.Namespaces, pid=IDS, tid=IDS, links=st.lists(st.tuples(U64, U64), max_size=3).map(tuple)),
    st.builds(forge.Throttle, time=TIMES, lifted=st.booleans()),
    st.builds(forge.TextPoke, addr=U64, old=st.binary(max_size=5), new=st.binary(max_size=5)),
    st.builds(forge.BpfEvent, id=U32),
    st.builds(forge.Aux),
    st.builds(forge.ItraceStart, pid=IDS, tid=IDS),
    st.builds(forge.FinishedRound),
    st.builds(forge.TimeConv),
    st.builds(
        forge.Raw,
        type=st.sampled_from((23, 40, 63, 87, 200)),
        body=st.binary(max_size=32).map(lambda b: b[: len(b) // 8 * 8]),
    ),
)


@st.composite
def recordings(draw: st.DrawFn) -> tuple[forge.Session, list[forge.Record]]:
    """Draw a session and its records; write them with ``forge.write_file``."""
    described = draw(events(draw(st.integers(1, 3))))
    session = forge.Session(
        described, draw(st.sampled_from("<>")), draw(st.booleans()), zstd=draw(st.sampled_from((0, 0, 40, 1000)))
    )
    body = draw(st.lists(st.one_of(samples(described), side_band(described)), max_size=8))
    return session, body
