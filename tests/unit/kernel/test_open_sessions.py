from pathlib import Path

import pytest

from perf2x.errors import OptionError
from perf2x.kernel.load import load
from perf2x.kernel.load_options import LoadOptions
from tests.support.recordings import CORPUS

FIRST, SECOND = (str(path) for path in sorted((CORPUS / "switch_output").glob("perf.data.*"))[:2])
OTHER = str(CORPUS / "forker" / "perf.data")


def test_the_files_of_one_session_are_one_recording() -> None:
    loaded = load([FIRST, OTHER, SECOND], LoadOptions(stacks=False))
    assert loaded.sources == (FIRST, OTHER)


def test_a_file_given_twice_is_refused() -> None:
    with pytest.raises(OptionError, match="is given twice"):
        load([FIRST, SECOND, FIRST], LoadOptions(stacks=False))


def test_a_text_given_twice_is_refused(tmp_path: Path) -> None:
    text = tmp_path / "a.folded"
    text.write_text("main;work 2\n")
    with pytest.raises(OptionError, match="is given twice"):
        load([str(text), OTHER, str(text)], LoadOptions())


def test_files_of_one_session_need_the_same_tags() -> None:
    with pytest.raises(OptionError, match="are from one session; pass the same tags for both"):
        load([FIRST, SECOND], LoadOptions(stacks=False, tags=({"run": "1"}, {"run": "2"})))
    assert load([FIRST, SECOND], LoadOptions(stacks=False, tags=({"run": "1"},) * 2)).profile.labels == {"run": "1"}
