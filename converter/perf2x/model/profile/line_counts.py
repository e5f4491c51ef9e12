"""Counts of functions' lines, as compilers read them: a tree of functions and of what was inlined into them."""

from msgspec import Struct, field

Place = tuple[int, int]
"""Line, counted from the one where its function is declared (modulo 2¹⁶), and base discriminator."""


class LineCount(Struct):
    """One place in a function: how often it ran, and which functions it called how often."""

    count: int = 0
    calls: dict[str, int] = field(default_factory=dict)


class FunctionCounts(Struct):
    """A function, or one inlined instance of it."""

    name: str
    """Linkage name."""
    total: int = 0
    """Bytes of code that ran, each as often as it did; of plain samples their number."""
    entered: int = 0
    """Branches to its start; 0 of inlined instances."""
    lines: dict[Place, LineCount] = field(default_factory=dict)
    inlined: dict[Place, dict[str, "FunctionCounts"]] = field(default_factory=dict)

    def line(self, place: Place) -> LineCount:
        """Return the counts of a place, added where it is new."""
        return self.lines.setdefault(place, LineCount())

    def instance(self, place: Place, name: str) -> "FunctionCounts":
        """Return the instance that was inlined at a place, added where it is new."""
        return self.inlined.setdefault(place, {}).setdefault(name, FunctionCounts(name))

    def add(self, other: "FunctionCounts") -> None:
        """Add the counts of the same function in another recording."""
        self.total += other.total
        self.entered += other.entered
        for place, count in other.lines.items():
            mine = self.line(place)
            mine.count += count.count
            for name, calls in count.calls.items():
                mine.calls[name] = mine.calls.get(name, 0) + calls
        for place, instances in other.inlined.items():
            for name, instance in instances.items():
                self.instance(place, name).add(instance)
