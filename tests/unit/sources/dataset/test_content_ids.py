"""Ids of recordings and objects are hashes of their contents."""

from pathlib import Path

import pytest

from perf2x.sources.dataset.content_ids import recording_id, text_id


def test_ids_do_not_depend_on_the_machine() -> None:
    assert text_id("file", "ab").hex() == "14fc134f05ff1b3c38090d8c0e7df720"


def test_facts_are_told_apart_by_their_borders_and_types() -> None:
    assert len({text_id(*facts) for facts in (("ab", "c"), ("a", "bc"), ("abc",), (b"abc",), (1, "1"), ("1", 1))}) == 6


def test_a_recording_is_known_by_its_bytes(tmp_path: Path) -> None:
    one, same, other = (tmp_path / name for name in ("one", "same", "other"))
    one.write_bytes(b"12")
    same.write_bytes(b"12")
    other.write_bytes(b"21")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "data").write_bytes(b"12")
    assert recording_id([one]) == recording_id([same]) == recording_id([tmp_path / "folder"])
    assert recording_id([one]) != recording_id([other])
    assert recording_id([one, other]) == recording_id([other, one])


@pytest.mark.skipif(not Path("/proc/version").exists(), reason="no files whose size is not known before they are read")
def test_a_size_that_says_nothing_is_not_believed(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.write_bytes(Path("/proc/version").read_bytes())
    assert recording_id([Path("/proc/version")]) == recording_id([copy])
