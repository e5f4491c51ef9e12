"""Times of a conversion's stages, for ``--profile-stages`` and the benchmark."""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from msgspec import Struct, field

Item = TypeVar("Item")


class Stages(Struct):
    """Seconds of wall time and of CPU time by stage, in the order in which they first ran."""

    wall: dict[str, float] = field(default_factory=dict)
    cpu: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the time of the ``with`` block to a stage; nested blocks would count time twice."""
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            yield
        finally:
            self.wall[name] = self.wall.get(name, 0.0) + time.perf_counter() - wall
            self.cpu[name] = self.cpu.get(name, 0.0) + time.process_time() - cpu

    def timed_items(self, name: str, items: Iterable[Item]) -> Iterator[Item]:
        """Yield ``items``, and add the time that it takes to produce them to a stage."""
        iterator = iter(items)
        while True:
            with self.stage(name):
                try:
                    item = next(iterator)
                except StopIteration:
                    return
            yield item

    def absorb(self, other: "Stages") -> None:
        """Add the CPU times of a process that ran in parallel; of two wall times of a stage, keep the longer one."""
        for name, cpu in other.cpu.items():
            self.cpu[name] = self.cpu.get(name, 0.0) + cpu
            self.wall[name] = max(self.wall.get(name, 0.0), other.wall[name])

    def lines(self) -> Iterator[str]:
        """Yield a table: a heading, each stage, and the sum."""
        yield f"{'stage':<12}{'wall s':>9}{'cpu s':>9}"
        for name, wall in [*self.wall.items(), ("all", sum(self.wall.values()))]:
            cpu = self.cpu.get(name, sum(self.cpu.values()))
            yield f"{name:<12}{wall:>9.3f}{cpu:>9.3f}"
