"""Recorded paths under a root, which they never leave."""

from pathlib import Path

import pytest

from perf2x.base.files.sysroot import resolve_in_root


@pytest.mark.parametrize(
    "recorded",
    ["/../../../../etc/passwd", "/a/../../../etc/passwd", "/link/etc/passwd", "/up/etc/passwd", "//etc/passwd"],
)
def test_no_path_leaves_the_root(tmp_path: Path, recorded: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "link").symlink_to("/")
    (root / "up").symlink_to("../../../../../../../..")
    assert resolve_in_root(root, recorded) == root / "etc/passwd"


def test_a_loop_of_links_has_no_target(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert resolve_in_root(tmp_path, "/a/file") is None
