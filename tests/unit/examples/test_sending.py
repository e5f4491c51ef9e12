"""docs/sending.md: its commands against a server with the rules of Pyroscope, Parca and a Collector for names.

Sources of truth: pkg/validation/validate.go and ParseProfileTypeSelector of grafana/pyroscope (a sample type has no
``-``; ``NAME:type:unit:period type:period unit`` has five parts), pkg/normalizer of parca-dev/parca (each part is one
word of PromQL).
"""

import gzip
import json
import re
import shutil
import subprocess
import sys
import threading
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from perf2x.emitters.pprof import profile_pb2
from perf2x.testing import ProfileBuilder
from tests.support.otlp_profiles import read_profiles
from tests.support.outputs import emitted
from tests.support.recordings import ROOT
from tests.unit.examples.test_documents import RECORDING, blocks

WORD = re.compile(r"[A-Za-z0-9_]+")
PAGE = ROOT / "docs" / "sending.md"
Types = set[tuple[str, str]]


def of_pprof(data: bytes) -> Types:
    found = profile_pb2.Profile.FromString(gzip.decompress(data))
    kinds = (*found.sample_type, found.period_type)
    return {(found.string_table[kind.type], found.string_table[kind.unit]) for kind in kinds}


def of_otlp(data: bytes) -> Types:
    return {kind for one in read_profiles(data) for kind in (one.sample_type, one.period_type)}


def of_parca(data: bytes) -> Types:
    (series,) = json.loads(data)["series"]
    names = [label["name"] for label in series["labels"]["labels"]]
    assert names[0] == "__name__"
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[A-Za-z_]\w*", name) for name in names)
    (sample,) = series["samples"]
    return of_pprof(b64decode(sample["rawProfile"], validate=True))


SERVERS = {"/v1development/profiles": of_otlp, "/ingest": of_pprof, "/api/profiles/writeraw": of_parca}


@contextmanager
def server(stored: list[tuple[str, Types]]) -> Iterator[str]:
    """A server on the loopback interface that keeps the path and the sample types of what it takes."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            address = urlsplit(self.path)
            types = SERVERS[address.path](self.rfile.read(int(self.headers["Content-Length"])))
            good = all(WORD.fullmatch(part) for kind in types for part in kind)
            if address.path == "/ingest":
                good &= {"format", "name", "from", "until"} <= parse_qs(address.query).keys()
            stored.extend([(address.path, types)] * good)
            self.send_response(200 if good else 400)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    one = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=one.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{one.server_port}"
    finally:
        one.shutdown()
        one.server_close()
        thread.join()


@pytest.mark.parametrize("recipe", blocks(PAGE, "sh"), ids=["otlp", "pyroscope", "parca"])
def test_servers_store_what_the_recipes_send(recipe: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not shutil.which("bash") or not shutil.which("curl") or not shutil.which("base64"):
        pytest.skip("the recipes need bash, curl and base64")
    monkeypatch.setenv("NO_PROXY", "*")
    shutil.copy(RECORDING, tmp_path / "perf.data")
    stored: list[tuple[str, Types]] = []
    with server(stored) as address:
        script = re.sub(r"localhost:\d+", address, recipe)
        python = f"perf2x() {{ '{sys.executable}' -m perf2x \"$@\"; }}; set -eo pipefail\n"
        ran = subprocess.run(["bash", "-c", python + script], cwd=tmp_path, capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr.decode()
    ((path, types),) = stored
    assert path in recipe
    assert any("cpu_clock" in kind for kind in types)


@pytest.mark.parametrize("name", ["pprof", "otlp"])
def test_identifiers_are_words_and_stay_apart(name: str) -> None:
    builder = ProfileBuilder()
    for number, event in enumerate(("a_b_2", "a-b", "a:b", "cpu_core/cycles/P", "samples")):
        builder.sample([builder.function("f")], builder.thread(), builder.event(event, "cache-lines"), number + 1)
    data = emitted(builder.build(), name, sample_types="identifiers")
    types = of_pprof(data) if name == "pprof" else of_otlp(data)
    assert all(WORD.fullmatch(part) for kind in types for part in kind)
    assert len({kind for kind, unit in types if unit == "cache_lines"}) == 5
