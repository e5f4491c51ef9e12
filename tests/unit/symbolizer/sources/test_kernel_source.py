"""Kernel symbols: vmlinux with and without KASLR, loaded modules, code made at run time."""

import gzip
import lzma

import pytest

from perf2x.base.binaries.elf.elf_file import open_elf
from perf2x.base.binaries.elf.relocate_module import section_addresses
from perf2x.base.binaries.elf.symtab import function_symbols
from perf2x.base.binaries.find.recorded_vdso import running_vdso_image
from perf2x.base.diagnostics import Diagnostics, Severity
from perf2x.errors import SettingError
from perf2x.kernel.registry import load_symbol_sources
from perf2x.model.profile.profile import Profile
from perf2x.symbolizer.sources.module_source import kernel_slide
from perf2x.symbolizer.symbol_options import SymbolOptions
from perf2x.symbolizer.symbol_report import SymbolReport
from perf2x.symbolizer.symbolize import symbolize
from tests.forge.session import zstd
from tests.support.profile_builder import make_profile, make_session, name_of
from tests.support.tiny_elf import TinySection, TinySymbol, symbol_sections, tiny_elf

BASE = 0xFFFFFFFF81000000


def zstd_compress(data) -> bytes:
    return zstd().compress(data)


KERNEL_ID, MODULE_ID = b"\xaa" * 20, b"\xbb" * 20
MODULE_AT = 0xFFFFFFFFC0100000


def note(build_id) -> TinySection:
    return TinySection(".note.gnu.build-id", b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0" + build_id, 0, "NOTE", 2)


def vmlinux(build_id=KERNEL_ID) -> bytes:
    symbols = [
        TinySymbol("x_text", BASE + 0x5000, 8),
        TinySymbol("_text", BASE),
        TinySymbol("schedule", BASE + 0x100, 64),
    ]
    text = TinySection(".text", b"\x90" * 0x1000, BASE, flags=6)
    return tiny_elf([text, note(build_id), *symbol_sections(symbols, 3)], kind=2)


def module() -> bytes:
    """.text of 0x24 bytes, .init.text, then .text.unlikely: the last one lies right behind the first, aligned."""
    symbols = [
        TinySymbol("mod_work", 0x10, 0x14), TinySymbol("mod_init", 0, 0x10, section=2),
        TinySymbol("mod_cold", 0, 8, section=3),
    ]  # fmt: skip
    sections = [
        TinySection(".text", bytes(0x24), flags=6), TinySection(".init.text", bytes(0x40), flags=6),
        TinySection(".text.unlikely", bytes(16), flags=6), note(MODULE_ID),
    ]  # fmt: skip
    return tiny_elf(sections + symbol_sections(symbols, 5), kind=1)


def run(profile, session=None, **options) -> tuple[Profile, SymbolReport, Diagnostics]:
    diagnostics = Diagnostics()
    result, report = symbolize(
        profile, session or make_session(), SymbolOptions(**options), diagnostics, load_symbol_sources()
    )
    result.check()
    return result, report, diagnostics


@pytest.mark.parametrize("slide", [0, 0x12000000])
def test_a_vmlinux_given_as_an_option_is_used(tmp_path, slide) -> None:
    (tmp_path / "vmlinux").write_bytes(vmlinux())
    mappings = [(BASE + slide, BASE + slide + 0x2000, BASE + slide, "[kernel.kallsyms]_text", KERNEL_ID.hex(), -1)]
    result, _, _ = run(
        make_profile(mappings, [(0, BASE + slide + 0x104)]), vmlinux=tmp_path / "vmlinux", symfs=tmp_path
    )
    assert name_of(result, 0) == "schedule"


def test_a_vmlinux_that_cannot_be_read_is_named_by_its_setting(tmp_path) -> None:
    (tmp_path / "vmlinux").write_bytes(b"no ELF file")
    mappings = [(BASE, BASE + 0x2000, BASE, "[kernel.kallsyms]_text", KERNEL_ID.hex(), -1)]
    profile = make_profile(mappings, [(0, BASE + 0x104)])
    with pytest.raises(SettingError, match=r"^symbols\.vmlinux .*not a readable ELF file"):
        run(profile, vmlinux=tmp_path / "vmlinux", symfs=tmp_path)


def test_a_vmlinux_of_another_build_is_refused_and_reported(tmp_path) -> None:
    (tmp_path / "vmlinux").write_bytes(vmlinux(b"\xcc" * 20))
    mappings = [(BASE, BASE + 0x2000, BASE, "[kernel.kallsyms]_text", KERNEL_ID.hex(), -1)]
    profile = make_profile(mappings, [(0, BASE + 0x104)])
    result, _, diagnostics = run(profile, vmlinux=tmp_path / "vmlinux", symfs=tmp_path)
    assert name_of(result, 0) is None and diagnostics["vmlinux_refused"] == 1


@pytest.mark.parametrize("place", ["/boot/vmlinux-7.2.0", "/usr/lib/debug/.build-id/aa/{rest}.debug",
                                   "/usr/lib/debug/boot/vmlinux-7.2.0"])  # fmt: skip
def test_a_vmlinux_is_found_by_build_id(tmp_path, place) -> None:
    path = tmp_path / place.format(rest="aa" * 19).lstrip("/")
    path.parent.mkdir(parents=True)
    path.write_bytes(vmlinux())
    mappings = [(BASE, BASE + 0x2000, BASE, "[kernel.kallsyms]_text", KERNEL_ID.hex(), -1)]
    profile = make_profile(mappings, [(0, BASE + 0x104)])
    result, _, _ = run(profile, make_session(os_release="7.2.0"), symfs=tmp_path, buildid_dir=tmp_path)
    assert name_of(result, 0) == "schedule"


def test_the_slide_is_zero_if_the_address_was_hidden() -> None:
    file = open_elf(vmlinux())
    assert kernel_slide(file, ("_text", 0)) == kernel_slide(file, ("absent", 5)) == kernel_slide(file, ("", 5)) == 0
    assert kernel_slide(file, ("_text", BASE + 0x1000)) == 0x1000


@pytest.mark.parametrize(
    ("suffix", "pack"), [("", bytes), (".xz", lzma.compress), (".gz", gzip.compress), (".zst", zstd_compress)]
)
@pytest.mark.parametrize("by_name", [True, False])
def test_modules_are_named_from_their_files(tmp_path, suffix, pack, by_name) -> None:
    path = tmp_path / f"lib/modules/7.2.0/kernel/snd-x.ko{suffix}"
    path.parent.mkdir(parents=True)
    path.write_bytes(pack(module()))
    recorded = "[snd_x]" if by_name else f"/lib/modules/7.2.0/kernel/snd-x.ko{suffix}"
    mappings = [(MODULE_AT, MODULE_AT + 0x1000, 0, recorded, MODULE_ID.hex(), -1)]
    profile = make_profile(mappings, [(0, MODULE_AT + 0x12), (0, MODULE_AT + 0x24), (0, MODULE_AT + 0x800)])
    result, _, _ = run(profile, make_session(os_release="7.2.0"), symfs=tmp_path, buildid_dir=tmp_path)
    assert [name_of(result, row) for row in range(3)] == ["mod_work", "mod_cold", None]


def test_module_sections_lie_one_behind_the_other_without_init() -> None:
    places = section_addresses(open_elf(module()), 0x1000)
    assert places == {1: 0x1000, 3: 0x1024}


KALLSYMS = f"{BASE:x} T _text\n{BASE + 16:x} T f\n{MODULE_AT:x} t mod_work\t[snd_x]\n".encode()


@pytest.mark.parametrize(("start", "name"), [(MODULE_AT, "mod_work"), (MODULE_AT + 0x200000, None)])
def test_kallsyms_names_a_module_only_at_its_recorded_address(tmp_path, start, name) -> None:
    (tmp_path / "kallsyms").write_bytes(KALLSYMS)
    mappings = [
        (BASE, BASE + 0x1000, BASE, "[kernel.kallsyms]_text", "", -1),
        (start, start + 0x1000, 0, "[snd_x]", "", -1),
    ]
    profile = make_profile(mappings, [(1, start + 4), (0, BASE + 20)])
    result, _, _ = run(profile, kallsyms=tmp_path / "kallsyms", symfs=tmp_path)
    assert [name_of(result, 0), name_of(result, 1)] == [name, "f"]


def test_kallsyms_of_a_kcore_directory_is_used(tmp_path) -> None:
    (tmp_path / "kallsyms").write_bytes(KALLSYMS)
    mappings = [(BASE, BASE + 0x1000, BASE, "[kernel.kallsyms]_text", KERNEL_ID.hex(), -1)]
    profile = make_profile(mappings, [(0, BASE + 20)])
    result, _, _ = run(profile, make_session(kcore_dir=str(tmp_path)), symfs=tmp_path, buildid_dir=tmp_path)
    assert name_of(result, 0) == "f"


def test_kallsyms_in_the_build_id_cache_is_used(tmp_path) -> None:
    path = tmp_path / f".build-id/aa/{'aa' * 19}/kallsyms"
    path.parent.mkdir(parents=True)
    path.write_bytes(KALLSYMS)
    mappings = [(BASE, BASE + 0x1000, BASE, "[kernel.kallsyms]_text", KERNEL_ID.hex(), -1)]
    result, _, _ = run(make_profile(mappings, [(0, BASE + 20)]), symfs=tmp_path, buildid_dir=tmp_path)
    assert name_of(result, 0) == "f"


def test_hidden_addresses_are_explained(tmp_path) -> None:
    (tmp_path / "kallsyms").write_bytes(b"0000000000000000 T _text\n0000000000000000 T f\n")
    mappings = [(BASE, BASE + 0x1000, BASE, "[kernel.kallsyms]_text", "", -1)]
    profile = make_profile(mappings, [(0, BASE + 20)])
    _, report, diagnostics = run(profile, kallsyms=tmp_path / "kallsyms", symfs=tmp_path)
    assert diagnostics["kernel_addresses_hidden"] == 1 and "kptr_restrict" in report.objects[0].reason


def test_an_unreadable_copy_of_kallsyms_is_counted(tmp_path) -> None:
    path = tmp_path / f".build-id/aa/{'aa' * 19}/kallsyms"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"no symbols here\n")
    mappings = [(BASE, BASE + 0x1000, BASE, "[kernel.kallsyms]_text", KERNEL_ID.hex(), -1)]
    profile = make_profile(mappings, [(0, BASE + 20)])
    places = {"symfs": tmp_path, "buildid_dir": tmp_path}
    _, report, diagnostics = run(profile, **places)
    count = diagnostics.counts["kallsyms_unreadable"]
    assert (count.count, count.severity) == (1, Severity.LOSS) and str(path) in count.first
    assert str(path) in report.objects[0].reason
    (tmp_path / "kcore").mkdir()
    (tmp_path / "kcore" / "kallsyms").write_bytes(b"neither here\n")
    path.write_bytes(KALLSYMS)
    result, _, diagnostics = run(profile, make_session(kcore_dir=str(tmp_path / "kcore")), **places)
    count = diagnostics.counts["kallsyms_unreadable"]
    assert name_of(result, 0) == "f" and (count.count, count.severity) == (1, Severity.INFO)


def test_bpf_programs_keep_the_kernels_names() -> None:
    at = 0xFFFFFFFFC0300000
    mappings = [(at, at + 0x100, at, "bpf_prog_6deef7357e7b4530_sd_fw_egress", "", -1)]
    result, report, _ = run(make_profile(mappings, [(0, at + 0x10)]))
    assert name_of(result, 0) == "bpf_prog_6deef7357e7b4530_sd_fw_egress" and report.share == 1


def test_kallsyms_of_this_machine_serves_only_the_running_kernel() -> None:
    from perf2x.symbolizer.sources.kernel_source import running_kernel_build_id

    assert isinstance(running_kernel_build_id(), bytes)


def test_addresses_in_the_vsyscall_page_are_named() -> None:
    at = 0xFFFFFFFFFF600000
    profile = make_profile([(at, at + 0x1000, 0, "[vsyscall]", "", 7)], [(0, at), (0, at + 0x409), (0, at + 0xC00)])
    result, _, _ = run(profile)
    assert [name_of(result, row) for row in range(3)] == ["vgettimeofday", "vtime", None]


def test_the_running_vdso_serves_only_its_own_build(tmp_path, monkeypatch) -> None:
    monkeypatch.delenv("PERF2X_SYSROOT")
    if not running_vdso_image():
        pytest.skip("no vDSO here")
    file = open_elf(running_vdso_image(), "vdso")
    symbol = function_symbols(file, ".dynsym")
    address = int(symbol.start[0])
    for build_id, named in ((file.build_id, True), (b"\x01" * 20, False)):
        mappings = [(0x7FFF00000000, 0x7FFF00002000, 0, "[vdso]", build_id.hex(), 7)]
        result, _, _ = run(make_profile(mappings, [(0, 0x7FFF00000000 + address)]), buildid_dir=tmp_path)
        assert (name_of(result, 0) is not None) is named


def test_a_guests_kernel_is_not_named_by_the_hosts_kallsyms(tmp_path) -> None:
    (tmp_path / "kallsyms").write_bytes(KALLSYMS)
    mappings = [(BASE, BASE + 0x1000, BASE, "[guest.kernel.kallsyms]_text", "", -1)]
    result, _, _ = run(make_profile(mappings, [(0, BASE + 20)]), kallsyms=tmp_path / "kallsyms", symfs=tmp_path)
    assert name_of(result, 0) is None


def test_names_are_a_guess_if_the_kernels_address_was_hidden(tmp_path) -> None:
    path = tmp_path / f".build-id/aa/{'aa' * 19}/kallsyms"
    path.parent.mkdir(parents=True)
    path.write_bytes(KALLSYMS)
    profile = make_profile([], [(-1, BASE + 20)])
    session = make_session(build_ids={"[kernel.kallsyms]": KERNEL_ID})
    result, _, diagnostics = run(profile, session, symfs=tmp_path, buildid_dir=tmp_path)
    assert name_of(result, 0) == "f" and diagnostics["kernel_place_unknown"] == 1
    assert "kptr_restrict" in diagnostics.counts["kernel_place_unknown"].advice


def test_kernel_pages_keep_their_names_in_the_report(tmp_path) -> None:
    _, report, _ = run(make_profile([(0x7FFF00000000, 0x7FFF00001000, 0, "[uprobes]", "", 7)], [(0, 0x7FFF00000000)]))
    assert [(row.name, row.unnamed) for row in report.objects] == [("[uprobes]", 1)]
