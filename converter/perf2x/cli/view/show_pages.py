"""Shows the pages of ``perf2x view``: as files in the local browser, or served to a browser on another machine."""

import contextlib
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from perf2x.base.files.atomic import open_output
from perf2x.cli.messages import print_message
from perf2x.cli.view.http_server import ADDRESS, PageServer
from perf2x.cli.view.recording_pages import Page
from perf2x.errors import OutputError

# a browser that can show the page needs a display, unless the user names a browser in BROWSER
_BROWSER_VARIABLES = ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY")


def open_pages(pages: Sequence[Page], *, quiet: bool) -> None:
    """Write pages to temporary files, print the path of the first, and open it in the user's browser."""
    page = _write_temporary_pages(pages)
    print(page, flush=True)
    if _open_in_browser(page):
        return
    if not quiet:
        print_message("no browser can be opened here; open the file in a browser, or serve it with perf2x view --serve")


def serve_pages(pages: Mapping[str, bytes], port: int, *, quiet: bool) -> None:
    """Serve pages, by name, until Ctrl-C.

    The URL goes to standard output, the ssh command for a tunnel to standard error.
    """
    with PageServer(pages, port) as server, contextlib.suppress(KeyboardInterrupt):
        print(server.url, flush=True)
        if not quiet:
            tunnel = f"ssh -N -L {server.server_port}:{ADDRESS}:{server.server_port} {socket.gethostname()}"
            print_message(f"to open it on another machine, run there: {tunnel}")
            print_message("serving until Ctrl-C")
        server.serve_forever()


def _write_temporary_pages(pages: Sequence[Page]) -> Path:
    """Write pages to files that stay when the command ends, for the browser; return the path of the first."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="perf2x-"))
    except OSError as error:
        raise OutputError(f"cannot write to {tempfile.gettempdir()}: {error.strerror}") from None
    try:
        for page in pages:
            with open_output(str(folder / page.name), inputs=()) as out:
                out.write(page.content)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return folder / pages[0].name


def _open_in_browser(page: Path) -> bool:
    if sys.platform not in ("win32", "darwin", "cygwin") and not any(map(os.environ.get, _BROWSER_VARIABLES)):
        return False  # webbrowser might start a text browser, which cannot show the page
    import webbrowser

    try:
        return webbrowser.open(page.as_uri())
    except webbrowser.Error:
        return False
