"""Reads the text of ``perf script`` back into samples."""

import lzma
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

HEADER = re.compile(
    r"^(?P<comm>.*?)\s+(?P<tid>-?\d+)\s+(?:\[(?P<cpu>\d+)\]\s+)?(?:(?P<time>\d+\.\d+):\s+)?"
    r"(?:(?P<period>\d+)\s+)?(?P<event>\S+):(?:\s.*)?$"
)
FRAME = re.compile(r"^\s+(?P<address>[0-9a-f]+) (?P<symbol>.*?)(?:\+0x(?P<offset>[0-9a-f]+))? \((?P<dso>.*)\)$")


class Frame(NamedTuple):
    address: int
    symbol: str
    offset: int | None
    dso: str

    @property
    def inlined(self) -> bool:
        return self.dso == "inlined"


@dataclass
class Block:
    """One printed sample; ``frames`` innermost first, ``time`` in microseconds or None, as perf prints it."""

    comm: str
    tid: int
    time: int | None
    period: int | None
    event: str
    frames: list[Frame] = field(default_factory=list)

    @property
    def key(self) -> tuple[int, int | None, str]:
        return self.tid, self.time, self.event

    @property
    def cookie(self) -> int | None:
        """The cookie that perf shows as if it were an address, when it could not complete the sample.

        It counts CPUs from 1 in its low half and is odd in its high half (linux/unwind_deferred_types.h), has no
        symbol and no object, and is the outermost frame.
        """
        last = self.frames[-1] if self.frames else None
        if last is None or last.dso != "[unknown]":
            return None
        looks_like_one = last.address >> 32 & 1 and 0 < last.address & 0xFFFFFFFF < 1 << 12
        return last.address if last.symbol == "(cookie)" or looks_like_one else None


@lru_cache(maxsize=8)
def read_blocks(path: Path) -> list[Block]:
    """Every sample of a stored answer, plain or ``.xz``."""
    raw = path.read_bytes()
    text = (lzma.decompress(raw) if path.suffix == ".xz" else raw).decode("utf-8", "surrogateescape")
    return list(parse(text.split("\n")))


def parse(lines: Iterable[str]) -> Iterator[Block]:
    block: Block | None = None
    for line in lines:
        if not line.strip():
            continue
        frame = FRAME.match(line) if line[0] == "\t" else None
        if frame and block:
            offset = frame["offset"]
            block.frames.append(
                Frame(int(frame["address"], 16), frame["symbol"], int(offset, 16) if offset else None, frame["dso"])
            )
        elif header := HEADER.match(line):
            if block:
                yield block
            block = _block(header)
        else:
            raise ValueError(f"neither a sample nor a frame: {line!r}")
    if block:
        yield block


def _block(header: re.Match[str]) -> Block:
    time, period = header["time"], header["period"]
    return Block(
        header["comm"].lstrip(), int(header["tid"]), int(time.replace(".", "")) if time else None,
        int(period) if period else None, header["event"],
    )  # fmt: skip
