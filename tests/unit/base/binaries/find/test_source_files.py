"""Source files by recorded path: only where the user said, nothing but text, nothing huge."""

from pathlib import Path

import pytest

from perf2x.base.binaries.find import source_files
from perf2x.base.binaries.find.search_paths import SearchPaths
from perf2x.base.binaries.find.source_files import NOT_LOCAL, SourceFiles, SourceText

NOWHERE = SearchPaths(system_debug_dir=None, proc=None)
ABSENT = SourceText(reason="the source file was not found")


def find(recorded: str, *folders: Path, last_line: int = 1, is_installed_here: bool = True, **how) -> SourceText:
    return SourceFiles(NOWHERE, folders, **how).find(
        recorded, b"\1" * 20, last_line, is_installed_here=is_installed_here
    )


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A folder that the user names, and a file beside it that is none of ours."""
    (tmp_path / "secret.c").write_text("secret\n")
    folder = tmp_path / "src"
    (folder / "lib").mkdir(parents=True)
    (folder / "lib" / "a.c").write_text("one\ntwo\n")
    (folder / "a.c").write_text("other\n")
    return folder


def test_the_longest_end_of_the_path_wins(tree: Path) -> None:
    assert find("/build/pkg-1.2/lib/a.c", tree).lines == ["one", "two"]
    assert find("/build/pkg-1.2/a.c", tree).lines == ["other"]
    assert find("lib/a.c", tree).lines == ["one", "two"]
    assert find("./a.c", tree).lines == ["other"]


def test_folders_in_the_order_given(tree: Path, tmp_path: Path) -> None:
    assert find("/x/lib/a.c", tmp_path / "none", tree / "lib", tree).lines == ["one", "two"]
    assert find("/x/a.c", tree, tree / "lib").lines == ["other"]


@pytest.mark.parametrize(
    "recorded", ["../secret.c", "/a/../secret.c", "lib/../../secret.c", "/../../../secret.c", "..", "/", "lib", ""]
)
def test_dots_lead_nowhere_else(recorded: str, tree: Path) -> None:
    assert not find(recorded, tree).lines
    assert find(recorded, tree).reason


def test_links_lead_nowhere_else(tree: Path, tmp_path: Path) -> None:
    (tree / "out.c").symlink_to("../secret.c")
    (tree / "absolute.c").symlink_to(tmp_path / "secret.c")
    (tree / "up").symlink_to("..")
    (tree / "loop.c").symlink_to("loop.c")
    (tree / "inside.c").symlink_to("/lib/a.c")
    for recorded in ("out.c", "absolute.c", "up/secret.c", "loop.c"):
        assert find(recorded, tree) == ABSENT
    assert find("inside.c", tree).lines == ["one", "two"]


def test_the_recorded_path_only_if_the_user_wants_it(tmp_path: Path) -> None:
    path = tmp_path / "secret.c"
    path.write_text("secret\n")
    assert find(str(path)).reason == "not read; to read it, pass --source or --source-dir DIR"
    assert find(str(path), allow_recorded_paths=True).lines == ["secret"]
    assert find("secret.c", allow_recorded_paths=True) == ABSENT
    assert find(str(path), allow_recorded_paths=True, is_installed_here=False) == SourceText(reason=NOT_LOCAL)


def test_a_path_of_one_object_is_not_that_of_another(tmp_path: Path) -> None:
    path = tmp_path / "secret.c"
    path.write_text("secret\n")
    for order in ((True, False), (False, True)):
        files = SourceFiles(NOWHERE, allow_recorded_paths=True)
        for is_installed_here in order:
            assert bool(files.find(str(path), b"", 1, is_installed_here=is_installed_here).lines) is is_installed_here


def test_the_recorded_path_below_symfs(tmp_path: Path) -> None:
    (tmp_path / "root" / "src").mkdir(parents=True)
    (tmp_path / "root" / "src" / "a.c").write_text("there\n")
    (tmp_path / "secret.c").write_text("secret\n")
    paths = SearchPaths(symfs=tmp_path / "root", system_debug_dir=None)
    files = SourceFiles(paths, allow_recorded_paths=True)
    assert files.find("/src/a.c", b"", 1).lines == ["there"]
    assert files.find("/src/../../secret.c", b"", 1) == ABSENT


@pytest.mark.parametrize(
    "recorded",
    ["/proc/self/status", "/sys/kernel/notes", "/dev/null", "//proc/self/status", "/etc/../proc/self/status"],
)
def test_files_that_the_kernel_makes(recorded: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PERF2X_SYSROOT")
    assert find(recorded, allow_recorded_paths=True) == ABSENT


def test_no_text(tree: Path) -> None:
    (tree / "a.c").write_bytes(b"\x7fELF\0\1")
    assert find("a.c", tree).reason.endswith("a.c: not a text file")


def test_too_large(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_files, "MAX_FILE_SIZE", 6)
    assert find("a.c", tree).lines == ["other"]
    monkeypatch.setattr(source_files, "MAX_FILE_SIZE", 5)
    assert "a.c: larger than" in find("a.c", tree).reason


def test_fewer_lines_than_recorded(tree: Path) -> None:
    assert find("a.c", tree, last_line=2).reason == "the file has only 1 lines, the recorded one had at least 2"


def test_line_ends_and_encodings(tree: Path) -> None:
    (tree / "a.c").write_bytes(b"a\r\nb\x0cc\xff\n\nlast")
    found = find("a.c", tree)
    assert found.lines == ["a", "b\x0cc�", "", "last"]
    assert [found.line(number) for number in (0, 1, 4, 5)] == [None, "a", "last", None]


def test_a_server_comes_last(tree: Path, tmp_path: Path) -> None:
    asked = []

    def fetch(build_id: bytes, recorded: str) -> Path | None:
        asked.append((build_id, recorded))
        return tmp_path / "secret.c" if recorded == "/far/b.c" else None

    files = SourceFiles(NOWHERE, [tree], fetch)
    assert files.find("/far/a.c", b"\2", 1).lines == ["other"]
    assert files.find("/far/b.c", b"\2", 1).lines == ["secret"]
    assert files.find("/far/b.c", b"\2", 1).lines == ["secret"]
    assert files.find("relative.c", b"\2", 1) == ABSENT
    assert files.find("/far/c.c", b"", 1) == ABSENT
    assert asked == [(b"\2", "/far/b.c")]


def test_a_server_is_asked_for_each_build(tmp_path: Path) -> None:
    """Two builds of a program may have different files at one path."""
    for build in (1, 2):
        (tmp_path / f"{build}.c").write_text(f"build {build}\n")
    files = SourceFiles(NOWHERE, (), lambda build_id, recorded: tmp_path / f"{build_id[0]}.c")
    assert [files.find("/src/a.c", bytes([build]), 1).lines for build in (1, 2)] == [["build 1"], ["build 2"]]


def test_a_path_of_many_parts(tree: Path) -> None:
    assert find("/x" * 100_000 + "/lib/a.c", tree).lines == ["one", "two"]
