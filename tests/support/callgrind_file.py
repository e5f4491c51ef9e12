"""A reader of Callgrind's format that follows KCachegrind: names, costs, and what it would show as inclusive."""

import re
from collections import defaultdict
from dataclasses import dataclass, field

Function = tuple[str, str, str]
"""(name, file, object), "" for what is not known."""
Costs = tuple[int, ...]
_NUMBERED = re.compile(r"\((\d+)\)(?: (.+))?")


@dataclass
class CallgrindFile:
    """Contents of a file."""

    header: dict[str, list[str]]
    own: dict[tuple[Function, str, int], Costs] = field(default_factory=dict)
    """By function, file and line."""
    calls: dict[tuple[Function, str, int, Function], tuple[int, Costs]] = field(default_factory=dict)
    """Number of calls and inclusive costs, by the caller's place and the called function."""
    instructions: dict[tuple[Function, int], Costs] = field(default_factory=dict)
    """Self cost of each instruction, where the file has their addresses."""
    callers: dict[tuple[Function, int], Costs] = field(default_factory=dict)
    """Inclusive cost of the calls of each instruction, where the file has their addresses."""

    @property
    def events(self) -> list[str]:
        """Names of the columns."""
        return self.header["events"][0].split()

    @property
    def summary(self) -> Costs:
        """Sum of all, as the file states it."""
        return tuple(map(int, self.header["summary"][0].split()))

    def own_costs(self) -> dict[Function, Costs]:
        """Self cost of each function."""
        return _summed(((function, costs) for (function, _, _), costs in self.own.items()), len(self.events))

    def inclusive(self) -> dict[Function, Costs]:
        """Calls of a function by others; of one that is not called its own costs and those of its calls."""
        width = len(self.events)
        called = _summed(
            ((callee, costs) for (caller, _, _, callee), (_, costs) in self.calls.items() if caller != callee), width
        )
        below = [(caller, costs) for (caller, _, _, callee), (_, costs) in self.calls.items() if caller != callee]
        roots = _summed([*below, *self.own_costs().items()], width)
        return roots | called


def _summed(pairs, width: int) -> dict[Function, Costs]:
    result = defaultdict(lambda: (0,) * width)
    for key, costs in pairs:
        result[key] = tuple(map(sum, zip(result[key], costs, strict=True)))
    return dict(result)


def read_callgrind(data: bytes) -> CallgrindFile:
    """Read a file with lines, maybe instructions, as positions; ValueError for what KCachegrind calls an error."""
    first, *lines = data.decode().split("\n")
    if first != "# callgrind format" or lines.pop():
        raise ValueError("no callgrind file, or a cut one")
    return _Reader().read(iter(lines))


class _Reader:
    def __init__(self) -> None:
        self.file = CallgrindFile(defaultdict(list))
        self.names: dict[str, dict[str, object]] = {"ob": {}, "fl": {}, "fn": {}}
        self.now = {"ob": "", "fl": "", "cob": None, "cfi": None}
        self.function: Function | None = None
        self.called: Function | None = None
        self.count = 0
        self.seen: set[object] = set()

    def read(self, lines) -> CallgrindFile:
        for line in lines:
            if found := re.fullmatch(r"([a-z]+): (.*)", line):
                self.file.header[found[1]].append(found[2])
            elif found := re.fullmatch(r"([a-z]+)=(.*)", line):
                self._word(found[1], found[2])
            elif re.fullmatch(r"(0x[0-9a-f]+ )?\d+( \d+)+", line):
                address = line.partition(" ")[0] if self.file.header["positions"] == ["instr line"] else ""
                self._costs(int(address or "0", 16), *map(int, line.removeprefix(address).split()))
            else:
                raise ValueError(f"no such line: {line[:40]}")
        if self.count:
            raise ValueError("a call without a cost")
        return self.file

    def _word(self, word: str, value: str) -> None:
        if word == "calls":
            self.count = int(value.split()[0])
            if not self.count or self.called is None:
                raise ValueError("no call")
        elif word in ("fn", "cfn"):
            self._functions(word, value)
        else:
            kind = {"ob": "ob", "cob": "ob", "fl": "fl", "fi": "fl", "cfi": "fl"}[word]
            name = self._name(kind, value, lambda text: "" if text == "???" else text)
            self.now["fl" if word == "fi" else word] = name
            if word in ("ob", "fl"):
                self.function = None
            elif word == "fi" and self.function is None:
                raise ValueError("fi= outside a function")

    def _functions(self, word: str, value: str) -> None:
        if word == "fn":
            self.function = self._name("fn", value, lambda text: (text, self.now["fl"], self.now["ob"]))
            if self.function[1:] != (self.now["fl"], self.now["ob"]):
                raise ValueError("a function in two files or objects")
            return
        own = self.function
        file, thing = self.now["cfi"], self.now["cob"]
        held = own[2] if thing is None else thing
        self.called = self._name("fn", value, lambda text: (text, own[1] if file is None else file, held))
        if file is not None and self.called[1] != file:
            raise ValueError("a called function in two files")
        self.now["cfi"] = self.now["cob"] = None

    def _name(self, kind: str, value: str, make) -> object:
        found = _NUMBERED.fullmatch(value)
        if not found:
            raise ValueError(f"no number: {value[:40]}")
        known = self.names[kind]
        if found[2] is None:
            return known[found[1]]
        if found[1] in known or int(found[1]) != len(known) + 1:
            raise ValueError(f"number {found[1]} again")
        known[found[1]] = make(found[2])
        return known[found[1]]

    def _costs(self, address: int, line: int, *costs: int) -> None:
        if len(costs) != len(self.file.events) or self.function is None:
            raise ValueError("costs of nothing, or too many")
        place = (self.function, self.now["fl"], line)
        called = self.called if self.count else None
        if (place, called, address) in self.seen:
            raise ValueError("a place twice")
        self.seen.add((place, called, address))
        if self.count:
            key, none = (*place, called), (0, (0,) * len(costs))
            count, before = self.file.calls.get(key, none)
            self.file.calls[key] = count + self.count, _sum(before, costs)
        else:
            self.file.own[place] = _sum(self.file.own.get(place, costs[:0]), costs)
        instructions = self.file.callers if self.count else self.file.instructions
        at = self.function, address
        instructions[at] = _sum(instructions.get(at, costs[:0]), costs)
        self.count = 0


def _sum(before: Costs, costs: Costs) -> Costs:
    return tuple(map(sum, zip(before, costs, strict=True))) if before else costs
