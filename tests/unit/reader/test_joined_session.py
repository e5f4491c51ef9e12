"""Several files of one session as one recording."""

from pathlib import Path

from perf2x.kernel.load import load
from perf2x.kernel.load_options import LoadOptions
from tests.support.recordings import CORPUS

FILES = [str(path) for path in sorted((CORPUS / "switch_output").glob("perf.data.*"))]


def test_stacks_are_completed_by_records_of_the_next_file() -> None:
    parts = [load(path, LoadOptions()) for path in FILES]
    whole = load(FILES, LoadOptions())
    assert [part.deferred.joined for part in parts] == [900, 552]
    assert [part.deferred.orphans for part in parts] == [0, 2]
    assert (whole.samples, whole.deferred.samples, whole.deferred.joined) == (1455, 1455, 1453)
    assert whole.deferred.orphans == 1
    assert whole.profile.samples.value.sum() == sum(part.profile.samples.value.sum() for part in parts)


def test_the_order_on_the_command_line_does_not_matter() -> None:
    forward, backward = (load(files, LoadOptions()).profile for files in (FILES, FILES[::-1]))
    assert list(forward.strings) == list(backward.strings)
    for table in ("samples", "stacks", "locations", "mappings", "threads"):
        one, other = getattr(forward, table), getattr(backward, table)
        for column in one.__slots__:
            mine, theirs = getattr(one, column), getattr(other, column)
            assert mine is theirs is None or mine.tolist() == theirs.tolist(), (table, column)


def test_files_of_other_sessions_are_summed_but_not_joined() -> None:
    files = [FILES[0], str(Path(CORPUS / "forker" / "perf.data"))]
    parts, both = [load(path, LoadOptions()) for path in files], load(files, LoadOptions())
    assert both.samples == sum(part.samples for part in parts)
    assert both.deferred.joined == sum(part.deferred.joined for part in parts)
    assert both.profile.samples.value.sum() == sum(part.profile.samples.value.sum() for part in parts)
