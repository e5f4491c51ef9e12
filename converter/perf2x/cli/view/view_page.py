"""The page of ``perf2x view``: a temporary file for the local browser, or served to one on another machine."""

import io
import os
import re
import socket
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from perf2x.base.errors import OutputError
from perf2x.base.files.atomic import open_output
from perf2x.cli.messages import print_message
from perf2x.cli.view.http_server import ADDRESS, PageServer, serve

Emit = Callable[[BinaryIO], None]

_DISPLAYS = ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY")


def open_page(emit: Emit, name: str, *, quiet: bool) -> None:
    """Write the page to a temporary file, print its path, and open it in the user's browser."""
    page = _write_temporary_page(emit, name)
    print(page, flush=True)
    if _open_in_browser(page):
        return
    if not quiet:
        print_message("no browser can be opened here; open the file in one, or serve it with perf2x view --serve")


def serve_page(emit: Emit, port: int, *, quiet: bool) -> None:
    """Serve the page until Ctrl-C; print its URL on standard output and the ssh command on standard error."""
    page = io.BytesIO()
    emit(page)

    def announce(server: PageServer) -> None:
        print(server.url, flush=True)
        if not quiet:
            tunnel = f"ssh -N -L {server.server_port}:{ADDRESS}:{server.server_port} {socket.gethostname()}"
            print_message(f"to open it on another machine, run there: {tunnel}")
            print_message("serving until Ctrl-C")

    serve(page.getvalue(), port, announce)


def _write_temporary_page(emit: Emit, name: str) -> Path:
    """Write the page to a new file of that name in a private temporary directory; remove both on failure.

    The file stays when the command ends, since a browser may read it later; the system cleans its temporary directory.
    """
    try:
        folder = Path(tempfile.mkdtemp(prefix="perf2x-"))
    except OSError as error:
        raise OutputError(f"cannot write to {tempfile.gettempdir()}: {error.strerror}") from None
    page = folder / re.sub(r"[^\w.+-]+", "_", name)
    try:
        with open_output(str(page), inputs=()) as out:
            emit(out)
    except BaseException:
        folder.rmdir()
        raise
    return page


def _open_in_browser(page: Path) -> bool:
    """Open the page in the user's browser; False when there is none, or no screen to show it on."""
    if sys.platform not in ("win32", "darwin", "cygwin") and not any(map(os.environ.get, _DISPLAYS)):
        return False  # webbrowser might start a text browser, which cannot show the page
    import webbrowser

    try:
        return webbrowser.open(page.as_uri())
    except webbrowser.Error:
        return False
