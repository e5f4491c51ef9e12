"""Symbols in a recording of simpleperf: both encodings, and damage."""

import random
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perf2x.model.recording.simpleperf_files import FileKind, RecordedFile, shown_path
from perf2x.reader.header import symbol_sections
from perf2x.reader.header.section_reader import SectionError, SectionReader
from perf2x.reader.header.symbol_sections import debug_unwind_files, read_files
from tests.forge import simpleperf as phone
from tests.forge.simpleperf import DEX, ELF, FILE, FILE2, KERNEL, MODULE, PhoneFile, file_section

APP = "/data/app/base.apk!/lib/arm64/libapp.so"
FILES = (
    PhoneFile("[kernel.kallsyms]", KERNEL, ((2**64 - 4096, 64, "schedule"),)),
    PhoneFile("/vendor/lib/wifi.ko", MODULE, ((0x40, 16, "rx"),), 0x20, 0x1000),
    PhoneFile(APP, ELF, ((0x9000, 0x20, "_ZN3app3runEv"), (0x8000, 0x10, "main")), 0x8000, 0x7000),
    PhoneFile("/data/app/base.vdex", DEX, ((0x100, 8, "com.app.Main.onCreate"),), dex_offsets=(0x28, 2**40)),
    PhoneFile("/data/app/empty.vdex", DEX, dex_offsets=(1,)),
)


def read(number: int, section: bytes, order: str = "<") -> dict[str, RecordedFile]:
    return dict(read_files(number, SectionReader(section, order)))


@pytest.mark.parametrize(("number", "order"), [(FILE, "<"), (FILE, ">"), (FILE2, "<"), (FILE2, ">")])
def test_both_encodings_hold_the_same(number: int, order: str) -> None:
    found = read(number, file_section(FILES, number, order), order)
    assert list(found) == [file.path for file in FILES[:4]]  # no address lies in a file without symbols
    app = found[APP]
    assert (app.kind, app.min_vaddr, app.offset) == (FileKind.ELF, 0x8000, 0x7000)
    assert (app.start.tolist(), app.end.tolist()) == ([0x8000, 0x9000], [0x8010, 0x9020])
    assert app.names == ["main", "_ZN3app3runEv"]
    assert found["[kernel.kallsyms]"].end.tolist() == [2**64 - 4096 + 64]
    assert (found["/vendor/lib/wifi.ko"].min_vaddr, found["/vendor/lib/wifi.ko"].offset) == (0x20, 0x1000)
    assert found["/data/app/base.vdex"].kind is FileKind.DEX


def test_an_address_is_in_the_last_symbol_that_holds_it() -> None:
    (file,) = read(FILE, file_section(FILES[2:3], FILE)).values()
    wanted = np.array([0x7FFF, 0x8000, 0x800F, 0x8010, 0x901F, 0x9020, 2**64 - 1], "u8")
    assert file.find(wanted).tolist() == [-1, 0, 0, -1, 1, -1, -1]


def test_old_recordings_do_not_tell_the_offset() -> None:
    old = PhoneFile("/lib.so", ELF, ((1, 1, "f"),), offset=None)
    assert read(FILE, file_section([old], FILE))["/lib.so"].offset is None
    unknown = PhoneFile("/lib.so", ELF, ((1, 1, "f"),), offset=2**64 - 1)
    assert read(FILE, file_section([unknown], FILE))["/lib.so"].offset is None


def test_symbols_end_at_the_last_address() -> None:
    high = PhoneFile("[kernel.kallsyms]", KERNEL, ((2**64 - 16, 2**32 - 1, "last"),))
    assert read(FILE, file_section([high], FILE))["[kernel.kallsyms]"].end.tolist() == [2**64 - 1]


@pytest.mark.parametrize("number", [FILE, FILE2])
def test_a_cut_section_keeps_the_files_before_the_cut(number: int) -> None:
    section = file_section(FILES, number)
    whole = read(number, section)
    for end in range(len(section)):
        found: list[str] = []
        with suppress(SectionError):
            found.extend(path for path, _ in read_files(number, SectionReader(section[:end], "<")))
        assert found == list(whole)[: len(found)]
        assert end < len(section) // 2 or found


@given(st.binary(max_size=200), st.sampled_from([FILE, FILE2]))
def test_any_bytes_are_read_or_refused(data: bytes, number: int) -> None:
    for section in (data, len(data).to_bytes(4, "little") + data):
        try:
            read(number, section)
            debug_unwind_files(SectionReader(data, "<"))
        except SectionError:
            continue


def test_damaged_sections_are_read_or_refused() -> None:
    drawn = random.Random(7)
    for number in (FILE, FILE2):
        section = bytearray(file_section(FILES, number))
        for _ in range(300):
            at = drawn.randrange(len(section))
            damaged = bytes(section[:at]) + bytes([drawn.randrange(256)]) + bytes(section[at + 1 :])
            try:
                read(number, damaged)
            except SectionError:
                continue


@pytest.mark.parametrize(
    "message",
    [
        b"\x08\x01", b"\x12\x00", b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01a", b"\x0a" + b"\xff" * 11, b"\x0b",
        b"\x0a\x01", b"\x09abc", b"\x22\x02\x0a\x00", b"\x22\x02\x18\x01", b"\x30\x01",
    ],
)  # fmt: skip
def test_messages_with_wrong_fields_are_refused(message: bytes) -> None:
    with pytest.raises(SectionError):
        read(FILE2, len(message).to_bytes(4, "little") + message)


def test_unknown_fields_are_passed_over() -> None:
    extra = phone.number_field(99, 5) + b"\x551234" + b"\x511234abcd" + phone.bytes_field(77, b"later")
    message = FILES[2].message() + extra
    assert read(FILE2, len(message).to_bytes(4, "little") + message)[APP].names == ["main", "_ZN3app3runEv"]


@pytest.mark.parametrize("number", [FILE, FILE2])
def test_no_bomb_of_files(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files without symbols count, too."""
    monkeypatch.setattr(symbol_sections, "_MAX_FILES", 3)
    files = [PhoneFile(f"/{row}", ELF, ((0, 1, "f"),) * (row != 1)) for row in range(5)]
    found = read_files(number, SectionReader(file_section(files, number), "<"))
    assert [next(found)[0] for _ in range(2)] == ["/0", "/2"]
    with pytest.raises(SectionError, match="more than 3 files"):
        next(found)


@pytest.mark.parametrize("length", [0, 1])
@pytest.mark.parametrize("number", [FILE, FILE2])
def test_no_bomb_of_symbols(number: int, length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that hold no address count, too: each takes two bytes, and a while."""
    monkeypatch.setattr(symbol_sections, "_MAX_SYMBOLS", 3)
    files = [PhoneFile("/3", ELF, ((0, 1, "f"),) * 3), PhoneFile("/4", ELF, ((0, length, "f"),) * 4)]
    found = read_files(number, SectionReader(file_section(files, number), "<"))
    assert next(found)[0] == "/3"
    with pytest.raises(SectionError, match="more than 3 symbols"):
        next(found)


def test_empty_entries_end_the_section() -> None:
    """Four zero bytes make an entry; a section of them must not cost an object each."""
    for number in (FILE, FILE2):
        with pytest.raises(SectionError):
            read(number, bytes(4000))


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/data/user/0/app/perf.data_jit_app_cache:128-4096", "[JIT app cache]128-4096"),
        ("perf.data_jit_zygote_cache:0-64", "[JIT zygote cache]0-64"),
        ("./TemporaryFile-gutP02", "[JIT cache]gutP02"),
        ("/data/app/base.apk!/lib/libfoo.so", "/data/app/base.apk!/lib/libfoo.so"),
        ("/x_jit_app_cache:/lib.so", "/x_jit_app_cache:/lib.so"),
    ],
)
def test_compiled_code_is_named_as_in_reports(path: str, shown: str) -> None:
    assert shown_path(path) == shown


def test_debug_files_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    one = phone.bytes_field(1, phone.text_field(1, "/lib.so") + phone.number_field(2, 4096))
    assert debug_unwind_files(SectionReader(one, "<")) == [{"path": "/lib.so", "size": 4096}]
    monkeypatch.setattr(symbol_sections, "_MAX_FILES", 2)
    assert len(debug_unwind_files(SectionReader(one * 5, "<"))) == 2
