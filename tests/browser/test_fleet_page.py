"""The page of a part of a fleet: a choice in its header is a question that its own address takes."""

from pathlib import Path

import pytest

from tests.browser.opened import opened
from tests.support.command import perf2x
from tests.unit.cli.diff_inputs import forged

pytestmark = pytest.mark.browser


def test_the_header_stands_above_a_page_that_works(tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    pytest.importorskip("deltalake")
    from perf2x.fleet.fleet_page import FleetPages
    from perf2x.storage.dataset.sql.duckdb_engine import engine

    for version, count in (("1", 3), ("2", 9)):
        file = forged(tmp_path / version, [0x1010] * count + [0x2010] * 3, comm="x", hostname="web")
        words = ("-t", "parquet", "-o", tmp_path / "ds", "-q", "--tag", f"version={version}")
        assert perf2x("convert", file, *words).code == 0
    with engine(tmp_path / "ds", "by_function") as connection:
        pages = FleetPages(connection, "fleet")
        for name, query in (("part", "version=2"), ("compared", "version=2&before.version=1")):
            (tmp_path / f"{name}.html").write_bytes(pages.answer(query))
    plotted = "!!document.querySelector('#trend svg')"
    show = f"[document.title, document.querySelectorAll('#fleet select').length, total, {plotted}]"
    names = ("part", "compared")
    job = {"viewer": "page", "evaluate": show, "axe": True}
    jobs = {name: job | {"file": str(tmp_path / f"{name}.html"), "shot": f"{name}.png"} for name in names}
    seen = opened(tmp_path, jobs)
    assert [(told["errors"], told["complaints"]) for told in seen.values()] == [([], []), ([], [])]
    assert seen["part"]["value"] == ["fleet, version 2", 10, 12000, True]
    assert seen["compared"]["value"][:2] == ["fleet, version 2", 10]
