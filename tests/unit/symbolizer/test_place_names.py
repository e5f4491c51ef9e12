"""Names of kernel addresses that are looked up some at a time are those that one look-up gives."""

from pathlib import Path

import pytest

from perf2x.pipeline.datasets.ingest_recording import ingest
from perf2x.pipeline.load_options import LoadOptions
from perf2x.symbolizer.known import place_names
from perf2x.symbolizer.symbol_options import SymbolOptions
from tests.forge.addresses import write_addresses

COUNT = 4000


def written(tmp_path: Path, name: str) -> dict[str, bytes]:
    pytest.importorskip("pyarrow")
    folder = tmp_path / name
    options = LoadOptions(symbols=SymbolOptions(kallsyms=tmp_path / "kallsyms"))
    ingest([str(tmp_path / "perf.data")], options, folder)
    files = (path for path in sorted(folder.rglob("*.parquet")))
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_parts_are_written_as_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_addresses(tmp_path / "perf.data", COUNT, kernel=True)
    lines = (f"{2**63 + 160 * number:016x} t function_{number}\n" for number in range(COUNT // 20))
    (tmp_path / "kallsyms").write_text("".join(lines))
    whole = written(tmp_path, "whole")
    assert any(name.startswith("lines/") for name in whole)
    monkeypatch.setattr(place_names, "_AT_ONCE", 300)
    assert written(tmp_path, "parts") == whole
