"""Folded stacks: what each line says, marks, other counts, what is refused."""

import numpy as np
import pytest

from perf2x.base.abi.uapi import CpuMode
from perf2x.errors import FormatError
from perf2x.sources.text import read_text as module
from perf2x.sources.text.read_text import read_text, text_kind
from perf2x.sources.text.text_tables import Text


def read(text: str) -> Text:
    data = np.frombuffer(text.encode("utf-8", "surrogateescape"), np.uint8)
    return read_text(data, "text", lambda _: None)


def folds(found: Text) -> dict[str, int]:
    lines: dict[str, int] = {}
    for stack, count in zip(found.samples.stack.tolist(), found.samples.count.tolist(), strict=True):
        rows = found.stacks.row(stack).tolist() if stack >= 0 else []
        names = [name for row in reversed(rows) for name, _, _ in reversed(found.frames[row][2])]
        lines[";".join(names)] = lines.get(";".join(names), 0) + count
    return lines


def test_folded_stacks() -> None:
    text = "# made by hand\na;b c;d.e 3\na;b c;d.e 4\n\na 0\na;b 2.5\nnot counted\na;x 1\na;y 1\na;z 1\n"
    found = read(text)
    assert folds(found) == {"a;b c;d.e": 7, "a;b": 2, "a;x": 1, "a;y": 1, "a;z": 1}
    assert (found.kind, found.lines_not_read) == ("folded stacks", 1)


def test_marks_of_folded_frames() -> None:
    found = read("a;b_[k];c_[i];d_[j] 3\n")
    assert [frame for frame in found.frames if frame[1] == CpuMode.KERNEL] == [
        ("", CpuMode.KERNEL, (("c", "", 0), ("b", "", 0)))
    ]
    assert folds(found) == {"a;b;c;d_[j]": 3}


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "a;b 1\nc;d 2\n"
    wanted = {stack: 40 * count for stack, count in folds(read(text)).items()}
    monkeypatch.setattr(module, "_BLOCK_SIZE", 211)
    assert folds(read(text * 40)) == wanted


def test_counts_that_no_sum_holds_are_refused() -> None:
    with pytest.raises(FormatError, match="text: damaged: the periods"):
        read(f"a;b {10**18 - 1}\n" * 5)


def test_more_names_than_memory_should_hold_are_refused() -> None:
    with pytest.raises(FormatError, match=r"text: damaged: 9\d,\d{3} different names in"):
        read("".join(f"{row:x};a 1\n" for row in range(95_000)))


def test_bytes_that_are_no_text_stay_as_they_are() -> None:
    assert folds(read("a\udcff;b 1\n")) == {"a\udcff;b": 1}
    assert text_kind(b"a\xff;b 1\n") is not None
