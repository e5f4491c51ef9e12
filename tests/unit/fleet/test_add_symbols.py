"""Objects that a build made name the places that recordings have of them, and nothing else is looked at."""

import shutil
from pathlib import Path

import pytest

from tests.support.command import perf2x
from tests.support.datasets import add_recording, rows
from tests.support.fleets import files_of
from tests.support.recordings import CORPUS
from tests.support.tiny_elf import TinySection, TinySymbol, symbol_sections, tiny_elf

pytest.importorskip("duckdb")
pytest.importorskip("deltalake")

DEMO = CORPUS / "common" / "symfs" / "demo"


@pytest.fixture(scope="module")
def profiles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("add") / "profiles"
    for name in ("calls", "family"):
        add_recording(folder, CORPUS / name / "perf.data")
    return folder


def add(folder: Path, *objects: Path | str) -> str:
    ran = perf2x("fleet", "add-symbols", folder, *objects, env={"XDG_CACHE_HOME": str(folder.parent / "cache")})
    assert ran.code == 0, ran.said
    return ran.said


def named(folder: Path) -> set[str]:
    """File names of the objects that have names."""
    ids = {row["object_id"] for row in rows(folder, "symbols") if not row["reason"]}
    return {Path(row["file"]).name for row in rows(folder, "places") if row["object_id"] in ids}


def test_objects_name_their_own_places(profiles: Path, tmp_path: Path) -> None:
    """Whatever the files are called, with the names that the recorded paths would give."""
    folder, build = shutil.copytree(profiles, tmp_path / "profiles"), tmp_path / "build"
    build.mkdir()
    (build / "notes.txt").write_text("no object")
    shutil.copy(DEMO / "calls", build / "renamed")
    assert add(folder, build).endswith("places got names, in 1 object")
    assert named(folder) == {"calls"}
    before = files_of(folder)
    assert "every place of these objects that can have a name has one" in add(folder, DEMO / "jit")
    assert files_of(folder) == before
    add(folder, DEMO)
    assert named(folder) == {"calls", "family"}
    words = ("fleet", "symbolize", "--symfs", CORPUS / "common" / "symfs")
    other = shutil.copytree(profiles, tmp_path / "other")
    assert perf2x(*words, other, env={"XDG_CACHE_HOME": str(tmp_path / "cache")}).code == 0
    sql = "SELECT function, self FROM by_function WHERE object IN ('calls', 'family') ORDER BY ALL"
    answers = [perf2x("fleet", "query", one, sql, "--format", "csv").out for one in (folder, other)]
    assert answers[0] == answers[1] and "main" in answers[0]


def test_a_debug_file_alone_gives_names(profiles: Path, tmp_path: Path) -> None:
    (build_id,) = {row["build_id"] for row in rows(profiles, "places") if row["file"].endswith("/calls")}
    note = b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0" + bytes.fromhex(build_id)
    sections = [
        TinySection(".text", b"", 0x1000, "NOBITS", 6),
        TinySection(".note.gnu.build-id", note, 0, "NOTE", 2),
        *symbol_sections([TinySymbol("all_of_it", 0, 1 << 30)], 1),
    ]
    (tmp_path / "calls.debug").write_bytes(tiny_elf(sections))
    folder = shutil.copytree(profiles, tmp_path / "profiles")
    assert "places got names" in add(folder, tmp_path / "calls.debug")


@pytest.mark.parametrize("content", [b"no object", tiny_elf([TinySection(".text", bytes(8), 0, flags=6)])])
def test_what_names_nothing_is_refused(profiles: Path, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "one").write_bytes(content)
    before = files_of(profiles)
    for wrong in (tmp_path / "one", tmp_path, tmp_path / "none"):
        ran = perf2x("fleet", "add-symbols", profiles, DEMO / "calls", wrong)
        assert (ran.code, str(wrong) in ran.said) == (1, True), ran.said
    assert files_of(profiles) == before
