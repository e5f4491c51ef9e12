"""Pages of parts of a fleet: sums are those of the recordings, questions choose, and nothing else is answered."""

import re
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from perf2x.base.errors import OptionError
from perf2x.cli.view.http_server import PageServer
from perf2x.fleet.fleet_page import FleetPages
from perf2x.fleet.slice_profile import slice_profile
from perf2x.model.profile.stack_tree import depths
from perf2x.pipeline.load import load
from perf2x.pipeline.load_options import LoadOptions
from tests import forge
from tests.forge import kernel as k
from tests.support.command import perf2x
from tests.support.extremes import EVENT, SAMPLE, STAMP

pytest.importorskip("duckdb")
pytest.importorskip("deltalake")


def recording(host: str, hot: int, many: int = 0) -> bytes:
    """Two programs' functions, one called by the other, and ``many`` that hardly count."""
    records: list[forge.Record] = [
        forge.Mmap(pid=10, tid=10, addr=row << 16, len=0x10000, filename=f"/bin/{name}", stamp=STAMP)
        for row, name in enumerate(("main", "hot<b>", "rare"), 1)
    ]
    stacks = [(0x20000, 0x10005), (0x10000,), *((0x30000 + row, 0x10005 + row) for row in range(many))]
    for time, chain in enumerate(stacks, 1000):
        period = (hot, 5000)[time - 1000] if time < 1002 else 1
        records.append(replace(SAMPLE, time=time, period=period, ip=chain[0], chain=(k.CONTEXT_USER, *chain)))
    session = forge.Session((EVENT,), features=forge.Features(hostname=host))
    return forge.write_file(session, records)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fleet")
    for number, (host, version, hot, many) in enumerate(
        [("web1", "1", 3000, 0), ("web2", "1", 3100, 4), ("web1", "2", 9000, 0), ("web2", "2", 9100, 4)]
    ):
        file = folder / f"{number}.data"
        file.write_bytes(recording(host, hot, many))
        words = ("--tag", "service=web", "--tag", f"version={version}", "--start-time", f"2026-11-2{version}T10:00:00Z")
        assert perf2x("convert", file, "-t", "parquet", "-o", folder / "ds", "-q", *words).code == 0
    return folder / "ds"


@pytest.fixture(scope="module")
def pages(dataset: Path) -> Iterator[FleetPages]:
    from perf2x.storage.dataset.sql.duckdb_engine import engine

    with engine(dataset, "by_function") as connection:
        yield FleetPages(connection, "fleet")


def test_a_part_has_the_sums_of_its_recordings(pages: FleetPages, dataset: Path) -> None:
    part = slice_profile(pages._connection, pages._numbers({"version": "2"}), "cpu-clock", "part")
    part.check()
    whole = load([f"{dataset}?version=2"], LoadOptions()).profile
    assert part.samples.value.sum() == whole.samples.value.sum() == 28104
    assert part.samples.count.sum() == whole.samples.count.sum()
    assert int(depths(part.stacks.parent.astype(np.int64)).max()) == 1
    shown = [part.strings[row] for row in part.mappings.filename]
    assert shown == ["hot<b>", "main", "rare"]


def test_what_is_too_small_to_see_is_one_frame(pages: FleetPages) -> None:
    part = slice_profile(pages._connection, pages._numbers({}), "cpu-clock", "part")
    names = [part.strings[row] for row in part.functions.name]
    assert names == ["[less than 0.05 %]"]
    rest = int(np.flatnonzero(part.locations.synthetic)[0])
    (row,) = np.flatnonzero(part.stacks.location == rest)
    assert part.samples.value[part.samples.stack == row].tolist() == [8]
    with pytest.raises(OptionError, match="no samples of cycles in this part"):
        slice_profile(pages._connection, [], "cycles", "part")


def test_questions_choose_parts(pages: FleetPages) -> None:
    page = pages.answer("service=web&version=2").decode()
    assert "<option selected>web</option>" in page and "<option selected>2</option>" in page
    assert "<title>fleet, service web, version 2</title>" in page
    assert re.search(r"Share of \[(hot&lt;b&gt;|main)\] by day and version", page) and page.count("<polyline") == 2
    compared = pages.answer("version=2&before.version=1").decode()
    assert "<title>fleet, version 2</title>" in compared
    assert "hot<b>" not in page.partition("<header>")[0]
    wrong = pages.answer("service=%3Cb%3E&function=%27").decode()
    assert "no samples of cpu-clock" in wrong and "<b>" not in wrong.replace("<b>compared with</b>", "")


def test_the_trend_is_the_share(pages: FleetPages) -> None:
    page = pages.answer("function=%5Bmain%5D").decode()
    found = re.findall(r"<title>(2026-11-2. .): ([\d.]+)%</title>", page)
    assert [(name, round(float(share))) for name, share in found] == [("2026-11-21 1", 62), ("2026-11-22 2", 36)]


def test_a_page_to_keep_has_no_choices(dataset: Path, tmp_path: Path) -> None:
    out = tmp_path / "x.html"
    ran = perf2x("fleet", "view", dataset, "-o", out, "--part", "version=2", "--compare", "version=1")
    assert (ran.code, ran.said.endswith("x.html (open it in any browser)")) == (0, True), ran.said
    head = out.read_text().partition("<header>")[0]
    assert "version 2, compared with" in head and "<form" not in head
    again = tmp_path / "y.html"
    perf2x("fleet", "view", dataset, "-o", again, "--part", "version=2", "--compare", "version=1")
    assert out.read_bytes() == again.read_bytes()


def test_questions_are_answered_behind_the_same_guards(pages: FleetPages) -> None:
    with PageServer({"": pages.answer}) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            with urllib.request.urlopen(f"{server.url}?version=2", timeout=60) as answer:
                assert b"version 2" in answer.read()
            for url, host in ((server.url, "evil.example"), (server.url.replace(server.path, "/"), "localhost")):
                with pytest.raises(urllib.error.HTTPError):
                    urllib.request.urlopen(urllib.request.Request(url, headers={"Host": host}), timeout=60)
        finally:
            server.shutdown()
            thread.join()
