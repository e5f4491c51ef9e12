"""Pictures of the page for the documentation, made by the page itself in headless Chromium.

python -m tests.browser.screenshots           # all of examples/screenshots/html*.png and diff.png
python -m tests.browser.screenshots html-dark # one of them
"""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from perf2x import Choice, SymbolOptions, read
from perf2x.emitters.flame.diff_page import DifferencePage
from tests.browser.opened import opened

ROOT = Path(__file__).parent.parent.parent
SHOTS = ROOT / "examples/screenshots"
DEFERRED = ROOT / "examples/deferred"
LISTED = ROOT / "tests/unit/analysis/annotate/data"
WIDE, PHONE = {"width": 1280, "height": 720}, {"width": 390, "height": 760}
SELECT_WALK = (
    "select([...Array(layout.next).keys()].find((box) => layout.frameOf(box) >= 0 && frameName(box) === 'walk'))"
)


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        asked = {name: job for name, job in jobs(Path(place)).items() if not sys.argv[1:] or name in sys.argv[1:]}
        told = opened(SHOTS, asked)
    for name, one in told.items():
        print(name, *one["errors"])


def jobs(folder: Path) -> dict[str, dict[str, Any]]:
    """Views by the name of their picture."""
    symbols = ["--symfs", DEFERRED / "symfs", "--kallsyms", DEFERRED / "kallsyms.xz"]
    page = {"viewer": "page", "size": WIDE, "file": converted(folder / "page.html", DEFERRED / "perf.data", *symbols)}
    code = page | {"file": listed(folder / "code.html")}
    views = {
        "html": page | {"steps": [["move", 520, 330]]},
        "html-dark": page | {"scheme": "dark", "hash": "#order=bottom&direction=flame"},
        "html-time": page | {"hash": "#order=time&range=400000-900000&open=2&mark=vfs_read%0A%5Bkernel.kallsyms%5D"},
        "html-bursts": page | {"steps": [["key", "h"]], "hash": "#range=400000-900000"},
        "html-callers": page | {"steps": [["run", f"openFunction({key('do_syscall_64')})"]]},
        "html-phone": page | {"size": PHONE, "scheme": "dark"},
        "html-code": code | {"steps": [["run", SELECT_WALK], ["run", "code.kind = 'code'; showCode(code.frame)"]]},
        "html-source": code | {"steps": [["run", SELECT_WALK]]},
        "diff": page | {"file": difference(folder / "diff.html")},
    }
    return {name: view | {"shot": f"{name}.png"} for name, view in views.items()}


def key(name: str) -> str:
    """The function's text in addresses, by its name."""
    return f"[...profile.functionNamed.keys()].find((one) => one.startsWith('{name}\\n'))"


def converted(page: Path, recording: Path, *options: object) -> str:
    command = [sys.executable, "-m", "perf2x", "convert", "-q", str(recording), "--to", "html", "-o", str(page)]
    subprocess.run([*command, *map(str, options)], check=True)
    return str(page)


def listed(page: Path) -> str:
    """The page of a program with its sources and instructions."""
    return converted(page, LISTED / "inlines.data", "--symfs", LISTED, "--source-dir", LISTED, "--assembly", "--source")


def difference(page: Path) -> str:
    """The first and the second half of a recording as before and after."""
    symbols = SymbolOptions(symfs=DEFERRED / "symfs", kallsyms=DEFERRED / "kallsyms.xz")
    before, after = (
        read(DEFERRED / "perf.data", symbols=symbols, choice=Choice(times=(f"50%/{half}",))).profile for half in (1, 2)
    )
    with page.open("wb") as out:
        DifferencePage().emit(before, after, out)
    return str(page)


if __name__ == "__main__":
    main()
