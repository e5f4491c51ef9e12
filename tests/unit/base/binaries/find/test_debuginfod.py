"""The debuginfod client: cache, limits, failures against a small server; the real server when it is installed."""

import http.server
import os
import shutil
import socket
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from perf2x.base.binaries.find.debuginfod import Debuginfod, cache_directory
from perf2x.base.binaries.find.object_finder import Finder
from perf2x.base.binaries.find.search_paths import SearchPaths
from perf2x.base.diagnostics import Diagnostics
from perf2x.base.files import unpack_limit
from perf2x.base.files.unpack_limit import limit_unpacking
from perf2x.symbolizer.make_object_finder import make_finder, make_source_fetcher
from perf2x.symbolizer.symbol_options import SymbolOptions
from tests.support.tiny_elf import TinySection, TinySymbol, symbol_sections, tiny_elf

BUILD_ID = b"\x31" * 20
NOTE = TinySection(".note.gnu.build-id", b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0" + BUILD_ID, 0x300, "NOTE", 2)
STRIPPED = tiny_elf([TinySection(".text", b"\x90" * 64, 0x1000, flags=6), NOTE])
DEBUG = tiny_elf([TinySection(".text", bytes(64), 0x1000, "NOBITS", 6), NOTE,
                  *symbol_sections([TinySymbol("f", 0x1000, 16)], 3), TinySection(".debug_info", b"x")])  # fmt: skip


@contextmanager
def server(answers) -> Iterator[tuple[str, list[str]]]:
    """Serves {path: bytes or status}; yields (url, list of paths asked for)."""
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            answer = answers.get(self.path, 404)
            if isinstance(answer, int):
                self.send_error(answer)
                return
            body, length = answer if isinstance(answer, tuple) else (answer, len(answer))
            self.send_response(200)
            self.send_header("Content-Length", str(length))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        threading.Thread(target=httpd.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{httpd.server_address[1]}", asked
        httpd.shutdown()


def client(tmp_path, *urls, **limits) -> Debuginfod:
    return Debuginfod(urls, tmp_path / "cache", Diagnostics(), **limits)


PATH = f"/buildid/{BUILD_ID.hex()}"


def test_a_file_is_downloaded_once_into_the_standard_layout(tmp_path) -> None:
    seen = []
    with server({f"{PATH}/debuginfo": DEBUG}) as (url, asked):
        asker = client(tmp_path, url, progress=lambda *call: seen.append(call))
        assert [f.build_id for f in asker.fetch("debuginfo", BUILD_ID)] == [BUILD_ID]
        assert [f.build_id for f in asker.fetch("debuginfo", BUILD_ID)] == [BUILD_ID]
    assert asked == [f"{PATH}/debuginfo"] and seen[-1][1:] == (len(DEBUG), len(DEBUG))
    assert (tmp_path / "cache" / BUILD_ID.hex() / "debuginfo").read_bytes() == DEBUG
    assert [p.name for p in (tmp_path / "cache" / BUILD_ID.hex()).iterdir()] == ["debuginfo"]


def test_a_miss_is_cached(tmp_path) -> None:
    with server({}) as (url, asked):
        asker = client(tmp_path, url)
        assert not list(asker.fetch("executable", BUILD_ID)) and not list(asker.fetch("executable", BUILD_ID))
    assert len(asked) == 1 and not asker.diagnostics.counts


def test_the_second_server_is_queried_after_a_miss_of_the_first(tmp_path) -> None:
    with server({}) as (first, _), server({f"{PATH}/executable": STRIPPED}) as (second, _):
        assert list(client(tmp_path, first, second).fetch("executable", BUILD_ID))


@pytest.mark.parametrize("answer", [500, (STRIPPED[:100], len(STRIPPED)), b"no elf file"])
def test_bad_responses_are_counted_and_leave_no_partial_file(tmp_path, answer) -> None:
    with server({f"{PATH}/executable": answer}) as (url, _):
        asker = client(tmp_path, url)
        assert not list(asker.fetch("executable", BUILD_ID))
    assert sum(count.count for count in asker.diagnostics.counts.values()) == 1
    found = [p for p in (tmp_path / "cache").rglob("*") if p.is_file() and p.stat().st_size]
    assert all(p.read_bytes() == b"no elf file" for p in found)


def test_an_unreachable_server_is_queried_once(tmp_path) -> None:
    asker = client(tmp_path, "http://127.0.0.1:1")
    for kind in ("executable", "debuginfo"):
        assert not list(asker.fetch(kind, BUILD_ID))
    assert asker.diagnostics["debuginfod_failed"] == 1


def test_size_and_time_are_limited(tmp_path) -> None:
    with server({f"{PATH}/executable": STRIPPED}) as (url, _):
        assert not list(client(tmp_path, url, max_size=10).fetch("executable", BUILD_ID))
        assert not list(client(tmp_path, url, max_seconds=-1).fetch("executable", BUILD_ID))
        assert list(client(tmp_path, url).fetch("executable", BUILD_ID))


def test_the_unpacking_limit_bounds_downloads(tmp_path, monkeypatch) -> None:
    """DEBUGINFOD_MAXSIZE lowers the limit of --max-unpacked and does not raise it."""
    with server({f"{PATH}/executable": STRIPPED}) as (url, _):
        for most, variable, said in ((10, "1000000", "--max-unpacked"), (10**6, "10", "DEBUGINFOD_MAXSIZE")):
            monkeypatch.setenv("DEBUGINFOD_MAXSIZE", variable)
            asker = client(tmp_path, url)
            with limit_unpacking(most):
                assert not list(asker.fetch("executable", BUILD_ID))
            reason = asker.diagnostics.counts["debuginfod_failed"].first
            assert f"larger than 10 bytes; {said}" in str(reason)
            assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
        monkeypatch.setattr(unpack_limit, "free_space", lambda _: -1)
        asker = client(tmp_path, url, max_size=10**6)
        assert not list(asker.fetch("executable", BUILD_ID))
        assert "set DEBUGINFOD_CACHE_PATH to use another folder" in str(
            asker.diagnostics.counts["debuginfod_failed"].first
        )


def test_a_server_cannot_pass_off_another_build(tmp_path) -> None:
    with server({f"/buildid/{'77' * 20}/executable": STRIPPED}) as (url, _):
        places = SearchPaths(system_debug_dir=None, proc=None)
        found = Finder(places, (client(tmp_path, url).fetch,)).find("/gone", b"\x77" * 20)
    assert not found.files and "another build" in found.reason


def test_the_finder_fetches_only_missing_files(tmp_path) -> None:
    (tmp_path / "prog").write_bytes(STRIPPED)
    with server({f"{PATH}/executable": STRIPPED, f"{PATH}/debuginfo": DEBUG}) as (url, asked):
        places = SearchPaths(symfs=tmp_path, system_debug_dir=None, proc=None)
        found = Finder(places, (client(tmp_path / "c", url).fetch,)).find("/prog", BUILD_ID)
    assert asked == [f"{PATH}/debuginfo"]
    assert found.symbols is not None and found.symbols.section(".symtab") and found.code is not found.symbols


def test_the_cache_comes_from_the_environment(monkeypatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    monkeypatch.delenv("DEBUGINFOD_CACHE_PATH", raising=False)
    assert cache_directory() == Path("/x/debuginfod_client")
    monkeypatch.setenv("DEBUGINFOD_CACHE_PATH", "/c")
    assert cache_directory() == Path("/c")


def test_servers_are_asked_that_the_web_has() -> None:
    """elfutils' list may name files and other protocols, which urllib would open."""
    given = ("https://a/", "ftp://c", "file:///d", "http://b")
    options = SymbolOptions(debuginfod_urls=given)
    fetch = make_source_fetcher(options, Diagnostics())
    assert fetch is not None and fetch.__self__.urls == ("https://a", "http://b")
    assert make_source_fetcher(SymbolOptions(debuginfod_urls=given[1:3]), Diagnostics()) is None
    assert make_finder(SymbolOptions(debuginfod_urls=given[1:3]), Diagnostics()).is_local


@pytest.mark.skipif(not shutil.which("debuginfod"), reason="no debuginfod server on this machine")
def test_elfutils_debuginfod_serves_both_files(tmp_path) -> None:
    """elfutils' own server scans a directory and hands out both files of one build id."""
    files = tmp_path / "files"
    files.mkdir()
    data = Path(__file__).parents[3] / "symbolizer" / "data"
    for name in ("split.so", "split.so.debug"):
        shutil.copy(data / name, files / name)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = ["debuginfod", "-p", str(port), "-d", str(tmp_path / "db.sqlite"), "-F", str(files), "-t", "1"]
    environment = {**os.environ, "HOME": str(tmp_path), "DEBUGINFOD_URLS": ""}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    try:
        url = f"http://127.0.0.1:{port}"
        from perf2x.base.binaries.elf.elf_file import open_elf

        build_id = open_elf(files / "split.so").build_id
        wait_until_scanned(f"{url}/buildid/{build_id.hex()}/debuginfo", process)
        places = SearchPaths(system_debug_dir=None, proc=None)
        found = Finder(places, (client(tmp_path, url).fetch,)).find("/nowhere/split.so", build_id)
        assert found.code is not None and found.dwarf is not None and found.symbols is not None
        assert found.symbols.section(".symtab")
        assert not list(client(tmp_path / "other", url).fetch("executable", b"\x99" * 20))
    finally:
        process.terminate()
        process.wait(20)


def wait_until_scanned(address, process) -> None:
    end = time.monotonic() + 20
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=2) as answer:
                answer.read()
                return
        except OSError:
            time.sleep(0.2)
    pytest.skip("the server did not get ready")


def test_source_files(tmp_path) -> None:
    address = f"/buildid/{BUILD_ID.hex()}/source/src/a%20b/%23c%25.c"
    with server({address: b"int a;\n"}) as (url, asked):
        one = client(tmp_path, url)
        found = one.source(BUILD_ID, "/src/a b/#c%.c")
        assert found is not None
        assert found.read_bytes() == b"int a;\n"
        assert found.parent == tmp_path / "cache" / BUILD_ID.hex()
        assert one.source(BUILD_ID, "/src/a b/#c%.c") == found
        assert one.source(BUILD_ID, "/../../etc/passwd") is None
        assert client(tmp_path, url).source(BUILD_ID, "/../../etc/passwd") is None
    assert asked == [address, f"/buildid/{BUILD_ID.hex()}/source/../../etc/passwd"]
    assert {path.parent for path in tmp_path.rglob("*") if path.is_file()} == {found.parent}
