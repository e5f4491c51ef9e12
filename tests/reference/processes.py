"""The mappings of every process and the name of every thread over time."""

from dataclasses import dataclass, field
from types import SimpleNamespace

from tests.forge import kernel as k

Area = tuple[int, int, SimpleNamespace]
"""First address, first address past it, the mmap record it is from."""


@dataclass
class Processes:
    maps: dict[int, list[Area]] = field(default_factory=dict)
    before_exec: dict[int, list[Area]] = field(default_factory=dict)
    kernel: list[Area] = field(default_factory=list)
    comms: dict[int, str] = field(default_factory=lambda: {0: "swapper"})

    def apply(self, record: SimpleNamespace) -> None:
        """Take notice of one record; they must come in time order."""
        handler = getattr(self, "_" + record.kind.lower(), None)
        if handler:
            handler(record)

    def find(self, pid: int, address: int, mode: int, inside: bool = False) -> SimpleNamespace | None:
        """The mmap record whose area holds the address now.

        ``inside``: a user address recorded while the kernel ran. Inside execve the registers that it comes from are
        still the old program's when its maps are already gone.
        """
        if mode == k.KERNEL:
            return _holding(self.kernel, address) or self._beyond_text(address)
        if mode != k.USER:
            return None
        old = self.before_exec.get(pid, []) if inside else []
        return _holding(self.maps.get(pid, []), address) or _holding(old, address)

    def _beyond_text(self, address: int) -> SimpleNamespace | None:
        """The kernel's map covers _text to _etext; .init.text, where swapper's stacks begin, lies behind it."""
        texts = [mmap for _, _, mmap in self.kernel if mmap.filename.startswith("[kernel.kallsyms]")]
        return next((mmap for mmap in texts if address >= mmap.addr), None)

    def _mmap(self, record: SimpleNamespace) -> None:
        if record.pid == -1 or record.mode == k.KERNEL:
            self.kernel = _over(self.kernel, record)
        else:
            self.maps[record.pid] = _over(self.maps.get(record.pid, []), record)

    _mmap2 = _mmap

    def _fork(self, record: SimpleNamespace) -> None:
        if record.pid != record.ppid:
            parents = [] if record.is_exec else self.maps.get(record.ppid, [])
            self.maps[record.pid] = list(parents)
            self.before_exec.pop(record.pid, None)
        self.comms.pop(record.tid, None)
        if record.ptid in self.comms:
            self.comms[record.tid] = self.comms[record.ptid]

    def _comm(self, record: SimpleNamespace) -> None:
        self.comms[record.tid] = record.comm
        if record.is_exec:
            self.before_exec[record.pid] = self.maps.get(record.pid, [])
            self.maps[record.pid] = []


def _holding(areas: list[Area], address: int) -> SimpleNamespace | None:
    return next((mmap for start, end, mmap in areas if start <= address < end), None)


def _over(areas: list[Area], record: SimpleNamespace) -> list[Area]:
    """A new mapping on top: what it covers goes, what sticks out on either side stays."""
    low, high = record.addr, record.addr + record.len
    kept: list[Area] = []
    for start, end, mmap in areas:
        if start < low:
            kept.append((start, min(end, low), mmap))
        if end > high:
            kept.append((max(start, high), end, mmap))
    return [area for area in kept if area[0] < area[1]] + [(low, high, record)]
