"""``--anonymize``: nothing that names programs or people is left, and the shape of the profile is the same."""

import gzip
from pathlib import Path

import pytest

from tests.support.command import folded, perf2x, recording
from tests.support.recordings import CORPUS

CALLS = (recording("calls"), "--symfs", CORPUS / "common/symfs", "--kallsyms", CORPUS / "calls/kallsyms.xz")
SECRETS = (
    "calls",
    "descend",
    "libc",
    "/demo",
    "/usr",
    "recorder",
    "21926",
    "2095ab6d9acb",
    "main.c",
    "-F 499",
)


@pytest.mark.parametrize(
    "name", ["pprof", "chrome", "collapsed", "html", "speedscope", "firefox", "svg", "perfetto", "otlp"]
)
def test_no_format_tells(name: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    plain = ("--set", "compress=no") if name == "html" else ()
    words = (*CALLS, "-t", name, "-o", out, "--anonymize", "s3cret", "--root", "process", *plain)
    assert perf2x("convert", *words).code == 0
    data = out.read_bytes()
    text = (gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data).decode("utf-8", "replace")
    text = text.partition("</style>")[2] or text
    if name == "html":
        text = text[text.index('<script id="data"') :]
        text = text[: text.index("</script>")]
    assert [secret for secret in SECRETS if secret in text] == []
    assert "s3cret" not in text
    assert "read_zero" in text, "the kernel is nobody's secret"


def test_the_shape_is_the_same() -> None:
    plain = folded(*CALLS, symbols=True)
    hidden = folded(*CALLS, "--anonymize", "s3cret", symbols=True)
    assert sorted(plain.values()) == sorted(hidden.values())
    assert sorted(len(stack.split(";")) for stack in plain) == sorted(len(stack.split(";")) for stack in hidden)


def test_equal_secrets_give_equal_hashes() -> None:
    first = folded(*CALLS, "--anonymize", "a", symbols=True)
    assert first == folded(*CALLS, "--anonymize", "a", symbols=True)
    assert first != folded(*CALLS, "--anonymize", "b", symbols=True)
