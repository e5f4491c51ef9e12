"""A stand-in for a collector on the loopback interface: keeps what it is sent, and answers as it is told.

``loopback.pem`` is key and certificate of 127.0.0.1 for these tests, trusted by nobody else.
"""

import gzip
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

CERTIFICATE = Path(__file__).with_name("loopback.pem")


@dataclass(frozen=True)
class Request:
    path: str
    headers: Mapping[str, str]
    body: bytes
    """Unpacked."""


@dataclass(frozen=True)
class Answer:
    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "application/x-protobuf"})


@dataclass
class StandIn:
    """A server at ``url``; answers the requests in order, the last answer for all that follow."""

    url: str
    answers: list[Answer] = field(default_factory=lambda: [Answer()])
    requests: list[Request] = field(default_factory=list)
    silent: threading.Event | None = None
    """No answer before it is set."""


@contextmanager
def stand_in(*answers: Answer, tls: bool = False, silent: bool = False) -> Iterator[StandIn]:
    one = StandIn("", list(answers) or [Answer()], silent=threading.Event() if silent else None)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            packed = self.headers.get("Content-Encoding") == "gzip"
            one.requests.append(Request(self.path, dict(self.headers), gzip.decompress(body) if packed else body))
            if one.silent is not None:
                one.silent.wait(60)
                return
            answer = one.answers.pop(0) if len(one.answers) > 1 else one.answers[0]
            self.send_response(answer.status)
            for name, value in {**answer.headers, "Content-Length": str(len(answer.body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.body)

        def log_message(self, *_: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            pass  # clients that do not trust it hang up

    server = Server(("127.0.0.1", 0), Handler)
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTIFICATE)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    one.url = f"http{'s' * tls}://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield one
    finally:
        if one.silent is not None:
            one.silent.set()
        server.shutdown()
        server.server_close()
        thread.join()
