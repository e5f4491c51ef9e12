import pytest

from perf2x.base.files.atomic import default_output, wants_gzip


@pytest.mark.parametrize("source", ["run.data", "run.data.gz", "run.data.tar.gz", "some/where/run.data.zst", "run"])
def test_the_output_is_named_after_the_input(source: str) -> None:
    assert default_output(source, ".pb.gz") == "run.pb.gz"


@pytest.mark.parametrize(
    ("target", "suffix", "expected"),
    [
        ("out.folded", ".folded", False),
        ("out.folded.gz", ".folded", True),
        ("out.pb.gz", ".pb.gz", False),
    ],
)
def test_gzip_follows_from_the_name(target: str, suffix: str, expected: bool) -> None:
    assert wants_gzip(target, suffix) is expected
