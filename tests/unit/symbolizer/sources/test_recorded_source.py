"""Names in the recording itself: each kind of file has addresses of its own."""

import numpy as np
import pytest

from perf2x.base.binaries.elf.elf_file import open_elf
from perf2x.base.binaries.find.object_finder import Finder, ObjectFiles
from perf2x.base.binaries.find.search_paths import SearchPaths
from perf2x.base.diagnostics import Diagnostics
from perf2x.reader.header.section_reader import SectionReader
from perf2x.reader.header.symbol_sections import read_files
from perf2x.symbolizer.sources.recorded_source import RecordedSource
from perf2x.symbolizer.sources.symbol_source import Context, Dso, DsoKind, SymbolSource
from perf2x.symbolizer.symbol_options import SymbolOptions
from perf2x.testing import SymbolSourceContract
from tests.forge.simpleperf import FILE2, file_section
from tests.support.phone_recording import ANON as HEAP
from tests.support.phone_recording import APK, DEX, FILES, IN_MEMORY, JIT, LIB, MEMORY, PID, VDEX
from tests.support.phone_recording import MODULE as AT
from tests.support.profile_builder import make_session
from tests.support.tiny_elf import TinySection, tiny_elf


def source() -> SymbolSource:
    files = dict(read_files(FILE2, SectionReader(file_section(FILES, FILE2), "<")))
    finder = Finder(SearchPaths(system_debug_dir=None, proc=None))
    return RecordedSource(Context(SymbolOptions(), make_session(recorded_files=files), finder, Diagnostics()))


def dso(name: str, kind: DsoKind, start: int = 0, offset: int = 0, pid: int = PID) -> Dso:
    return Dso(name, b"", kind, pid, ObjectFiles(), start, start + 0x1000, offset)


def names_of(one: Dso, address: int) -> list[str]:
    symbols = source().lookup(one, np.array([address], np.uint64))
    return [symbols.functions[row].system_name for row in symbols.function.tolist()]


class TestRecorded(SymbolSourceContract):
    """A library without a file: addresses are file offsets."""

    known = ((0x1104, "_ZN3app4workEi"), (0x1140, "caller"))

    def source(self) -> SymbolSource:
        return source()

    def dso(self) -> Dso:
        return dso(APK, DsoKind.FILE, LIB, 0x1000)


@pytest.mark.parametrize(
    ("one", "address", "name"),
    [
        (dso("/vendor/wifi.ko", DsoKind.MODULE, AT), AT + 0x1015, "wifi_rx"),
        (dso("/vendor/other.ko", DsoKind.MODULE, AT), AT + 0x801, "listed"),
        (dso("[kernel.kallsyms]", DsoKind.KERNEL), AT + 0x801, "listed"),
        (dso("", DsoKind.ANONYMOUS, HEAP), HEAP + 0x21, "interpreted"),
        (dso("", DsoKind.ANONYMOUS, HEAP, pid=PID + 1), HEAP + 0x21, None),
        (dso(IN_MEMORY, DsoKind.ANONYMOUS, MEMORY, 0x20), MEMORY + 0x41, "com.example.Loaded.run"),
        (dso("[JIT app cache]0-512", DsoKind.ANONYMOUS, JIT), JIT + 0x11, "com.example.Main.hot"),
        (dso(VDEX, DsoKind.FILE, DEX, 0x400), 0x481, "com.example.Main.onCreate"),
        (dso(VDEX, DsoKind.FILE, DEX, 0x400), 0x4A0, None),
    ],
)
def test_each_kind_has_its_own_addresses(one: Dso, address: int, name: str | None) -> None:
    """The map of another process names nothing; modules that are not listed are looked up in the kernel."""
    assert names_of(one, address) == ([] if name is None else [name])


def test_addresses_in_a_file_that_was_found_are_those_of_its_symbols() -> None:
    file = open_elf(tiny_elf([TinySection(".text", b"code", 0x2000, flags=6)]), "libapp.so")
    found = Dso(APK, b"", DsoKind.FILE, PID, ObjectFiles([file]), LIB, LIB + 0x1000, 0x1000)
    assert names_of(found, 0x2104) == ["_ZN3app4workEi"]
