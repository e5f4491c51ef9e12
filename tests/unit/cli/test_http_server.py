"""The server of ``perf2x view --serve``: one page, to this machine only."""

import http.client
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from perf2x.cli.view.http_server import PageServer
from perf2x.errors import OutputError

PAGE = "<!doctype html><title>käfer</title>".encode()


@pytest.fixture
def server() -> Iterator[PageServer]:
    with PageServer({"": PAGE}) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def answer(
    server: PageServer, path: str, host: str | None = None, method: str = "GET"
) -> tuple[int, dict[str, str], bytes]:
    link = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    try:
        link.putrequest(method, path, skip_host=host is not None)
        if host:
            link.putheader("Host", host)
        link.endheaders()
        response = link.getresponse()
        return response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()
    finally:
        link.close()


def test_the_page_is_at_the_url(server: PageServer) -> None:
    url = urlsplit(server.url)
    assert (url.scheme, url.hostname, url.port) == ("http", "127.0.0.1", server.server_port)
    status, headers, body = answer(server, url.path)
    assert (status, body) == (200, PAGE)
    assert headers["content-type"] == "text/html; charset=utf-8"
    assert headers["content-length"] == str(len(PAGE))
    assert (headers["cache-control"], headers["referrer-policy"]) == ("no-store", "no-referrer")
    assert headers["server"].strip() == "perf2x"
    status, headers, body = answer(server, url.path, method="HEAD")
    assert (status, headers["content-length"], body) == (200, str(len(PAGE)), b"")


@pytest.mark.parametrize("path", ["/", "/perf.html", "//", "/../", "x"])
def test_nothing_is_anywhere_else(server: PageServer, path: str) -> None:
    status, _, body = answer(server, path)
    assert status == 404 and PAGE not in body


def test_the_path_is_long_and_new_every_time() -> None:
    with PageServer({"": PAGE}) as one, PageServer({"": PAGE}) as other:
        assert one.path != other.path and min(len(one.path), len(other.path)) >= 24


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost@evil", "", "localhost:x"]
)
def test_other_names_of_this_machine_are_refused(server: PageServer, host: str) -> None:
    status, _, body = answer(server, server.path, host=host)
    assert status == 403 and PAGE not in body


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:9999", "127.0.0.1:8080", "[::1]:80", "[::1]"])
def test_a_tunnel_may_have_another_port(server: PageServer, host: str) -> None:
    assert answer(server, server.path, host=host)[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_the_page_can_only_be_read(server: PageServer, method: str) -> None:
    assert answer(server, server.path, method=method)[0] == 501


def test_only_loopback_is_listened_to(server: PageServer) -> None:
    assert server.socket.getsockname()[0] == "127.0.0.1"


def test_a_port_in_use_is_an_error(server: PageServer) -> None:
    with pytest.raises(OutputError, match=f"cannot serve on port {server.server_port} of 127.0.0.1: "):
        PageServer({"": PAGE}, server.server_port)


def test_a_closed_connection_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with PageServer({"": b"x" * (32 << 20)}) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        for _ in range(3):
            with socket.create_connection(("127.0.0.1", running.server_port)) as link:
                link.sendall(f"GET {running.path} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
                link.recv(10)
        running.shutdown()
        thread.join()
        for worker in threading.enumerate():
            if worker is not threading.current_thread():
                worker.join(10)
    assert capsys.readouterr() == ("", "")


def test_pages_are_served_by_name() -> None:
    with PageServer({"": b"first", "2-a b.html": b"second"}) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        assert [urllib.request.urlopen(running.url + name).read() for name in ("", "2-a%20b.html")] == [
            b"first",
            b"second",
        ]
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(running.url + "other.html")
        running.shutdown()
