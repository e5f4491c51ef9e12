"""The recording itself in View.original: one file's bytes, unpacked, within the limit."""

from pathlib import Path

import pytest

from perf2x import read
from perf2x.api import convert
from perf2x.errors import OptionError
from tests.support.command import perf2x, recording
from tests.support.otlp_profiles import message_of


def test_it_is_kept_only_when_asked() -> None:
    data = Path(recording("calls")).read_bytes()
    assert read(recording("calls"), symbols=None).profile.original == b""
    assert read(recording("calls"), symbols=None, original=len(data)).profile.original == data


def test_what_is_above_the_limit_is_refused() -> None:
    size = Path(recording("calls")).stat().st_size
    with pytest.raises(OptionError, match=f"has {size:,} bytes, more than the requested {size - 1:,}"):
        read(recording("calls"), symbols=None, original=size - 1)


def test_several_inputs_and_directories_are_refused(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(Path(recording("calls")).read_bytes())
    for inputs in ([recording("calls"), recording("events")], tmp_path):
        with pytest.raises(OptionError, match="must be one regular file"):
            read(inputs, symbols=None, original=1 << 30)


def test_hidden_names_stay_hidden() -> None:
    with pytest.raises(OptionError, match="reveals the names that anonymize hides"):
        read(recording("calls"), symbols=None, original=1 << 30, anonymize="salt")


def test_library_and_command_write_it(tmp_path: Path) -> None:
    words = ("--no-symbols", "--set", "original-payload=1")
    ran = perf2x("convert", recording("calls"), "-o", tmp_path / "a.otlp.pb", *words)
    assert ran.code == 0, ran.err
    convert(recording("calls"), tmp_path / "b.otlp.pb", symbols=None, settings={"original_payload": 1})
    written = (tmp_path / "a.otlp.pb").read_bytes()
    assert written == (tmp_path / "b.otlp.pb").read_bytes()
    (profile,) = message_of(written).resource_profiles[0].scope_profiles[0].profiles
    assert profile.original_payload == Path(recording("calls")).read_bytes()
    assert perf2x("convert", "-", "--to", "otlp", "-o", tmp_path / "c", *words).code == 2
