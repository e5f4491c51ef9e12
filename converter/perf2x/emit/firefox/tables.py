"""The tables inside a thread of Firefox Profiler's format: each thread has its own, with only what it uses."""

import numpy as np
from msgspec import Struct

from perf2x.abi.uapi import CpuMode
from perf2x.analysis.frames import LocationFrames, are_jit
from perf2x.columnar.arrays import I64
from perf2x.columnar.unique import unique_inverse
from perf2x.emit.flame.frame_tree import FrameRows, with_callers
from perf2x.tables.output_text import one_line
from perf2x.tables.profile import Profile

CATEGORIES = (("Other", "grey"), ("User", "yellow"), ("Kernel", "orange"), ("JIT", "blue"), ("Guest", "purple"))
"""Name and colour; frames point at them by index. The viewer knows these colours and no others."""


class FrameTexts(Struct, frozen=True):
    """Text and category of each frame of the profile, made once for all threads."""

    name: list[str]
    object: list[str]
    file: list[str]
    category: I64
    inlined: I64


def frame_texts(profile: Profile, frames: LocationFrames) -> FrameTexts:
    """Texts and categories of all frames."""
    by_mode = {int(CpuMode.USER): 1, int(CpuMode.KERNEL): 2, int(CpuMode.GUEST_KERNEL): 4, int(CpuMode.GUEST_USER): 4}
    files = [one_line(profile.strings[row]) for row in profile.functions.filename]
    is_jit = are_jit(profile, frames)
    category = [
        0 if frames.function[row] < 0 else 3 if is_jit[row] else by_mode.get(int(frames.mode[row]), 0)
        for row in range(len(frames))
    ]
    return FrameTexts(
        [one_line(name) for name in frames.name],
        [one_line(name) for name in frames.object],
        [files[row] if row >= 0 else "" for row in frames.function.tolist()],
        np.array(category, np.int64),
        frames.inlined.astype(np.int64),
    )


class ThreadTables:
    """frameTable, funcTable, resourceTable, stackTable and the texts of one thread, cut down to its own rows.

    ``leaf``: frame row of each sample, −1 for none; ``stack``: its row in this thread's stackTable.
    """

    def __init__(self, texts: FrameTexts, rows: FrameRows, leaf: I64) -> None:
        self.texts, self.rows, self.leaf = texts, rows, leaf
        self._used: I64 = with_callers(rows.parent, leaf)
        self.stack: I64 = np.where(leaf >= 0, np.searchsorted(self._used, leaf), -1)
        self._strings: dict[str, int] = {}

    def intern(self, text: str) -> int:
        """Row of a text in stringArray."""
        return self._strings.setdefault(text, len(self._strings))

    def strings(self) -> list[str]:
        """All texts that were interned."""
        return list(self._strings)

    def tables(self) -> dict[str, object]:
        """The tables, as members of the thread's object."""
        frames, frame = unique_inverse(self.rows.frame[self._used])
        objects = sorted({self.texts.object[row] for row in frames.tolist()} - {""})
        above = self.rows.parent[self._used]
        category = self.texts.category[frames]
        stacks = {
            "length": len(frame),
            "prefix": with_nulls(np.where(above >= 0, np.searchsorted(self._used, above), -1)),
            "frame": frame.tolist(),
            "category": category[frame].tolist(),
            "subcategory": [0] * len(frame),
        }
        return {
            "stackTable": stacks,
            "frameTable": self._frame_table(frames, category),
            "funcTable": self._func_table(frames, objects),
            "resourceTable": self._resource_table(objects),
            "nativeSymbols": {"length": 0, "libIndex": [], "address": [], "name": [], "functionSize": []},
        }

    def _frame_table(self, frames: I64, category: I64) -> dict[str, object]:
        count, none = len(frames), [None] * len(frames)
        return {
            "length": count,
            "address": [-1] * count,
            "inlineDepth": self.texts.inlined[frames].tolist(),
            "category": category.tolist(),
            "subcategory": [0] * count,
            "func": list(range(count)),
            "nativeSymbol": none,
            "innerWindowID": [0] * count,
            "implementation": none,
            "line": none,
            "column": none,
        }

    def _func_table(self, frames: I64, objects: list[str]) -> dict[str, object]:
        resource = {name: row for row, name in enumerate(objects)}
        files = [self.texts.file[row] for row in frames.tolist()]
        count, none = len(frames), [None] * len(frames)
        return {
            "length": count,
            "name": [self.intern(self.texts.name[row]) for row in frames.tolist()],
            "isJS": [False] * count,
            "relevantForJS": [False] * count,
            "resource": [resource.get(self.texts.object[row], -1) for row in frames.tolist()],
            "fileName": [self.intern(file) if file else None for file in files],
            "lineNumber": none,
            "columnNumber": none,
        }

    def _resource_table(self, objects: list[str]) -> dict[str, object]:
        count, none = len(objects), [None] * len(objects)
        names = [self.intern(name) for name in objects]
        return {"length": count, "lib": none, "name": names, "host": none, "type": [1] * count}


def with_nulls(values: I64) -> list[int | None]:
    """Row numbers as JSON has them: null for −1."""
    return [None if value < 0 else value for value in values.tolist()]
