"""Time that the HTML page takes to open and to show each of its views, beside Speedscope with the same samples.

    python -m tests.bench.page_views                  # forges 1.2 million samples
    python -m tests.bench.page_views --samples 1200000 10000000
    python -m tests.bench.page_views FILE...          # recordings of your own

Prints the size of the file and milliseconds until it is open and until each view is drawn, by the clock and of the
processor in the main thread. ``BARS`` are what the page is to keep to; what takes the processor longer is marked with
!. Needs what tests/browser needs.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.bench.forged import Shape, write_forged
from tests.bench.page import BROWSER

BARS = {1_200_000: 8 << 20, 10_000_000: 12 << 20}
"""Largest pages by number of samples, at most."""
OPEN_MS, VIEW_MS = 1500, 1000
MOST_OF_SPEEDSCOPE = 2_000_000
"""Its file of more samples is larger than the longest text of a browser."""
FORMATS = {"page": ("html", ".html"), "speedscope": ("speedscope", ".speedscope.json")}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.page_views", description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, help="recordings to use instead of made ones")
    parser.add_argument("--samples", type=int, nargs="+", default=[1_200_000], help="of made ones (default 1,200,000)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        jobs = list(_jobs(options.files, options.samples, Path(folder)))
        for (name, samples, job), told in zip(jobs, _opened([job for *_, job in jobs]), strict=True):
            _print(name, samples, Path(job["file"]).stat().st_size, told)


def _jobs(files: list[Path], sizes: list[int], folder: Path) -> Iterator[tuple[str, int, dict[str, str]]]:
    """Yield the name and, of a forged one, number of samples of every recording, and what to open."""
    for file, samples in [(one, 0) for one in files] or [(folder / f"{size}.data", size) for size in sizes]:
        if samples:
            write_forged(file, Shape(samples))
        for viewer, (form, suffix) in FORMATS.items():
            if viewer != "page" and samples > MOST_OF_SPEEDSCOPE:
                continue
            made = folder / f"{file.stem}{suffix}"
            command = [sys.executable, "-m", "perf2x", "convert", "-q", file, "--to", form, "-o", made]
            subprocess.run(command, check=True)
            yield f"{file.stem}, {viewer}", samples if viewer == "page" else 0, {"viewer": viewer, "file": str(made)}
        if samples:
            file.unlink()


def _opened(jobs: list[dict[str, str]]) -> list[dict]:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    speedscope = BROWSER / "node_modules/speedscope/dist/release"
    if not chromium or not speedscope.is_dir():
        sys.exit("needs Chromium and Node: bash .ci/browser")
    command = ["node", "opening.mjs", chromium, str(speedscope)]
    ran = subprocess.run(command, input=json.dumps(jobs), stdout=subprocess.PIPE, text=True, cwd=BROWSER, check=True)
    return list(json.loads(ran.stdout))


def _print(name: str, samples: int, size: int, told: dict) -> None:
    largest = next((bytes_ for most, bytes_ in BARS.items() if samples <= most), 0) if samples else 0
    print(f"{name}: {size / (1 << 20):.2f} MiB{'!' * (0 < largest < size)}")
    bars = {"open": OPEN_MS}
    for view, ms in {"open": told["open"], **told["views"]}.items():
        print(f"  {view:<14}{ms['clock']:>9,.0f} ms{ms['cpu']:>9,.0f} ms{'!' * (ms['cpu'] > bars.get(view, VIEW_MS))}")


if __name__ == "__main__":
    main()
