"""Names of recordings become files and addresses, and an address becomes a file."""

import os
from pathlib import Path

import pytest

from perf2x.errors import FormatError
from perf2x.fleet.input_names import expand_names, local_copy

fsspec = pytest.importorskip("fsspec")


def test_files_patterns_and_lists_in_order_and_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("b.data", "a.data", "sub/c.data", "odd[1].data"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "list").write_text("a.data\n\n  sub/*.data \n")
    monkeypatch.chdir(tmp_path)
    names = ["b.data", "*.data", "odd[1].data", f"file://{tmp_path}/sub/c.data", "gone.data"]
    found = [Path(one).relative_to(tmp_path).as_posix() for one in expand_names(names, ["list"])]
    assert found == ["b.data", "a.data", "odd[1].data", "sub/c.data", "gone.data"]
    assert expand_names([f"{tmp_path}/**/c.data"], []) == [str(tmp_path / "sub" / "c.data")]


def test_what_matches_nothing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="no file matches this pattern"):
        expand_names([f"{tmp_path}/*.data"], [])
    with pytest.raises(FormatError, match="nothing matches this pattern"):
        expand_names(["memory://nowhere/*.data"], [])
    with pytest.raises(FormatError, match="No such file"):
        expand_names([], [str(tmp_path / "list")])
    with pytest.raises(FormatError, match="nosuchprotocol"):
        expand_names(["nosuchprotocol://bucket/*"], [])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_that_a_pattern_finds_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "p.data")
    (name,) = expand_names([f"{tmp_path}/*.data"], [])
    with pytest.raises(FormatError, match=r"p\.data: not a file; pipes"), local_copy(name):
        pass


def test_objects_of_a_store_are_found_and_copied() -> None:
    store = fsspec.filesystem("memory")
    for name in ("b", "a"):
        store.pipe(f"/bucket/{name}.data", name.encode())
    first, second = expand_names(["memory://bucket/*.data"], [])
    assert (first, second) == ("memory:///bucket/a.data", "memory:///bucket/b.data")
    with local_copy(first) as path:
        assert path.read_bytes() == b"a"
    assert not path.exists()
    with pytest.raises(FormatError, match=r"memory://bucket/c\.data"), local_copy("memory://bucket/c.data"):
        pass
