"""Atomic files: the old version or the new one, and nothing else in the directory."""

import errno
import os
import stat
import sys
from pathlib import Path

import pytest

from perf2x.base.files import atomic
from perf2x.base.files.atomic import atomic_file

LINUX = sys.platform == "linux"
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")


@pytest.fixture(params=["unnamed", "hidden"])
def unnamed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Both kinds of temporary file, on a system that has both."""
    if request.param == "hidden":
        monkeypatch.setattr(atomic, "create_unnamed", lambda directory, mode: -1)
    return request.param == "unnamed" and LINUX


def permissions(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path, unnamed: bool) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with atomic_file(path) as new:
        new.file.write(b"half")
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]
    with atomic_file(path) as new:
        new.file.write(b"whole")
        assert (list(tmp_path.iterdir()) == [path]) is unnamed
        new.commit()
    assert path.read_bytes() == b"whole" and list(tmp_path.iterdir()) == [path]


def test_an_error_discards_the_new_file(tmp_path: Path, unnamed: bool) -> None:
    with pytest.raises(KeyError), atomic_file(tmp_path / "file") as new:
        new.file.write(b"half")
        raise KeyError
    assert not list(tmp_path.iterdir())


def test_a_file_that_its_writer_closed_can_be_committed(tmp_path: Path, unnamed: bool) -> None:
    with atomic_file(tmp_path / "file") as new:
        new.file.write(b"whole")
        new.file.close()
        new.commit()
    assert (tmp_path / "file").read_bytes() == b"whole"


@pytest.mark.skipif(not LINUX, reason="files without a name are linked on Linux alone")
def test_a_first_version_never_has_a_hidden_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such a name would be left behind by a process that is killed before it renames the file."""
    monkeypatch.setattr(Path, "replace", None)
    with atomic_file(tmp_path / "new") as first:
        first.file.write(b"first")
        first.commit()
    assert (tmp_path / "new").read_bytes() == b"first"
    with atomic_file(tmp_path / "new") as second, pytest.raises(TypeError):
        second.commit()


@pytest.mark.skipif(not LINUX, reason="files without a name are linked on Linux alone")
def test_an_unnamed_file_is_copied_where_links_are_forbidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*where: object, **how: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", forbidden)
    path = tmp_path / "file"
    with atomic_file(path, 0o600) as new:
        new.file.write(b"whole")
        new.commit()
    assert path.read_bytes() == b"whole" and list(tmp_path.iterdir()) == [path]
    assert permissions(path) == 0o600


@POSIX
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o777])
def test_the_new_version_keeps_the_permissions_of_the_old_one(tmp_path: Path, unnamed: bool, mode: int) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(mode)
    with atomic_file(path) as new:
        new.commit()
    assert permissions(path) == mode


@POSIX
def test_a_new_file_has_the_usual_permissions_or_those_asked_for(tmp_path: Path, unnamed: bool) -> None:
    (tmp_path / "usual").touch()
    for name, mode in (("one", 0o666), ("two", 0o600)):
        with atomic_file(tmp_path / name, mode) as new:
            new.commit()
    assert permissions(tmp_path / "one") == permissions(tmp_path / "usual")
    assert permissions(tmp_path / "two") == 0o600


@POSIX
def test_nobody_reads_the_new_version_who_may_not_read_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(atomic, "create_unnamed", lambda directory, mode: -1)
    path = tmp_path / "file"
    path.touch(0o600)
    with atomic_file(path):
        assert {permissions(each) for each in tmp_path.iterdir()} == {0o600}
