"""Hypothesis strategies: short histories of a few processes, with samples whose stacks depend on all of it."""

from dataclasses import replace

from hypothesis import strategies as st

from tests import forge
from tests.forge import kernel as k

KERNEL_TEXT = 0xFFFFFFFF81000000
THREADS = st.sampled_from([(pid, tid) for pid in (1, 2) for tid in (pid, pid + 10)])
"""(pid, tid): each process has a leader and one more thread."""
COOKIES = st.sampled_from([0x100000001 + (turn << 33) for turn in range(2)])
PAGES = st.integers(1, 8).map(lambda page: page << 12)
USER_IPS = st.lists(st.integers(0x1000, 0x9FFF), max_size=3).map(tuple)
KERNEL_IPS = st.lists(st.integers(KERNEL_TEXT - 16, KERNEL_TEXT + 0x1000), min_size=1, max_size=3).map(tuple)
FILES = st.sampled_from(["/bin/a", "/bin/b", "/lib/c.so", "//anon"])
COMMS = st.sampled_from(["one", "two", "three words", "zufällig"])
EVENT = forge.Event(
    sample_type=k.IP | k.TID | k.TIME | k.PERIOD | k.CALLCHAIN,
    flags=frozenset({"sample_id_all", "mmap", "comm", "task", "comm_exec", "defer_callchain", "defer_output"}),
)


@st.composite
def mmaps(draw: st.DrawFn) -> forge.Record:
    pid, tid = draw(THREADS)
    return forge.Mmap2(
        pid=pid, tid=tid, addr=draw(PAGES), len=draw(PAGES), pgoff=draw(PAGES), filename=draw(FILES), misc=k.USER
    )


@st.composite
def comms(draw: st.DrawFn) -> forge.Record:
    pid, tid = draw(THREADS)
    is_exec = draw(st.booleans())
    return forge.Comm(pid=pid, tid=pid if is_exec else tid, comm=draw(COMMS), is_exec=is_exec)


@st.composite
def forks(draw: st.DrawFn) -> forge.Record:
    parent, parent_tid = draw(THREADS)
    child, child_tid = draw(THREADS)
    if child != parent:
        child_tid = child
    synthesized = k.MISC_13 if draw(st.integers(0, 3)) == 0 else 0
    return forge.Fork(pid=child, ppid=parent, tid=child_tid, ptid=parent_tid, misc=synthesized)


@st.composite
def deferred(draw: st.DrawFn) -> forge.Record:
    return forge.CallchainDeferred(cookie=draw(COOKIES), ips=draw(USER_IPS))


@st.composite
def samples(draw: st.DrawFn) -> forge.Record:
    in_kernel, later = draw(st.booleans()), draw(st.booleans())
    inner = (k.CONTEXT_KERNEL, *draw(KERNEL_IPS)) if in_kernel else ()
    own = draw(USER_IPS)
    outer = (k.CONTEXT_USER_DEFERRED, draw(COOKIES)) if later else (k.CONTEXT_USER, *own)
    ip = inner[1] if in_kernel else (own[0] if own else 0x1234)
    return forge.Sample(
        mode=k.KERNEL if in_kernel else k.USER, ip=ip, chain=(*inner, *outer), period=draw(st.integers(1, 9))
    )


@st.composite
def histories(draw: st.DrawFn) -> list[forge.Record]:
    """Draw records with distinct times, in any file order."""
    kinds = st.one_of(mmaps(), mmaps(), comms(), forks(), deferred(), deferred(), samples(), samples(), samples())
    steps = draw(st.lists(kinds, min_size=8, max_size=24))
    text = forge.Mmap(
        pid=0xFFFFFFFF, tid=0, addr=KERNEL_TEXT, len=0x800, filename="[kernel.kallsyms]_text", misc=k.KERNEL
    )
    timed: list[forge.Record] = [text]
    for time, step in enumerate(steps, 1):
        pid, tid = draw(THREADS)
        stamped = replace(step, stamp=forge.Stamp(pid, tid, time))
        timed.append(replace(stamped, pid=pid, tid=tid, time=time) if isinstance(step, forge.Sample) else stamped)
    return draw(st.permutations(timed)) if draw(st.booleans()) else timed
