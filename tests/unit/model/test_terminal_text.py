"""Printed text is one line of harmless characters, whatever names a recording holds."""

import unicodedata
from pathlib import Path

import pytest

from perf2x.model.printable_text import MESSAGE_LENGTH, NAME_LENGTH, escaped, safe_message, short
from tests import forge
from tests.support.command import Ran, perf2x

HOSTILE = "a\x1b[2J\x9b31m\u202e\u2066\u200b\u2028\r\n\x7f\tz\udcff"
NAMED = HOSTILE + "/x" * 1000
"""A hostile argument of a command."""
BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def test_terminal_escapes_are_made_visible() -> None:
    every = "".join(map(chr, range(0x3000)))
    shown = escaped(every)
    assert {unicodedata.category(char) for char in shown}.isdisjoint({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
    assert not set(shown) & set(BIDI)
    assert escaped(HOSTILE) == r"a\x1b[2J\x9b31m\u202e\u2066\u200b\u2028\r\n\x7f\tz\udcff"


def test_ordinary_text_is_unchanged() -> None:
    text = "std::vector<int>::push_back(int&&) – 12.3 µs, Grüße, 日本語, e\u0301"
    assert escaped(text) == text == safe_message(text)


def test_long_names_keep_their_ends() -> None:
    name = "begin" + "x" * 4000 + "end"
    assert len(short(name)) == NAME_LENGTH
    assert short(name).startswith("begin") and short(name).endswith("end") and "…" in short(name)
    assert short("b" * NAME_LENGTH) == "b" * NAME_LENGTH
    assert [len(short("x" * 300, most)) for most in (1, 2, 3, 10, 11)] == [1, 2, 3, 10, 11]


def test_messages_are_bounded() -> None:
    assert len(safe_message("word " * 10_000)) <= MESSAGE_LENGTH
    assert len(safe_message(f"cannot read {'x' * 4000}: no such file")) < 500
    assert safe_message(f"cannot read {'x' * 4000}: no such file").endswith(": no such file")


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """Make a recording whose names all contain terminal escapes."""
    name = HOSTILE.encode(errors="surrogateescape").decode("latin-1") + "x" * 3000
    event = forge.Event(name=name)
    mapped = forge.Mmap2(pid=1, tid=1, addr=0x1000, len=0x1000, filename=f"/{name}")
    records = [forge.Comm(pid=1, tid=1, comm="\x1b]0;me\x07"), mapped, forge.Sample(pid=1, tid=1, ip=0x1001)]
    features = forge.Features(hostname=name, command_line=("perf", name))
    path = tmp_path / "perf.data"
    path.write_bytes(forge.write_file(forge.Session(events=(event,), features=features), records))
    return path


@pytest.mark.parametrize(
    "words",
    [
        ("convert", "-t", "pprof", "-o", "{out}", "--verbose"),
        ("convert", "-t", "pprof", "-o", "{out}", "--event", "none"),
        ("convert", "-t", "pprof", "-o", "{out}", "--comm", "none"),
        ("convert", "-t", "pprof", "-o", "{out}", "--dso", "none"),
        ("top",),
        ("top", "--json"),
        ("info",),
        ("info", "--json"),
        ("dump",),
        ("diff", "{data}"),
        ("diff", "{data}", "--json"),
        ("bundle", "-o", "{out}"),
        ("top", "--format", "markdown"),
        ("top", "--format", "csv"),
        ("top", "--by", "thread", "--wide"),
        ("info", "--format", "markdown", "--symbols"),
        ("info", "--format", "csv"),
        ("diff", "{data}", "--format", "markdown", "--all"),
        ("diff", "{data}", "--format", "csv", "--all"),
        ("dump", "-v"),
        ("view",),
        ("view", "--comm", "none"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("env", [{}, {"GITHUB_ACTIONS": "true"}])
def test_no_command_prints_terminal_escapes(
    hostile: Path, tmp_path: Path, words: tuple[str, ...], env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))  # view leaves its page there
    command, *rest = (word.format(out=tmp_path / "out", data=hostile) for word in words)
    check(perf2x(command, hostile, *rest, env={"DISPLAY": "", "WAYLAND_DISPLAY": "", "BROWSER": "", **env}))


def check(ran: Ran) -> None:
    """Require output in printable characters alone."""
    assert ran.out + ran.err
    assert not {char for char in ran.out + ran.err if not char.isprintable()} - {"\n"}
    assert all(len(line) <= MESSAGE_LENGTH for line in ran.err.splitlines())


@pytest.mark.parametrize(
    "words",
    [
        (NAMED,),
        ("--" + NAMED, "top"),
        ("convert", NAMED),
        ("convert", "{data}", "-o", NAMED),
        ("convert", "{data}", "-o", "x", "--to", NAMED),
        ("convert", "{data}", "-o", "x", "--time", NAMED),
        ("convert", "{data}", "-o", "x", "--cpu", NAMED),
        ("convert", "{data}", "-o", "x", "--jobs", NAMED),
        ("convert", "{data}", "-o", "x", "--tag", NAMED),
        ("convert", "{data}", "-o", "x", "-t", "pprof", "--label", NAMED),
        ("convert", "{data}", "-o", "x", "--kallsyms", NAMED),
        ("convert", "{data}", "-o", "x", "--symfs", NAMED),
        ("convert", "{data}", "-o", "x", "--archive", NAMED),
        ("top", "--" + NAMED),
        ("top", "{data}", "-n", NAMED),
        ("top", "{data}", "--sort", NAMED),
        ("top", "{data}", "--format", NAMED),
        ("top", "{data}", "--max-unpacked", NAMED),
        ("info", NAMED),
        ("info", "{data}", NAMED),
        ("dump", NAMED),
        ("diff", NAMED, "{data}"),
        ("diff", "{data}", "{data}", "--fail-above", NAMED),
        ("view", NAMED),
        ("view", "{data}", "--serve", "--port", NAMED),
        ("bundle", NAMED),
        ("formats", NAMED),
    ],
    ids=lambda words: " ".join(words).replace(NAMED, "X").replace("{", "").replace("}", ""),
)
def test_no_error_prints_escapes_from_arguments(hostile: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    ran = perf2x(*(str(hostile) if word == "{data}" else word for word in words), env={"PWD": str(tmp_path)})
    assert ran.code in (1, 2), ran.out
    check(ran)
