"""Finds recordings that come with perf's answer: the corpus of this repository, and the project's larger set.

The larger set lies beside the repository (``../shared``) or where PERF2X_SHARED says; tests that use it carry the
marker ``shared`` and skip when it is absent.
"""

import os
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "tests" / "corpus"
SHARED = Path(os.environ.get("PERF2X_SHARED", ROOT.parent / "shared"))
DEFERRED = SHARED / "recordings" / "deferred"
QUICK = {"compat32", "group_read", "per_thread", "perf_map", "pipe_zstd", "shapes", "task_end", "unwind"}
"""Recordings of the corpus for quick tests that take any: a 32-bit program, a group read as one, samples without
times, names of a perf map, zstd in a pipe, C++ without deferred callchains, eight events with raw data, copied stacks.
With those of tests/oracle/test_unwinder*.py they execute all but 51 of the 12,577 lines that the whole corpus does."""


@dataclass(frozen=True)
class Case:
    """One recording; paths of things it does not have are None."""

    name: str
    data: Path
    script: Path | None
    symfs: Path | None
    kallsyms: Path | None

    def __str__(self) -> str:
        return self.name


def deferred_cases() -> list[Case]:
    """Every recording of the larger set, sorted by name; empty when it is absent."""
    folders = sorted(DEFERRED.iterdir()) if DEFERRED.is_dir() else []
    return [
        _deferred(folder, data)
        for folder in folders
        for data in sorted({*folder.glob("perf.data*"), *folder.glob("*.data")})
    ]


def _deferred(folder: Path, data: Path) -> Case:
    own = folder / f"ref.{data.name}.script.txt.xz"
    script = own if own.exists() else folder / "ref.script.txt.xz"
    common = DEFERRED / "common"
    name = folder.name if data.name == "perf.data" else f"{folder.name}/{data.name}"
    return Case(name, data, script if script.exists() else None, common / "symfs", common / "kallsyms.xz")


@cache
def corpus_cases() -> list[Case]:
    """Every recording in tests/corpus, sorted by name."""
    found = []
    for data in sorted(CORPUS.glob("*/*perf.data*")):
        folder = data.parent
        script = folder / (data.name.replace("perf.data", "script") + ".txt.xz")
        symfs = folder / "symfs" if (folder / "symfs").is_dir() else CORPUS / "common" / "symfs"
        kallsyms = folder / "kallsyms.xz"
        kallsyms = kallsyms if kallsyms.exists() else CORPUS / "common" / "kallsyms.xz"
        name = folder.name if data.name == "perf.data" else f"{folder.name}/{data.name}"
        found.append(Case(name, data, script if script.exists() else None, symfs, kallsyms))
    return found


HALVES = {"compat32", "group_read", "shapes", "unwind"}, {"per_thread", "perf_map", "pipe_zstd", "task_end"}
"""QUICK for laws of which every recording tells much the same: they take turns."""


def quick_first(
    cases: Iterable[Case], value: Callable[[Case], object] = lambda case: case, quick: Container[str] = QUICK
) -> list[Any]:
    """Cases as parameters, or values of them; those that are not ``quick`` run with the slow tests."""
    marks = {True: (), False: pytest.mark.slow}
    return [pytest.param(value(case), id=case.name, marks=marks[case.name in quick]) for case in cases]
