"""``perf2x web``: the page that converts recordings in the browser, as a folder for any web server."""

from pathlib import Path
from typing import Annotated

from perf2x.cli.messages import print_message
from perf2x.cli.options.input_options import Quiet
from perf2x.model.setting import Argument, Setting

Folder = Annotated[str, Argument("Folder to write; it may have an earlier version.", metavar="DIR")]
Pyodide = Annotated[
    str,
    Setting(
        "Pyodide's full distribution: a folder, whose files are copied, or the URL of a mirror.",
        metavar="FOLDER|URL",
        shown_default="its CDN",
    ),
]


def web(folder: Folder, pyodide: Pyodide = "", quiet: Quiet = False) -> None:
    """Write a web page that converts recordings in the browser; nothing is uploaded.

    Put the folder on any web server with https. To try it here: python3 -m http.server -d DIR.

    ::

        perf2x web page/
        perf2x web page/ --pyodide pyodide/
    """
    from perf2x.cli.web.write_folder import write_folder

    size = write_folder(Path(folder), pyodide)
    if not quiet:
        print_message(
            f"wrote the page to {folder} ({size / 1e6:.1f} MB); to try it: python3 -m http.server -d {folder}"
        )
