"""Asks perf which samples pass each filter, and stores its answers for test_filters; run by hand, needs perf 7.2.

The filters are perf2x's options; where perf calls one by another name it is translated.
"""

import json
import lzma
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterable
from pathlib import Path

from tests.support.recordings import CORPUS

HERE = Path(__file__).parents[1] / "unit/cli/data"
ANSWERS = HERE / "perf_filters.json"
TRANSLATED = {"--comm": "--comms", "--dso": "--dsos", "--symbol": "--symbols"}

FILTERS = {
    "clocked": (
        "--pid 15980", "--tid 15983", "--tid 15982,15985", "--comm compute", "--comm compute,faults", "--cpu 0",
        "--cpu 0-1", "--time 5632.5,5632.6", "--time ,5632.5", "--time 5633.8,", "--time 5632.4,5632.5 5632.6,5632.9",
        "--time 10%/2", "--time 10%/10", "--time 30%", "--time 0%-10%,30%-40%", "--time 10%/1,10%/3",
        "--time 50%-100%", "--comm compute --cpu 1 --time 20%-80%", "--dso threads", "--dso [kernel.kallsyms]",
    ),
    "calls": ("--dso calls", "--dso libc.so.6", "--dso [kernel.kallsyms]", "--symbol spin", "--symbol spin,read_zero",
              "--symbol __alloc_frozen_pages_noprof"),
    "family": ("--comm calls", "--comm family", "--comm family --dso [kernel.kallsyms]"),
    "forker": ("--dso forker",),
    "events": ("--dso calls", "--event page-faults"),
}  # fmt: skip


def digest(lines: Iterable[str]) -> dict[str, int]:
    """Lines ``tid time`` in any order."""
    ordered = sorted(lines)
    return {"samples": len(ordered), "crc": zlib.crc32("\n".join(ordered).encode())}


def path_of(name: str) -> Path:
    return HERE / "clocked.data" if name == "clocked" else CORPUS / name / "perf.data"


def words_of(text: str) -> list[str]:
    """``--time a b --cpu 1`` as words; only times hold spaces."""
    return [word for part in text.split(" --") for word in ("--" + part.removeprefix("--")).split(" ", 1)]


def kallsyms_of(name: str) -> Path | None:
    path = CORPUS / name / "kallsyms.xz"
    return path if path.exists() else None


def ask(name: str, text: str, root: list[str]) -> dict[str, int]:
    words = [TRANSLATED.get(word, word) for word in words_of(text)]
    if "--event" in words:  # perf has no such filter: choose among what it prints
        wanted, words = words[words.index("--event") + 1], []
    else:
        wanted = ""
    with tempfile.NamedTemporaryFile() as kallsyms:
        kernel = kallsyms_of(name)
        if kernel:
            kallsyms.write(lzma.decompress(kernel.read_bytes()))
            kallsyms.flush()
            words += ["--kallsyms", kallsyms.name]
        command = ["perf", "script", "--no-inline", "-i", str(path_of(name)), "--ns", "-G", "-F", "tid,time,event"]
        command += ["--symfs", str(CORPUS / "common" / "symfs"), *words]
        out = subprocess.run([*root, *command], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in out.splitlines() if line.strip()]
    return digest(f"{row[0]} {row[1].rstrip(':').replace('.', '')}" for row in rows if wanted in " ".join(row[2:]))


def main() -> None:
    root = sys.argv[1:]
    answers = {name: {text: ask(name, text, root) for text in texts} for name, texts in FILTERS.items()}
    ANSWERS.write_text(json.dumps(answers, indent=1) + "\n")


if __name__ == "__main__":
    main()
