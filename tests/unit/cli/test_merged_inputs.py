"""Several recordings that one command adds up."""

from pathlib import Path

import pytest

from tests.support.command import folded, perf2x, recording
from tests.unit.cli.diff_inputs import QUICK, labelled, read_pprof


def test_independent_recordings_are_added_up_and_keep_their_tags(pair: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "sum.pb.gz"
    tags = ("--tag", "commit=old", "--tag", "commit=new", "--tag", "host=ci")
    assert perf2x("convert", *pair, *QUICK, *tags, "-o", out).code == 0
    message = read_pprof(out)
    assert labelled(message, "commit") == {"old": [10, 10000], "new": [12, 12000]}
    assert labelled(message, "host") == {"ci": [22, 22000]}
    assert message.duration_nanos == 9 + 11
    assert folded(*pair) == {
        "app;[o5.so];[o1.so]": 7, "app;[o5.so];[o2.so]": 14, "app;[o5.so];[o3.so]": 1,
    }  # fmt: skip


def test_the_order_of_inputs_does_not_matter(pair: tuple[Path, Path], tmp_path: Path) -> None:
    out = [tmp_path / "a.pb.gz", tmp_path / "b.pb.gz"]
    for path, inputs in zip(out, (pair, pair[::-1]), strict=True):
        assert perf2x("convert", *inputs, *QUICK, "-o", path).code == 0
    assert out[0].read_bytes() == out[1].read_bytes()


@pytest.mark.parametrize("name", ["html", "chrome", "speedscope", "firefox", "perfetto", "otlp"])
def test_timelines_of_several_recordings_can_be_written(pair: tuple[Path, Path], tmp_path: Path, name: str) -> None:
    assert perf2x("convert", *pair, *QUICK, "-t", name, "-o", tmp_path / "out").code == 0


def test_real_recordings_add_up(tmp_path: Path) -> None:
    words = (recording("calls"), recording("family"))
    expected: dict[str, int] = {}
    for word in words:
        for stack, number in folded(word).items():
            expected[stack] = expected.get(stack, 0) + number
    assert folded(*words) == expected
