"""Pictures of the page for the documentation, made by the page itself in headless Chromium, two pixels for one.

python -m tests.browser.screenshots FOLDER           # all of examples/screenshots/html*.png and diff.png
python -m tests.browser.screenshots FOLDER html-dark # one of them

The folder has recordings that are too large for the repository. rustc.data is the Rust compiler at a crate of forty
modules, each examples/tutorial/requests.rs: perf record -m 16M -F 499 --call-graph dwarf,65528 -e cpu-clock:u -o
rustc.data rustc -O -g many.rs. before.data and after.data are examples/screenshots/orders.cpp, built with g++ -O2 -g,
and again with -DCOPY, which copies each order: perf record -F 999 --call-graph dwarf,16384 -o before.data ./orders.
"""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.browser.opened import opened

SHOTS = Path(__file__).parent.parent.parent / "examples/screenshots"
WIDE, TALL, PHONE = ({"width": width, "height": height} for width, height in ((1200, 640), (1200, 900), (390, 760)))
LISTINGS = ("--source", "--assembly", "--hottest", "300")
OPTIMIZING = "llvm::FPPassManager::runOnFunction\nlibLLVM.so.22.1-rust-1.95.0-stable"


def main() -> None:
    recordings, *names = sys.argv[1:]
    with tempfile.TemporaryDirectory() as place:
        views = jobs(Path(recordings), Path(place))
        told = opened(SHOTS, {name: job for name, job in views.items() if not names or name in names}, scale=2)
    for name, one in told.items():
        smaller(SHOTS / f"{name}.png")
        print(name, *one["errors"])


def jobs(recordings: Path, folder: Path) -> dict[str, dict[str, Any]]:
    """Views by the name of their picture."""
    page = {"viewer": "page", "size": WIDE}
    rustc = page | {"file": written(folder / "rustc.html", "convert", recordings / "rustc.data")}
    orders = page | {"file": written(folder / "orders.html", "convert", recordings / "after.data", *LISTINGS)}
    compared = written(folder / "diff.html", "diff", recordings / "before.data", recordings / "after.data")
    views = {
        "html": rustc | {"steps": [["move", 300, 330]]},
        "html-dark": orders | {"scheme": "dark", "hash": "#order=bottom&direction=flame"},
        "html-time": rustc | {"hash": f"#order=time&open=&mark={quote(OPTIMIZING)}"},
        "html-bursts": rustc | {"steps": [["key", "h"]], "hash": "#range=1000000-1600000"},
        "html-callers": rustc | {"steps": [opening("llvm::InstCombinePass::run")]},
        "html-phone": rustc | {"size": PHONE, "scheme": "dark"},
        "html-source": orders | {"size": TALL, "steps": [selecting("revenue")]},
        "html-code": orders
        | {"size": TALL, "steps": [selecting("revenue"), ["press", "#code button:text('Instructions')"]]},
        "diff": page | {"file": compared},
    }
    return {name: view | {"shot": f"{name}.png"} for name, view in views.items()}


def opening(name: str) -> list[str]:
    """The step to a function's callers and callees."""
    return ["run", f"openFunction([...profile.functionNamed.keys()].find((one) => one.startsWith('{name}\\n')))"]


def selecting(name: str) -> list[str]:
    """The step to the first box of a function."""
    boxes = "[...Array(layout.next).keys()]"
    return ["run", f"select({boxes}.find((box) => layout.frameOf(box) >= 0 && frameName(box) === '{name}'))"]


def written(page: Path, command: str, *words: object) -> str:
    """The page that a command writes."""
    run = [sys.executable, "-m", "perf2x", command, "-q", *map(str, words), "--to", "html", "-o", str(page)]
    subprocess.run(run, check=True, stdout=subprocess.DEVNULL)
    return str(page)


def smaller(picture: Path) -> None:
    """Fewer colours: a page has few, and pictures of two pixels for one are large."""
    subprocess.run(["pngquant", "--force", "--skip-if-larger", "--ext", ".png", "64", str(picture)], check=False)


if __name__ == "__main__":
    main()
