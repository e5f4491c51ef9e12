"""Times of a conversion's stages, for ``--profile-stages`` and the benchmark."""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from msgspec import Struct, field

Item = TypeVar("Item")


class Stages(Struct):
    """Seconds of wall time and CPU time by stage, in the order in which the stages were first entered."""

    wall: dict[str, float] = field(default_factory=dict)
    processor: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the time of the body to a stage; stages do not nest."""
        wall, processor = time.perf_counter(), time.process_time()
        try:
            yield
        finally:
            self.wall[name] = self.wall.get(name, 0.0) + time.perf_counter() - wall
            self.processor[name] = self.processor.get(name, 0.0) + time.process_time() - processor

    def each(self, name: str, items: Iterable[Item]) -> Iterator[Item]:
        """Yield ``items``, adding the time to produce them to a stage."""
        iterator = iter(items)
        while True:
            with self.stage(name):
                try:
                    item = next(iterator)
                except StopIteration:
                    return
            yield item

    def absorb(self, other: "Stages") -> None:
        """Add the times of a parallel process: its CPU time, and its wall time if that was longer."""
        for name, processor in other.processor.items():
            self.processor[name] = self.processor.get(name, 0.0) + processor
            self.wall[name] = max(self.wall.get(name, 0.0), other.wall[name])

    def lines(self) -> Iterator[str]:
        """Yield one line per stage, and their sum."""
        yield f"{'stage':<12}{'wall s':>9}{'cpu s':>9}"
        for name, wall in [*self.wall.items(), ("all", sum(self.wall.values()))]:
            processor = self.processor.get(name, sum(self.processor.values()))
            yield f"{name:<12}{wall:>9.3f}{processor:>9.3f}"
