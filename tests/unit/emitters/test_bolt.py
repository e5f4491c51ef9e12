"""BOLT's pre-aggregated lines. Those of ``LINES`` were read by perf2bolt -pa of LLVM 21."""

import io
from collections import Counter

import numpy as np
import pytest
from msgspec.structs import replace

from perf2x.emitters.bolt import Bolt
from perf2x.errors import OptionError
from perf2x.model.format_features import CodeRequest, CodeSettings
from perf2x.model.profile.code_counts import EXTERNAL, NOT_RECORDED, AddressCounts, BranchCounts, CodeCounts
from perf2x.model.profile.profile import Profile
from perf2x.testing import EmitterContract, ProfileBuilder

X, NONE = int(EXTERNAL), int(NOT_RECORDED)
ROWS = [
    (0x1010, 0x1020, 0x1040, 7, 2), (0x1010, 0x1020, NONE, 1, 0), (0x1040, X, NONE, 5, 0), (X, 0x1020, 0x1040, 3, 0),
    (X, 0x1050, NONE, 2, 1),
]  # fmt: skip
"""Source, target, next, count, mispredicted."""
LINES = {
    "traces": ["T 1010 1020 1040 7", "T X:0 1020 1040 3", "B 1010 1020 1 2", "B 1040 X:0 5 0", "B X:0 1050 2 1"],
    "branches": [
        "B 1010 1020 8 2", "B 1040 X:0 5 0", "B X:0 1020 3 0", "B X:0 1050 2 1", "F 1020 1040 7", "f 1020 1040 3",
    ],
}  # fmt: skip


def code(rows: list[tuple[int, ...]]) -> CodeCounts:
    columns = [np.array([row[at] for row in rows], np.uint64 if at < 3 else np.int64) for at in range(5)]
    samples = AddressCounts(np.array([0x1020, 0x1044], np.uint64), np.array([4, 1]))
    return CodeCounts("/bin/prog", "c0ffee", BranchCounts(*columns), samples)


def written(counts: CodeCounts | None, style: str = "traces") -> list[str]:
    out = io.BytesIO()
    Bolt(style=style).emit(replace(ProfileBuilder().build(), code=counts), out)
    return out.getvalue().decode().splitlines()


@pytest.mark.parametrize("style", LINES)
def test_lines(style: str) -> None:
    assert written(code(ROWS), style) == LINES[style]


@pytest.mark.parametrize("style", LINES)
def test_no_branch_and_no_misprediction_is_lost(style: str) -> None:
    rows = np.random.default_rng(5).integers(0, 6, (400, 3)) * 16 + 0x1000
    rows = [tuple(row) for row in np.unique(rows, axis=0).tolist()]
    marked = {0x1000: X, 0x1050: NONE}
    rows = [(marked.get(a, a) if a == 0x1000 else a, b, marked.get(c, c)) for a, b, c in rows]
    counts = [(*row, number % 9 + 1, number % 3) for number, row in enumerate(rows)]
    expected, found = Counter[str](), Counter[str]()
    for source, target, _, count, missed in counts:
        expected[f"{source:x} {target:x}"] += count
        expected[f"{source:x} {target:x} missed"] += missed
    for line in written(code(counts), style):
        kind, *fields = line.replace("X:0", f"{X:x}").split()
        if kind in "TB":
            found[" ".join(fields[:2])] += int(fields[2 if kind == "B" else 3])
        if kind == "B":
            found[" ".join(fields[:2]) + " missed"] += int(fields[3])
    assert +found == +expected


def test_without_branches_it_is_samples() -> None:
    plain = code([])
    assert written(plain) == ["S 1020 4", "S 1044 1"]
    assert Bolt().notes(replace(ProfileBuilder().build(), code=plain)) == (
        "of /bin/prog: 5 samples for perf2bolt -pa -nl, as no branches were recorded (perf record -b)",
    )
    assert Bolt().notes(replace(ProfileBuilder().build(), code=code(ROWS))) == ("of /bin/prog: 18 branches",)


def test_asks_for_what_it_is_made_of() -> None:
    assert Bolt(object="lib.so").needs.of(CodeSettings).code == CodeRequest("lib.so", "kernel")
    with pytest.raises(OptionError, match="style=x"):
        Bolt(style="x")


class TestBolt(EmitterContract):
    def emitter(self) -> Bolt:
        return Bolt()

    def profile(self, builder: ProfileBuilder) -> Profile:
        return replace(super().profile(builder), code=code(ROWS))


def test_a_profile_without_counts_of_code_is_an_empty_file() -> None:
    assert written(None) == []
    assert Bolt().notes(ProfileBuilder().build()) == ()
