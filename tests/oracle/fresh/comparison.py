"""Holds a recording's samples, sums, losses, threads, times and folded stacks against perf's."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perf2x.model.profile.synthetic_frames import ROOT_FRAME_NAMES
from tests.oracle.fresh.known import FRAME, ONES, Recorded, frame_rule, name_rule, stack_rule
from tests.oracle.fresh.recording import FIELDS, Commands, Tasks
from tests.support.against_perf import PERF_MAP

HEAD = re.compile(
    r"^(?P<comm>.*?)\s+(?P<pid>-?\d+)/(?P<tid>-?\d+)\s+(?P<cpu>\[\d+\]\s+)?(?:(?P<time>\d+\.\d+):\s+)?"
    r"(?:(?P<period>\d+)\s+)?(?P<event>\S+):(?P<rest>(?:\s.*)?)$"
)
FLAT = re.compile(r"(?<![0-9a-fx])(?P<column>[ 0-9a-f]{15}[0-9a-f]) " + FRAME.pattern.partition(") ")[2])
"""A frame behind other text: its address fills a column of 16."""
REASONS = set(ROOT_FRAME_NAMES.values())


@dataclass
class Sample:
    """One printed sample: ``rest`` is the text behind the event's name; ``frames`` innermost first."""

    comm: str
    pid: int
    tid: int
    cpu: str | None
    time: int | None
    period: int | None
    event: str
    rest: str
    frames: list[str] = field(default_factory=list)

    @property
    def key(self) -> tuple[object, ...]:
        return self.pid, self.tid, self.cpu, self.time, self.period, self.event


@dataclass
class Findings:
    """Samples compared, differences that a rule knows, those that none does, and those in frames of other programs."""

    samples: int = 0
    known: Counter[str] = field(default_factory=Counter)
    elsewhere: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)

    def differ(self, kind: str, perf: object, ours: object) -> None:
        """Count a difference without a rule; the first of its kind is kept."""
        self.unknown[kind] += 1
        self.examples.setdefault(kind, f"perf:   {perf}\nperf2x: {ours}")

    def add(self, pair: "Findings", is_strange: bool) -> None:
        """Add what two samples differ in; frames of strange programs, of which no rule need know, are told apart."""
        self.known += pair.known
        for kind, count in pair.unknown.items():
            is_elsewhere = is_strange and kind in {"frame", "length of a stack"}
            self.examples.setdefault(name := kind + " of another program" * is_elsewhere, pair.examples[kind])
            (self.elsewhere if is_elsewhere else self.unknown)[name] += count

    def rule(self, kind: str, rule: str | None, perf: object, ours: object) -> None:
        """Count a difference under its rule, if it has one."""
        if rule:
            self.known[rule] += 1
        else:
            self.differ(kind, perf, ours)

    def equal(self, kind: str, perf: object, ours: object) -> None:
        """Count a difference if there is one."""
        if perf != ours:
            self.differ(kind, perf, ours)


def compare(commands: Commands, recordings: list[Path], found: Findings) -> None:
    """Compare each file of a recording, and what collapsing all of them counts."""
    folded = Counter[str]()
    for path in recordings:
        lines, tasks = commands.samples_by_perf(path)
        perf = list(samples(lines))
        if not perf:
            continue
        ours = _samples_by_perf2x(commands, path)
        found.samples += len(perf)
        _sample_by_sample(perf, ours, _Judge(tasks, commands.shell(path), Recorded(path)), found)
        info = json.loads(commands.ask(path.parent, "info", path.name, "--json"))
        _summary(info, perf, commands.losses_by_perf(path), found)
        folds = Counter(fold(sample) for sample in ours)
        folded += folds
        got = _without_reasons(commands.folds(path.parent, [path.name]))
        if got != folds:  # a program may have gone from this machine in between, and its names with it
            folds = Counter(fold(sample) for sample in _samples_by_perf2x(commands, path))
        for stack in sorted((folds - got) | (got - folds)):
            found.differ("folded stacks", f"{folds[stack]} {stack} (as script prints)", got[stack])
    if len(recordings) > 1 and folded:
        together = commands.folds(recordings[0].parent, [path.name for path in recordings])
        found.equal("samples of all files", folded.total(), together.total())


def _samples_by_perf2x(commands: Commands, path: Path) -> list[Sample]:
    return list(samples(commands.ask(path.parent, "script", path.name, "--ns", *FIELDS).split("\n")))


def samples(lines: Iterable[str]) -> Iterator[Sample]:
    """Samples of perf script's text."""
    last: Sample | None = None
    for line in lines:
        if line.startswith("\t") and last is not None:
            last.frames.append(line.strip())
        elif line.strip():
            if last is not None:
                yield last
            last = _sample(line)
    if last is not None:
        yield last


def _sample(line: str) -> Sample:
    head = HEAD.match(line)
    if head is None:
        raise ValueError(f"no sample: {line!r}")
    time, period, rest = head["time"], head["period"], head["rest"]
    flat = FLAT.search(rest)
    frames = [] if flat is None else [flat["column"].split()[-1] + flat[0][16:]]
    return Sample(
        head["comm"].strip(), int(head["pid"]), int(head["tid"]), head["cpu"] and head["cpu"].strip(),
        int(time.replace(".", "")) if time else None, int(period) if period else None, _event(head["event"]),
        " ".join(rest[: flat.start() if flat else None].split()), frames,
    )  # fmt: skip


def _event(name: str) -> str:
    """Return the name without ``:H``, which 7.2 prints of events that no one named, and 6.1 does not."""
    return name.removesuffix(":H")


def _sample_by_sample(perf: list[Sample], ours: list[Sample], judge: "_Judge", found: Findings) -> None:
    """Pair samples of one thread, time and event; of several, those that differ least of the next few."""
    waiting = defaultdict[object, list[Sample]](list)
    for sample in ours:
        waiting[sample.key].append(sample)
    for sample in perf:
        candidates = waiting[sample.key][:9]
        if not candidates:
            found.differ("sample that perf2x does not have", sample, None)
            continue
        results = []
        for candidate in candidates:
            results.append(judge.pair(sample, candidate))
            if not results[-1].unknown:
                break
        best = min(results, key=lambda result: result.unknown.total())
        waiting[sample.key].pop(results.index(best))
        found.add(best, judge.is_strange(sample))
    for rest in waiting.values():
        for sample in rest:
            found.differ("sample that perf does not have", None, sample)


class _Judge:
    """Differences of two samples, and the rules that know them."""

    def __init__(self, tasks: Tasks, shell: int, recorded: Recorded) -> None:
        self._tasks = tasks
        self._shell = shell
        self._recorded = recorded

    def is_strange(self, sample: Sample) -> bool:
        return self._tasks.is_stranger(sample.pid, self._shell)

    def pair(self, perf: Sample, ours: Sample) -> Findings:
        result = Findings()
        if perf.comm != ours.comm:
            had = self._tasks.names[perf.tid] | self._tasks.names[perf.pid]
            result.rule("name of a thread", name_rule(perf.comm, ours.comm, perf.tid, had), perf, ours)
        result.equal("text behind the event", perf.rest, ours.rest)
        if len(perf.frames) != len(ours.frames) or ONES in perf.frames:
            sample = self._recorded.sample(perf.tid, perf.time)
            rule = stack_rule(perf.frames, ours.frames, sample, self._recorded)
            result.rule("length of a stack", rule, perf, ours)
        for row, (one, other) in enumerate(zip(perf.frames, ours.frames, strict=False)):
            if one not in (other, ONES) and not result.unknown:
                is_bare = "([unknown])" in one
                unmapped = self._recorded.why_unmapped(perf.pid, perf.tid, perf.time) if is_bare else None
                rule = frame_rule(one, other, row > 0, self._recorded, unmapped)
                result.rule("frame", rule, f"{perf.key} {one}", f"frame {row}: {other}")
        return result


def _summary(info: Any, perf: list[Sample], lost: int, found: Findings) -> None:
    """Counts and sums of each event, losses, threads and the time span."""
    counts = Counter(sample.event for sample in perf)
    sums = Counter[str]()
    for sample in perf:
        sums[sample.event] += sample.period or 0
    ours = Counter[str]()
    values = Counter[str]()
    for event in info["events"]:
        ours[_event(event["name"])] += event["samples"]
        values[_event(event["name"])] += event["value"]
    found.equal("counts of events", +counts, +ours)
    found.equal("sums of periods", +sums, Counter({name: values[name] for name in +sums}))
    losses = {one["name"]: one["count"] for one in info["diagnostics"]}
    found.equal("lost samples", lost, losses.get("lost_samples", 0))
    found.equal("threads", len({(sample.pid, sample.tid) for sample in perf}), info["threads"])
    times = [sample.time for sample in perf if sample.time is not None]
    if times:
        found.equal("time span", max(times) - min(times), info["duration_ns"])


def _without_reasons(folds: Counter[str]) -> Counter[str]:
    """Return stacks without the frames that say why a stack is not whole, which script does not print."""
    whole = Counter[str]()
    for stack, count in folds.items():
        whole[";".join(name for name in stack.split(";") if name not in REASONS)] += count
    return whole


def fold(sample: Sample) -> str:
    """Return the line of a sample as collapsed has it."""
    names = [_shown(frame) for frame in reversed(sample.frames)] or ["[no stack]"]
    return ";".join([sample.comm.replace(" ", "_"), *names])


def _shown(text: str) -> str:
    frame = FRAME.search(text)
    assert frame, text
    if frame["symbol"] != "[unknown]":
        return frame["symbol"].replace(";", ":")
    if PERF_MAP.match(frame["dso"]):
        return "[anon]"
    return frame["dso"] if frame["dso"].startswith("[") else f"[{frame['dso'].rpartition('/')[2]}]"
