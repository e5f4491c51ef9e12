"""Frames of the HTML page while it is panned, by Chromium's own trace.

    python -m tests.bench.page                # forges 500,000 samples
    python -m tests.bench.page FILE...        # recordings or pages of your own

Prints milliseconds of the processor that the page's main thread takes for a frame: in all, in the page's code, for the
dots of its canvas; then the clock's, and what it took to open the page. Needs what tests/browser needs. Asserts nothing
about time.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.bench.forged import Shape, write_forged

BROWSER = Path(__file__).parent.parent / "browser"
VIEWS = {"left heavy": "", "by thread": "#thread=split", "bottom up": "#order=bottom", "over time": "#order=time"}
PHONE = {"width": 390, "height": 760}
COLUMNS = ("cpu", "script", "dots", "wall")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.page", description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, help="recordings or pages to use instead of a made one")
    parser.add_argument("--samples", type=int, default=500_000, help="of the made one (default 500,000)")
    parser.add_argument("--frames", type=int, default=200, help="moves of the pointer (default 200)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        pages = list(_pages(options.files, options.samples, Path(folder)))
        views = {
            f"{page.stem} {name}{', phone' if size else ''}": {"file": str(page), "hash": where, "size": size}
            for page in pages
            for name, where in VIEWS.items()
            for size in (None, PHONE)
        }
        heads = "".join(f"{f'{name} median':>14}{'p95':>7}" for name in COLUMNS)
        print(f"{'view':<28}{'samples':>10}{'boxes':>12}{'load':>8}{'frames':>8}{heads}")
        for name, told in zip(views, _panned(list(views.values()), options.frames), strict=True):
            numbers = "".join(f"{told[column]['median']:>14.1f}{told[column]['p95']:>7.1f}" for column in COLUMNS)
            counts = f"{told['samples']:>10,}{told['boxes']:>12,}{told['loaded']:>8.0f}{told['frames']:>8}"
            print(f"{name[:27]:<28}{counts}{numbers}")


def _pages(files: list[Path], samples: int, folder: Path) -> Iterator[Path]:
    if not files:
        made = folder / "forged.data"
        write_forged(made, Shape(samples))
        files = [made]
    for file in files:
        if file.suffix == ".html":
            yield file
            continue
        page = folder / f"{file.stem}.html"
        subprocess.run([sys.executable, "-m", "perf2x", "convert", "-q", file, "--to", "html", "-o", page], check=True)
        yield page


def _panned(views: list[dict[str, Any]], frames: int) -> list[dict[str, Any]]:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if not chromium or not (BROWSER / "node_modules").is_dir():
        sys.exit("needs Chromium and Node: bash .ci/browser")
    command = ["node", "panning.mjs", chromium, str(frames)]
    asked = json.dumps([{**view, "file": str(Path(view["file"]).resolve())} for view in views])
    ran = subprocess.run(command, input=asked, stdout=subprocess.PIPE, text=True, cwd=BROWSER, check=True)
    return list(json.loads(ran.stdout))


if __name__ == "__main__":
    main()
