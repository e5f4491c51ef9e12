"""Serves pages over HTTP, to a browser on this machine or at the other end of ``ssh -L``.

The pages have a random path, which other users of the machine cannot guess. Requests for a host other than localhost
are refused, because a web page could point its own name at 127.0.0.1 (DNS rebinding).
"""

import hmac
import os
import secrets
import socketserver
import sys
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast
from urllib.parse import quote

from perf2x.errors import OutputError

ADDRESS = "127.0.0.1"
_LOCAL_HOSTS = frozenset({ADDRESS, "localhost", "[::1]"})
_HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class PageServer(ThreadingHTTPServer):
    """Serves pages below ``url``, each under its name in ``pages``. Raises OutputError if the port cannot be opened."""

    daemon_threads = True
    allow_reuse_address = os.name != "nt"  # Windows would let another program take the port over

    def __init__(self, pages: Mapping[str, bytes], port: int = 0) -> None:
        self.path = f"/{secrets.token_urlsafe(16)}/"
        self.pages = {f"{self.path}{quote(name)}".encode(): page for name, page in pages.items()}
        try:
            super().__init__((ADDRESS, port), _Handler)
        except OSError as error:
            raise OutputError(f"cannot serve on port {port} of {ADDRESS}: {error.strerror}") from None

    @property
    def url(self) -> str:
        """URL of the page with the name ""."""
        return f"http://{ADDRESS}:{self.server_port}{self.path}"

    def server_bind(self) -> None:
        """Bind to the port without HTTPServer's reverse DNS lookup of the address, which may take long."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = cast(tuple[str, int], self.server_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore errors of connections, such as one that the browser closed; print others."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: PageServer
    timeout = 30  # seconds
    server_version = "perf2x"
    sys_version = ""

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - http.server's name
        """Do not log requests."""

    def _answer(self, *, with_body: bool) -> None:
        if not _is_local_host(self.headers.get("Host", "")):
            self.send_error(HTTPStatus.FORBIDDEN, "This page is served to localhost only")
            return
        requested = self.path.partition("?")[0].encode(errors="replace")
        # in constant time, so that the random part of the path cannot be found out byte by byte
        page = next((page for path, page in self.server.pages.items() if hmac.compare_digest(requested, path)), None)
        if page is None:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        self.send_response(HTTPStatus.OK)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        if with_body:
            self.wfile.write(page)


def _is_local_host(host: str) -> bool:
    """Return whether a Host header names this machine; an ssh tunnel may have another port."""
    name, colon, port = host.rpartition(":") if not host.endswith("]") else (host, "", "")
    return (name or host).lower() in _LOCAL_HOSTS and (not colon or port.isdecimal())
