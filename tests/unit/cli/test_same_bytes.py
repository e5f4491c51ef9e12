"""Equal recordings and commands give equal files, whatever ran before and however many processes run."""

from pathlib import Path

import pytest

from tests.support.command import perf2x

DEFERRED = Path(__file__).parents[3] / "examples/deferred"
FORMATS = ["pprof", "collapsed", "chrome"]


def converted(folder: Path, cache: Path, jobs: int = 1, formats: list[str] = FORMATS) -> dict[str, bytes]:
    """Output files by name, of a machine with this cache directory."""
    folder.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        for name in ("XDG_CACHE_HOME", "LOCALAPPDATA", "HOME"):
            patch.setenv(name, str(cache))
        for form in formats:
            given = ("--symfs", DEFERRED / "symfs", "--kallsyms", DEFERRED / "kallsyms.xz", "--jobs", jobs)
            ran = perf2x("convert", DEFERRED / "perf.data", *given, "--to", form, "-o", folder / form, "-q")
            assert (ran.code, ran.err) == (0, "")
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def wanted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Outputs of a machine that has never run perf2x."""
    return converted(tmp_path_factory.mktemp("new") / "out", tmp_path_factory.mktemp("empty"))


def fill(cache: Path, state: str) -> None:
    """Make the cache directory as an earlier run, and what happened to it since, left it."""
    if state == "empty":
        return
    converted(cache.parent / "earlier", cache, formats=["collapsed"])
    kept = [path for path in cache.rglob("*") if path.is_file()]
    assert kept
    for path in kept:
        data = bytearray(path.read_bytes())
        if state == "cut":
            del data[len(data) // 2 :]
        elif state == "flipped":  # everything but header and end: lines, addresses, names
            data[80:-16] = bytes(byte ^ (at % 64 == 0) for at, byte in enumerate(data[80:-16]))
        path.write_bytes(data)


@pytest.mark.parametrize(("state", "jobs"), [("empty", 2), ("filled", 1), ("cut", 2), ("flipped", 1)])
def test_same_bytes(state: str, jobs: int, wanted: dict[str, bytes], tmp_path: Path) -> None:
    assert sorted(wanted) == sorted(FORMATS) and all(wanted.values())
    (tmp_path / "cache").mkdir()
    fill(tmp_path / "cache", state)
    assert converted(tmp_path / "out", tmp_path / "cache", jobs) == wanted
