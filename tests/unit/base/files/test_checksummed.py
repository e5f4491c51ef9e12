"""Checksummed files are read back complete or not at all."""

from hypothesis import given
from hypothesis import strategies as st

from perf2x.base.files.atomic import read_checksummed, write_checksummed


@given(data=st.binary(max_size=80), more=st.data())
def test_a_flipped_bit_and_a_lost_end_are_detected(tmp_path_factory, data, more) -> None:
    path = tmp_path_factory.mktemp("cache") / "ab" / "cd"
    assert read_checksummed(path) is None
    assert write_checksummed(path, data)
    assert read_checksummed(path) == data
    whole = path.read_bytes()
    bit = more.draw(st.integers(0, 8 * len(whole) - 1))
    flipped = bytearray(whole)
    flipped[bit // 8] ^= 1 << bit % 8
    path.write_bytes(flipped)
    assert read_checksummed(path) is None
    path.write_bytes(whole[: more.draw(st.integers(0, len(whole) - 1))])
    assert read_checksummed(path) is None


def test_a_directory_is_no_file_and_an_unwritable_path_returns_false(tmp_path) -> None:
    assert read_checksummed(tmp_path) is None
    (tmp_path / "file").touch()
    assert not write_checksummed(tmp_path / "file" / "x", b"")
