"""Samples that are unwound together and stitched in pieces give the stacks of one piece."""

import pytest

from perf2x.kernel import sample_pass
from perf2x.kernel.load import load
from perf2x.kernel.load_options import LoadOptions
from perf2x.stitcher.stitch import Stitcher
from tests.support import outputs
from tests.support.recordings import corpus_cases


@pytest.mark.parametrize(("name", "is_unwound"), [("unwind_short", True), ("user_only", False)])
def test_pieces_give_the_result_of_the_whole(name: str, is_unwound: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    (case,) = (case for case in corpus_cases() if case.name == name)
    pieces: list[int] = []
    add = Stitcher.add
    monkeypatch.setattr(Stitcher, "add", lambda self, *part: (pieces.append(len(part[0])), add(self, *part))[1])
    whole = outputs.emitted(load(str(case.data), LoadOptions(timeline=True)).profile, "chrome")
    (batch,) = pieces
    monkeypatch.setattr(sample_pass, "_WORDS_AT_ONCE", 8)
    assert outputs.emitted(load(str(case.data), LoadOptions(timeline=True)).profile, "chrome") == whole
    assert (sum(pieces[1:]), len(pieces[1:]) > 1) == (batch, is_unwound)
