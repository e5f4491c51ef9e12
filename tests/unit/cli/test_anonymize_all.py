"""No output of any format tells a name under ``--anonymize``, whatever its settings; those that would refuse it."""

import base64
import gzip
import re
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from perf2x import Filters, Grouping, SymbolOptions, convert, read
from perf2x.base.installed_packages import entry_points_by_name
from perf2x.errors import OptionError
from perf2x.kernel.registry import EMITTERS, load_emitter
from perf2x.model.annotate_options import ListingOptions
from perf2x.model.format_features import CodeRequest
from perf2x.model.plugin_options import NAMES
from perf2x.model.setting import settings_in
from tests.support import rich_recording
from tests.support.command import perf2x
from tests.support.rich_recording import SECRETS

REFUSING = {"autofdo", "bolt", "gcov", "perf-script"}
HIDING = [name for name in entry_points_by_name(EMITTERS) if NAMES in load_emitter(name)().needs.honours]
ADDED = ("--root", "thread"), ("--root", "cgroup"), ("--off-cpu", "beside"), ("--names", "full")
"""Options that put names where they would not be, one for each format in turn."""


def test_formats_that_cannot_hide_names_refuse() -> None:
    assert {*entry_points_by_name(EMITTERS)} - {*HIDING} == REFUSING


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    folder = tmp_path_factory.mktemp("rich")
    rich_recording.write(folder)
    return str(folder / "perf.data"), "--symfs", str(folder / "symfs"), "--kallsyms", str(folder / "kallsyms")


def unpacked(data: bytes, depth: int = 0) -> Iterator[bytes]:
    """Yield bytes, and all that is compressed or base64 in them."""
    yield data
    if depth > 2:
        return
    for match in re.finditer(rb"\x1f\x8b\x08|[\x78][\x01\x5e\x9c\xda]", data):
        inflated = zlib.decompressobj(wbits=47)
        try:
            yield from unpacked(inflated.decompress(data[match.start() :]), depth + 1)
        except zlib.error:
            continue
    for text in re.findall(rb"[A-Za-z0-9+/]{64,}={0,2}", data):
        yield from unpacked(base64.b64decode(text + b"=" * (-len(text) % 4)), depth + 1)


def told(data: bytes, secrets: tuple[str, ...] = SECRETS) -> list[str]:
    """The secrets in an output, in any encoding of its own."""
    pieces = list(unpacked(data))
    return [secret for secret in secrets if any(secret.encode() in piece for piece in pieces)]


def test_secrets_are_found_where_names_are_told(recorded: tuple[str, ...], tmp_path: Path) -> None:
    """The search sees them in every format, so that not finding them means something."""
    for name in HIDING:
        assert perf2x("convert", *recorded, "-t", name, "-o", tmp_path / name, "-q").code == 0
        assert "calls_pigeon" in told((tmp_path / name).read_bytes()), name
        assert name == "svg" or "websrv" in told((tmp_path / name).read_bytes()), name
    assert told(b"data:" + base64.b64encode(gzip.compress(bytes(range(256)) + b"websrv"))) == ["websrv"]


def settings(name: str) -> Iterator[tuple[str, ...]]:
    """Words for each value but the default of each setting of a format that is a choice, a switch or a list."""
    yield ()
    for entry in settings_in(load_emitter(name)).values():
        values = entry.all_choices or (("yes", "no") if isinstance(entry.default, bool) else ())
        if isinstance(entry.default, tuple):
            values = (",".join(value for value in entry.all_choices),)
        values = ("no",) if entry.name == "instructions" else values  # they are refused: test_callgrind.py
        default = {True: "yes", False: "no"}.get(entry.default, entry.default)
        values = tuple(value for value in values if value != default)
        if not entry.names:
            yield from (("--set", f"{entry.name}={value}") for value in values)
        else:
            word = entry.names[0]
            yield from ((word,) if value == "yes" else (word, value) for value in values if value not in ("", "no"))
    yield ("--event", "all") if name == "collapsed" else ("--event", "page-faults")


@pytest.mark.parametrize("name", HIDING)
def test_no_output_tells_a_name(name: str, recorded: tuple[str, ...], tmp_path: Path) -> None:
    hidden = (*recorded, "-t", name, "--anonymize", "s3cret", "-q")
    for row, words in enumerate((*settings(name), ADDED[HIDING.index(name) % len(ADDED)])):
        more = ("--value", "samples") if words == ("--event", "all") else ()
        more = ("--start-time", "2026-11-21T10:00:05Z") if "timestamps=yes" in words else more
        out = tmp_path / str(row)
        ran = perf2x("convert", *hidden, "-o", out, *words, *more)
        assert (ran.code, ran.said) == (0, ""), (words, ran.said)
        assert told(out.read_bytes(), (*SECRETS, "s3cret")) == [], words
    assert perf2x("convert", *hidden, "-o", tmp_path / "out", "--per-event").code == 0
    assert [(path.name, told(path.read_bytes())) for path in tmp_path.glob("out.*") if told(path.read_bytes())] == []


def test_the_library_tells_none(recorded: tuple[str, ...], tmp_path: Path) -> None:
    source, _, symfs, _, kallsyms = recorded
    symbols = SymbolOptions(symfs=Path(symfs), kallsyms=Path(kallsyms))
    for name in HIDING:
        convert(source, tmp_path / name, to=name, symbols=symbols, anonymize="s3cret", grouping=Grouping(root="thread"))
        assert told((tmp_path / name).read_bytes()) == [], name
    for name in REFUSING:
        with pytest.raises(OptionError, match=f"{name} cannot take anonymize: "):
            convert(source, tmp_path / name, to=name, symbols=symbols, anonymize="s3cret")
    profile = read(source, symbols=symbols, anonymize="s3cret", timeline=True).profile
    shown = repr([getattr(profile, field) for field in profile.__struct_fields__])
    assert told(shown.encode()) == []


def test_what_tells_names_is_not_read_beside(recorded: tuple[str, ...]) -> None:
    symbols = SymbolOptions(symfs=Path(recorded[2]))
    with pytest.raises(OptionError, match="source lines and instructions reveal the names that anonymize hides"):
        read(recorded[0], symbols=symbols, listings=ListingOptions(source=True), anonymize="s3cret")
    with pytest.raises(OptionError, match="source lines and instructions reveal the names that symbols hides"):
        read(recorded[0], symbols=None, listings=ListingOptions(source=True))
    with pytest.raises(OptionError, match="code cannot take anonymize"):
        read(recorded[0], symbols=symbols, code=CodeRequest(), anonymize="s3cret")
    with pytest.raises(OptionError, match=r"code cannot take filters\.comms"):
        read(recorded[0], symbols=symbols, code=CodeRequest(), filters=Filters(comms=("wrkr",)))


def test_commands_refuse_what_they_cannot_hide(recorded: tuple[str, ...], tmp_path: Path) -> None:
    for name in REFUSING:
        ran = perf2x("convert", *recorded, "-t", name, "-o", tmp_path / "out", "--anonymize", "s3cret")
        assert (ran.code, f"{name} cannot take --anonymize: " in ran.said) == (2, True), ran.said
    stats = ("--stats", tmp_path / "stats.json", "-o", tmp_path / "out.folded")
    assert perf2x("convert", *recorded, "--anonymize", "s3cret", *stats).code == 0
    assert told((tmp_path / "stats.json").read_bytes()) == []
    for command in ("top", "report"):
        ran = perf2x(command, *recorded, "--anonymize", "s3cret", "--root", "thread", "-q")
        assert (ran.code, told(ran.out.encode())) == (0, []), command
    ran = perf2x("diff", recorded[0], *recorded, "--all", "--anonymize", "s3cret", "-q", "-o", tmp_path / "diff.html")
    assert (ran.code, told(ran.out.encode()), told((tmp_path / "diff.html").read_bytes())) == (0, [], [])
