"""perf2x convert --to top: the functions that cost most, as plain text. A whole output format in forty lines."""

from collections import Counter
from dataclasses import dataclass
from typing import BinaryIO, ClassVar

from perf2x.plugins import Needs, Profile, option


@dataclass(frozen=True, slots=True)
class Top:
    """The functions that cost most, as plain text."""

    suffix: ClassVar[str] = ".top.txt"
    needs: ClassVar[Needs] = Needs()  # samples summed per stack will do

    lines: int = option(0, "how many functions to list; 0: all of them")

    def emit(self, profile: Profile, out: BinaryIO) -> None:
        """One line per function: what it cost itself, its share, its name."""
        cost: Counter[str] = Counter()
        for stack, value in zip(profile.samples.stack.tolist(), profile.samples.value.tolist(), strict=True):
            cost[self.leaf(profile, stack)] += value
        total = sum(cost.values()) or 1
        ranked = sorted(cost.items(), key=lambda entry: (-entry[1], entry[0]))
        for name, value in ranked[: self.lines or None]:
            out.write(f"{value:>16} {value / total:>7.2%}  {name}\n".encode(errors="backslashreplace"))

    @staticmethod
    def leaf(profile: Profile, stack: int) -> str:
        """The innermost function of a stack: the first line of its innermost location."""
        if stack < 0:
            return "(no stack)"
        locations, location = profile.locations, profile.stacks.location[stack]
        first, end = locations.line_offsets[location : location + 2]
        if first == end:
            return f"{int(locations.address[location]):#x}"
        name: str = profile.strings[profile.functions.name[locations.line_function[first]]]
        return " ".join(name.split())
