"""Every option of the commands on datasets (``perf2x fleet``): it shows, is refused by name, or is harmless.

``python -m tests.support.fleet_options`` prints the table. What shows is the dataset's bytes and what is said.
"""

import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import chdir
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from perf2x.cli.app import command
from perf2x.sources.dataset.dataset_schema import TABLES
from tests.support.command import perf2x
from tests.support.datasets import rows
from tests.support.option_pairs import Case, Place
from tests.support.recordings import CORPUS, ROOT

CASES: dict[str, dict[str, Case]] = {
    "ingest": {
        "lists": Case(("--list", "listed.txt")),
        "tag": Case(("--tag", "service=web")),
        "tag_from": Case(("--tag-from", "{name}.data")),
        "start_time": Case(("--start-time", "file"), on="unfinished"),
        "partition": Case(("--partition", "service")),
        "timeline": Case(("--timeline",)),
        "replace": Case(("--replace",)),
        "scheduler": Case(("--scheduler", "nowhere")),
        "workers": Case(("--workers", "1")),
        "leave_unfinished": Case(("--leave-unfinished", "365d"), on="unfinished"),
        "fail_above_errors": Case(("--fail-above-errors", "0"), base=("listed.txt",)),
        "symfs": Case(("--symfs", str(CORPUS / "common/symfs")), on="unwind", nameless=True),
        "kallsyms": Case(("--kallsyms", "kallsyms"), nameless=True),
        "debug_dirs": Case(("--debug-dir", "debug"), nameless=True),
        "buildid_dir": Case(("--buildid-dir", "buildid"), on="deferred", nameless=True),
        "perf_map_dir": Case(("--perf-map-dir", str(CORPUS / "perf_map")), on="perf_map", nameless=True),
        "max_unpacked": Case(("--max-unpacked", "1K"), on="packed"),
        "quiet": Case(("--quiet",)),
    },
    "symbolize": {
        "scheduler": Case(("--scheduler", "nowhere")),
        "workers": Case(("--workers", "1")),
        "symfs": Case(("--symfs", "symfs")),
        "kallsyms": Case(("--kallsyms", str(CORPUS / "common/kallsyms.xz")), on="unwind"),
        "vmlinux": Case(("--vmlinux", "vmlinux"), on="unwind"),
        "debug_dirs": Case(("--debug-dir", "debug")),
        "buildid_dir": Case(("--buildid-dir", "buildid"), on="deferred"),
        "debuginfod_urls": Case(("--debuginfod", "http://localhost:1")),
        "archives": Case(("--archive", "archive.tar.gz"), on="deferred"),
        "max_unpacked": Case(("--max-unpacked", "1K")),
        "quiet": Case(("--quiet",)),
    },
    "query": {
        "format": Case(("--format", "csv")),
        "as_json": Case(("--json",)),
        "output": Case(("--output", "answer")),
        "limit": Case(("--limit", "1")),
        "wide": Case(("--wide",)),
        "memory_limit": Case(("--memory-limit", "1K")),
        "temp_directory": Case(("--temp-directory", "nowhere")),
        "max_unpacked": Case(("--max-unpacked", "1K")),
        "quiet": Case(("--quiet",), base=("--limit", "1")),
    },
}
CASES |= {
    "maintain": {
        "older_than": Case(("--older-than", "1w")),
        "dry_run": Case(("--dry-run",)),
        "quiet": Case(("--quiet",)),
    },
    "rm": {"dry_run": Case(("--dry-run",)), "quiet": Case(("--quiet",))},
}
NO_CASE = {"objects", "inputs", "dataset", "sql", "output", "help_all", "recordings"}
"""Parameters without a case, most of which name inputs and outputs."""
QUERY = "SELECT *, repeat('x', 300) AS long FROM samples"
_ASKED = {"query": (QUERY,)}
HARMLESS = {
    ("ingest", "--replace"): "of recordings that are there: tests/unit/fleet/test_writers.py",
    ("ingest", "--partition"): "rows are the same: tests/unit/sources/dataset/test_equality.py",
    ("maintain", "--older-than"): "of recordings of some age: tests/unit/fleet/test_remove_and_maintain.py",
    ("ingest", "--workers"): "the dataset is the same, however many processes make it",
    ("ingest", "--debug-dir"): "another place of objects, as --symfs: tests/unit/base/binaries/find",
    ("ingest", "--buildid-dir"): "another place of objects, as --symfs: tests/unit/base/binaries/find",
    ("symbolize", "--workers"): "names are the same, however many processes look them up",
    ("symbolize", "--debuginfod"): "another place of objects, as --debug-dir: tests/unit/base/binaries/find",
    ("symbolize", "--vmlinux"): "of a kernel whose build id it has: tests/unit/fleet/test_symbolize_dataset.py",
    ("symbolize", "--max-unpacked"): "of debug files that are compressed: tests/unit/base/files",
}
"""Options that change nothing here, with the reason."""


def prepare(place: Place) -> None:
    """Write the inputs that the cases of other commands have not."""
    raw = (place.folder / place.rich[0]).read_bytes()
    unfinished = place.folder / "unfinished.data"
    unfinished.write_bytes(raw[: len(raw) * 9 // 10])
    hour_ago = time.time() - 3600
    os.utime(unfinished, (hour_ago, hour_ago))  # longer than ingest waits by itself
    (place.folder / "listed.txt").write_text("no-such.data\n")


@cache
def run(place: Place, name: str, case: Case) -> tuple[int, str, dict[str, object]]:
    """Exit code, what is said, and the bytes of the dataset and of what was written beside it; once for equal cases."""
    source, *names = ("unfinished.data",) if case.on == "unfinished" else getattr(place, case.on)
    with TemporaryDirectory(dir=place.folder) as out:
        data = Path(out) / "data"
        if name == "ingest":
            base = ("--list", *case.base) if case.base else ()
            ran = perf2x("fleet", name, source, "-o", data, *base, *(() if case.nameless else names[:2]), *case.words)
        else:
            _made(place, source, data)
            asked = (source,) if name == "rm" else _ASKED.get(name, ())
            ran = perf2x("fleet", name, data, *asked, *case.base, *case.words)
        found = _rows_of(data)
        answer = place.folder / "answer"
        if answer.exists():
            found["answer"] = answer.read_bytes()
            answer.unlink()
    return ran.code, (ran.out + ran.said).replace(out, "out"), found


def _rows_of(data: Path) -> dict[str, object]:
    """Rows of all tables but for what is new in each run."""
    if not (data / "recordings").exists():
        return {}
    return {
        table: sorted(repr({key: value for key, value in row.items() if key != "attempt"}) for row in rows(data, table))
        for table in TABLES
    }


def _made(place: Place, source: str, data: Path) -> None:
    """A dataset without names, made once."""
    kept = place.folder / f"kept-{Path(source).parent.name}-{Path(source).name}"
    if not kept.exists():
        assert perf2x("fleet", "ingest", source, "-o", kept, "--leave-unfinished", "0s", "-q").code == 0
    shutil.copytree(kept, data)


def verdict(place: Place, name: str, case: Case) -> str:
    """Return the outcome of an option: honoured, refused, harmless because …, or DROPPED."""
    with_option = run(place, name, case)
    if with_option[0] == 2 and case.words[0] in with_option[1]:
        return f"refused: {with_option[1]}"
    if with_option != run(place, name, replace(case, words=())):
        return "honoured"
    why = HARMLESS.get((name, case.words[0]))
    return f"harmless: {why}" if why else f"DROPPED: {with_option[1]}"


def parameters(name: str) -> set[str]:
    """Options of a command that must have a case."""
    options = (one for one in command(f"fleet {name}").params if one.param_type_name == "option")
    found = {str(option.name) for option in options} - NO_CASE - {"help"}
    return found | ({"output"} if name in ("query",) else set())


def pairs(place: Place, name: str) -> Iterator[tuple[str, str]]:
    """Yield (words, verdict) of all options of a command."""
    prepare(place)
    for case in CASES[name].values():
        yield " ".join(case.words), verdict(place, name, case)


def main() -> None:
    """Print the table."""
    for name in sys.argv[1:] or CASES:
        with TemporaryDirectory() as folder, chdir(folder):
            for words, found in pairs(Place(Path(folder)), name):
                print(f"{name:<11}{words.replace(str(ROOT), '.'):<45}{found}", flush=True)


if __name__ == "__main__":
    main()
