"""Tasks of the HTML page while hands are on it, by Chromium's own trace.

    python -m tests.bench.page_tasks                         # forges 42,000 and 1.2 million samples
    python -m tests.bench.page_tasks FILE...                 # recordings or pages of your own

Prints milliseconds of the processor: how long the page's code keeps the browser from answering a press, a move or a
key, and its longest task until it is at rest. Needs what tests/browser needs. Asserts nothing about time.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.bench.forged import Shape, write_forged
from tests.bench.page import BROWSER

SIZES = (42_000, 1_200_000)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.page_tasks", description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, help="recordings or pages to use instead of made ones")
    options = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if not chromium or not (BROWSER / "node_modules/playwright-core").is_dir():
        sys.exit("needs Chromium and Node: bash .ci/browser")
    with tempfile.TemporaryDirectory() as folder:
        pages = [_page(file, Path(folder)) for file in options.files or _forged(Path(folder))]
        jobs = json.dumps([{"file": str(page.resolve())} for page in pages])
        ran = subprocess.run(
            ["node", "handling.mjs", chromium], input=jobs, stdout=subprocess.PIPE, text=True, cwd=BROWSER, check=True
        )
    for page, told in zip(pages, json.loads(ran.stdout), strict=True):
        print(f"{page.stem:<24}{'reply':>10}{'task':>10}")
        for act, one in told.items():
            print(f"  {act:<22}{one['reply']:>7.1f} ms{one['task']:>7.1f} ms")


def _forged(folder: Path) -> list[Path]:
    files = [folder / f"{size}.data" for size in SIZES]
    for size, file in zip(SIZES, files, strict=True):
        write_forged(file, Shape(size))
    return files


def _page(file: Path, folder: Path) -> Path:
    """The page of a recording, with stacks over time."""
    if file.suffix == ".html":
        return file
    page = folder / f"{file.stem}.html"
    words = ["convert", "-q", file, "--to", "html", "--set", "max_moments=2000000", "-o", page]
    subprocess.run([sys.executable, "-m", "perf2x", *map(str, words)], check=True)
    return page


if __name__ == "__main__":
    main()
