"""Recording → for each sample its event, thread and whole stack, outermost frame first."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import NamedTuple

from tests.forge import kernel as k
from tests.reference.decode import Event, Recording
from tests.reference.deferred import Joiner, cookie_of
from tests.reference.processes import Processes


class Frame(NamedTuple):
    address: int
    mapping: str | None
    mode: int


MISSING = Frame(0, "[user stack missing]", 0)


@dataclass
class Stack:
    """One sample, completed as far as the file allows."""

    sample: SimpleNamespace
    event: Event
    period: int
    comm: str = ""
    record: SimpleNamespace | None = None
    """The deferred chain that completed it."""
    missing: bool = False
    frames: list[Frame] = field(default_factory=list)

    @property
    def key(self) -> tuple[str, int | None, int, int]:
        return self.event.name, self.sample.time, self.sample.pid, self.sample.tid


def stitch(recording: Recording) -> list[Stack]:
    """Every sample, in time order (file order when there are no times); groups expanded as perf counts them."""
    joiner = Joiner(recording.records)
    stacks = [_stack(sample, event, period, joiner) for sample, event, period in expanded(recording)]
    questions = [question for stack in stacks for question in _questions(stack)]
    _sweep(recording, questions)
    return stacks


def moment(record: SimpleNamespace) -> tuple[int, int]:
    return record.time or 0, record.at


def expanded(recording: Recording) -> Iterator[tuple[SimpleNamespace, Event, int]]:
    """A sample with read values stands for one sample of each member whose count has moved (deliver_sample_value)."""
    owners = {ident: event for event in recording.events for ident in event.ids}
    before: dict[tuple[int | None, int], int] = defaultdict(int)
    for sample in sorted(recording.of("SAMPLE"), key=moment):
        if sample.read is None:
            yield sample, sample.event, sample.period
            continue
        for ident, value in sample.read:
            owner = owners.get(ident if ident is not None else sample.id)
            per_thread = sample.tid if owner and "inherit" in owner.flags else 0
            period = value - before[ident, per_thread]
            before[ident, per_thread] = value
            if owner is not None and period:
                yield sample, owner, period % 2**64


def _stack(sample: SimpleNamespace, event: Event, period: int, joiner: Joiner) -> Stack:
    stack = Stack(sample, event, period, record=joiner.record_for(sample))
    stack.missing = cookie_of(sample) is not None and stack.record is None
    return stack


Question = tuple[tuple[int, int], Callable[[Processes], None]]


def _questions(stack: Stack) -> Iterator[Question]:
    """Determine what to look up, and when: the kernel part with the sample, a deferred user part with its record."""
    sample, record = stack.sample, stack.record
    inner = list(_marked(sample, record is not None))
    outer = [(ip, k.USER) for ip in record.ips if ip < k.CONTEXT_MAX] if record else []
    own: list[Frame] = []
    deferred: list[Frame] = [MISSING] if stack.missing else []

    def at_sample(processes: Processes) -> None:
        stack.comm = processes.comms.get(sample.tid, f":{sample.tid}")
        inside = sample.mode == k.KERNEL
        own.extend(_frame(processes, sample.pid, address, mode, inside) for address, mode in inner)
        stack.frames = [*reversed(deferred), *reversed(own)]

    def at_record(processes: Processes) -> None:
        deferred.extend(_frame(processes, sample.pid, address, mode) for address, mode in outer)
        stack.frames = [*reversed(deferred), *reversed(own)]

    yield moment(sample), at_sample
    if record:
        yield moment(record), at_record


def _marked(sample: SimpleNamespace, joined: bool) -> Iterator[tuple[int, int]]:
    """(address, mode) of a recorded chain, innermost first, without markers and cookie.

    Where there is no chain at all, the sample's own address is what is known.
    """
    chain = sample.chain[:-2] if cookie_of(sample) is not None else sample.chain
    if not chain and not joined and sample.ip is not None:
        yield sample.ip, sample.mode
    modes = {
        k.CONTEXT_HV: k.HYPERVISOR, k.CONTEXT_KERNEL: k.KERNEL, k.CONTEXT_USER: k.USER,
        k.CONTEXT_GUEST: k.GUEST_KERNEL, k.CONTEXT_GUEST_KERNEL: k.GUEST_KERNEL,
        k.CONTEXT_GUEST_USER: k.GUEST_USER,
    }  # fmt: skip
    mode = sample.mode
    for word in chain:
        if word >= k.CONTEXT_MAX:
            mode = modes.get(word, mode)
        else:
            yield word, mode


def _frame(processes: Processes, pid: int, address: int, mode: int, inside: bool = False) -> Frame:
    mmap = processes.find(pid, address, mode, inside)
    return Frame(address, mmap.filename if mmap else None, mode)


def _sweep(recording: Recording, questions: list[Question]) -> None:
    """Let time go by: what happens at a moment comes before what is asked at it."""
    processes = Processes()
    steps: list[Question] = [
        (moment(record), lambda state, record=record: state.apply(record))  # type: ignore[misc]
        for record in recording.records
        if record.kind != "SAMPLE"
    ]
    for _, step in sorted(steps + questions, key=lambda step: step[0]):
        step(processes)
