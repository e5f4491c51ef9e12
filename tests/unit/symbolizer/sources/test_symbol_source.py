"""Built-in symbol sources fulfil the contract for plugins."""

from pathlib import Path

import pytest

from perf2x.base.binaries.find.object_finder import Finder, ObjectFiles
from perf2x.base.binaries.find.search_paths import SearchPaths
from perf2x.base.diagnostics import Diagnostics
from perf2x.kernel.registry import load_symbol_sources
from perf2x.symbolizer.sources.elf_source import ElfSource
from perf2x.symbolizer.sources.go_source import GoSource
from perf2x.symbolizer.sources.jitdump_source import JitdumpSource
from perf2x.symbolizer.sources.kernel_source import KernelSource
from perf2x.symbolizer.sources.module_source import ModuleSource, VmlinuxSource
from perf2x.symbolizer.sources.perf_map_source import PerfMapSource
from perf2x.symbolizer.sources.symbol_source import Context, Dso, DsoKind, SymbolSource
from perf2x.symbolizer.symbol_options import SymbolOptions
from perf2x.testing import SymbolSourceContract
from tests.support.jitdump_writer import code_load, header
from tests.support.profile_builder import make_session
from tests.support.tiny_elf import TinySection, TinySymbol, symbol_sections, tiny_elf
from tests.unit.base.binaries.go.test_pclntab import CODE as GO_CODE
from tests.unit.base.binaries.go.test_pclntab import table as go_table
from tests.unit.symbolizer.sources.test_kernel_source import BASE, MODULE_AT, module, vmlinux
from tests.unit.symbolizer.sources.test_parse_jitdump import CODE

DATA = Path(__file__).parents[1] / "data"


class Prepared(SymbolSourceContract):
    """Files in a directory of its own, made before each test."""

    @pytest.fixture(autouse=True)
    def _directory(self, tmp_path) -> None:
        self.directory = tmp_path
        (tmp_path / "perf-5.map").write_text("7f0000001000 40 compiled\n7f0000001080 1 tiny\n")
        (tmp_path / "jit-5.dump").write_bytes(
            header() + code_load(1, CODE, "first", 1) + code_load(2, CODE, "second", 2)
        )
        (tmp_path / "kallsyms").write_text(f"{BASE:x} T _text\n{BASE + 64:x} T schedule\n")
        (tmp_path / "vmlinux").write_bytes(vmlinux())
        (tmp_path / "snd-x.ko").write_bytes(module())

    def context(self, **options) -> Context:
        places = SearchPaths(symfs=self.directory, system_debug_dir=None, proc=None)
        options = SymbolOptions(symfs=self.directory, perf_map_dir=self.directory, cache_dir=self.directory, **options)
        return Context(options, make_session(), Finder(places), Diagnostics())

    def found(self, name, places=None) -> ObjectFiles:
        return Finder(SearchPaths(symfs=places or self.directory)).find(f"/{name}", b"")


class TestElf(Prepared):
    known = ((0x1030, "_ZL6helperii.constprop.0"), (0x1080, "_ZN4work3runEPKmS1_"), (0x10C0, "entry"))

    def source(self) -> SymbolSource:
        return ElfSource(self.context())

    def dso(self) -> Dso:
        return Dso("/split.so", b"", DsoKind.FILE, 5, self.found("split.so", DATA))


class TestGo(Prepared):
    known = ((0x401002, "main.main"), (0x401210, "main.(*T).run"))

    def source(self) -> SymbolSource:
        return GoSource(self.context())

    def dso(self) -> Dso:
        table = TinySection(".gopclntab", go_table(), 0x500000, flags=2)
        (self.directory / "stripped").write_bytes(tiny_elf([GO_CODE, table]))
        return Dso("/stripped", b"", DsoKind.FILE, 5, self.found("stripped"))

    def test_lines_and_files_are_returned(self) -> None:
        assert self.ask([0x401000, 0x401004]) == [
            [("main.main", "/src/main.go", 10)],
            [("main.main", "/src/main.go", 12)],
        ]

    def test_a_line_of_another_file_is_left_out(self) -> None:
        assert self.ask([0x401207, 0x401208]) == [
            [("main.(*T).run", "/src/main.go", 70)], [("main.(*T).run", "/src/main.go", 0)],
        ]  # fmt: skip

    def test_programs_with_symbols_are_not_covered(self) -> None:
        sections = [GO_CODE, TinySection(".gopclntab", go_table(), 0x500000, flags=2)]
        sections += symbol_sections([TinySymbol("main.main", 0x401000)], 3)
        (self.directory / "whole").write_bytes(tiny_elf(sections))
        assert not self.source().covers(Dso("/whole", b"", DsoKind.FILE, 5, self.found("whole")))


class TestKallsyms(Prepared):
    known = ((BASE + 1, "_text"), (BASE + 70, "schedule"))

    def source(self) -> SymbolSource:
        return KernelSource(self.context(kallsyms=self.directory / "kallsyms"))

    def dso(self) -> Dso:
        return Dso("[kernel.kallsyms]", b"", DsoKind.KERNEL, -1, ObjectFiles(), BASE, BASE + 0x1000)


class TestVmlinux(TestKallsyms):
    known = ((BASE + 0x104, "schedule"), (BASE + 0x5004, "x_text"))

    def source(self) -> SymbolSource:
        return VmlinuxSource(self.context(vmlinux=self.directory / "vmlinux"))


class TestModule(Prepared):
    known = ((MODULE_AT + 0x12, "mod_work"), (MODULE_AT + 0x24, "mod_cold"))

    def source(self) -> SymbolSource:
        return ModuleSource(self.context())

    def dso(self) -> Dso:
        return Dso("/snd-x.ko", b"", DsoKind.MODULE, -1, self.found("snd-x.ko"), MODULE_AT, MODULE_AT + 0x1000)


class TestPerfMap(Prepared):
    known = ((0x7F0000001004, "compiled"), (0x7F0000001080, "tiny"))

    def source(self) -> SymbolSource:
        return PerfMapSource(self.context())

    def dso(self) -> Dso:
        return Dso("", b"", DsoKind.ANONYMOUS, 5, ObjectFiles())


class TestJitdump(Prepared):
    known = ((40 + 56 + 6, "first"), (40 + 56 + 6 + 16 + 56 + 7, "second"))

    def source(self) -> SymbolSource:
        return JitdumpSource(self.context())

    def dso(self) -> Dso:
        return Dso("/tmp/jit-5.dump", b"", DsoKind.FILE, 5, ObjectFiles())


def test_all_built_in_sources_are_installed_in_a_known_order() -> None:
    ordered = sorted(load_symbol_sources(), key=lambda source: source.order)
    assert [source.__name__ for source in ordered] == [
        "VmlinuxSource", "ModuleLinesSource", "KernelSource", "ModuleSource", "GoSource", "ElfSource",
        "JitdumpSource", "PerfMapSource", "VsyscallSource", "RecordedSource",
    ]  # fmt: skip
