"""Names of kernel addresses that are looked up some at a time are those that one look-up gives."""

from pathlib import Path
from typing import Any

import pytest

from perf2x.symbolizer.known import location_names as place_names
from perf2x.symbolizer.symbol_options import SymbolOptions
from tests.forge.addresses import write_addresses
from tests.support.datasets import add_recordings, rows

pytest.importorskip("deltalake")

COUNT = 4000


def written(tmp_path: Path, name: str) -> list[dict[str, Any]]:
    folder = tmp_path / name
    add_recordings(folder, [tmp_path / "perf.data"], symbols=SymbolOptions(kallsyms=tmp_path / "kallsyms"))
    return [row | {"attempt": None} for row in rows(folder, "places")]


def test_parts_are_written_as_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_addresses(tmp_path / "perf.data", COUNT, kernel=True)
    lines = (f"{2**63 + 160 * number:016x} t function_{number}\n" for number in range(COUNT // 20))
    (tmp_path / "kallsyms").write_text("".join(lines))
    whole = written(tmp_path, "whole")
    assert len({line["function"] for row in whole for line in row["lines"] or ()}) == COUNT // 20
    monkeypatch.setattr(place_names, "_BATCH_SIZE", 300)
    assert written(tmp_path, "parts") == whole
