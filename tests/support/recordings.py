"""Finds recordings that come with perf's answer: the corpus of this repository, and the project's larger set.

The larger set lies beside the repository (``../shared``) or where PERF2X_SHARED says; tests that use it carry the
marker ``shared`` and skip when it is absent.
"""

import os
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "tests" / "corpus"
SHARED = Path(os.environ.get("PERF2X_SHARED", ROOT.parent / "shared"))
DEFERRED = SHARED / "recordings" / "deferred"


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
