"""``perf2x bundle``: what it packs, and that what it packed is enough elsewhere."""

import json
import lzma
import os
import re
import shutil
import subprocess
import sys
import tarfile
import threading
from pathlib import Path

import pytest

from perf2x.base.binaries.elf.elf_file import open_elf
from perf2x.tools.bundle.keep_symbols import without_code_and_data
from tests.forge import Comm, Event, Features, Mmap2, Sample, Session, write_file
from tests.support.command import perf2x, recording
from tests.support.recordings import CORPUS, corpus_cases
from tests.support.tiny_elf import TinySection, TinySymbol, symbol_sections, tiny_elf

CALLS = recording("calls")
PLACES = ("--symfs", CORPUS / "common" / "symfs", "--kallsyms", CORPUS / "calls" / "kallsyms.xz")


@pytest.fixture
def nowhere(tmp_path: Path) -> tuple[object, ...]:
    """Options that keep this machine's own symbols out."""
    empty = tmp_path / "empty"
    empty.mkdir()
    return "--symfs", empty, "--buildid-dir", empty


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    path = tmp_path / "calls.tar.gz"
    ran = perf2x("bundle", CALLS, *PLACES, "-o", path)
    assert ran.code == 0
    assert f"objects to {path}" in ran.err
    return path


def test_the_recording_and_its_objects_by_build_id(packed: Path) -> None:
    with tarfile.open(packed) as tar:
        names = tar.getnames()
        member = tar.extractfile("perf.data")
        assert member is not None
        assert member.read() == Path(CALLS).read_bytes()
    assert names[0] == "perf.data"
    assert "objects/2095ab6d9acb6adc2cc3e299ade713bb115aab58/elf" in names
    assert "objects/48dc540c8b76393804ca8088dbfa7d42911a9444/kallsyms" in names


def test_a_bundle_is_enough_on_another_machine(packed: Path, nowhere: tuple[object, ...]) -> None:
    words = ("--json", "-q", "-n", 0, "--no-inline")
    assert "[calls]" in perf2x("top", CALLS, *nowhere, *words).out
    bundled = perf2x("top", packed, *nowhere, *words)
    assert '"spin"' in bundled.out
    assert '"read_zero"' in bundled.out
    assert "[calls]" not in bundled.out


def test_every_command_reads_it_under_its_own_name(packed: Path) -> None:
    assert f"source: {packed}" in perf2x("info", packed, "--no-symbols").out
    assert perf2x("diff", CALLS, packed, "--no-symbols", "--fail-above", "0").code == 0


def test_its_records_are_those_of_the_recording(packed: Path) -> None:
    assert perf2x("dump", packed, "-v").out == perf2x("dump", CALLS, "-v").out != ""


def test_equal_contents_are_equal_bytes(packed: Path, tmp_path: Path) -> None:
    other = tmp_path / "again.tar.gz"
    assert perf2x("bundle", CALLS, *PLACES, "-o", other, "-q").code == 0
    assert other.read_bytes() == packed.read_bytes()


def test_files_that_cannot_be_packed_are_listed(tmp_path: Path, nowhere: tuple[object, ...]) -> None:
    ran = perf2x("bundle", CALLS, *nowhere, "-o", tmp_path / "x.tar.gz")
    assert ran.code == 0
    assert "left out: /demo/calls: file not found" in ran.err
    assert "left out: [kernel.kallsyms]: no kallsyms or vmlinux of the recorded kernel found" in ran.err


def test_a_damaged_bundle_is_one_sentence(packed: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.tar.gz"
    cut.write_bytes(packed.read_bytes()[:9000])
    ran = perf2x("convert", cut, "-t", "collapsed", "-o", "-")
    assert ran.code == 1
    assert ran.err.startswith(f"perf2x: {cut}: cannot be read as a bundle")
    assert ran.err.count("\n") == 1


CASES = {case.name: case for case in corpus_cases()}
LANG = Path(__file__).parents[1] / "symbolizer" / "data" / "lang"


def outputs(folder: Path, source: object, *words: object) -> dict[str, bytes]:
    found = {}
    for name in ("pprof", "collapsed"):
        out = folder / f"{name}.out"
        ran = perf2x("convert", source, "-t", name, "-o", out, *words)
        assert ran.code == 0, ran.err
        found[name] = out.read_bytes()
    return found


@pytest.mark.parametrize(
    ("name", "only"),
    [
        ("calls", ("--symbols-only",)),
        ("unwind", ()),
        ("compat32", ("--symbols-only",)),
        *(
            pytest.param(*rest, marks=pytest.mark.slow)
            for rest in (("calls", ()), ("unwind", ("--symbols-only",)), ("compat32", ()))
        ),
    ],
)
def test_a_bundle_converts_to_the_same_bytes_elsewhere(
    name: str, only: tuple[str, ...], tmp_path: Path, nowhere: tuple[object, ...]
) -> None:
    case = CASES[name]
    places = ("--symfs", case.symfs, "--kallsyms", case.kallsyms, "--buildid-dir", tmp_path / "empty")
    bundle = tmp_path / "bundle.tar.gz"
    assert perf2x("bundle", case.data, *places, *only, "-o", bundle, "-q").code == 0
    inline = ("--no-inline",) if only else ()
    there, here = outputs(tmp_path, bundle, *nowhere, *inline), outputs(tmp_path, case.data, *places, *inline)
    assert there["collapsed"] == here["collapsed"]
    if not only or name == "calls":  # the others have lines, which --symbols-only leaves out
        assert there["pprof"] == here["pprof"]


def test_symbols_only_has_neither_code_nor_data_nor_debug_info(tmp_path: Path) -> None:
    bundle = tmp_path / "small.tar.gz"
    ran = perf2x("bundle", CALLS, *PLACES, "--symbols-only", "-o", bundle)
    assert "the symbols of" in ran.err
    with tarfile.open(bundle) as tar:
        member = tar.extractfile("objects/2095ab6d9acb6adc2cc3e299ade713bb115aab58/elf")
        assert member is not None
        elf = open_elf(member.read())
    for name in (".text", ".rodata", ".data"):
        section = elf.section(name)
        assert section is None or not any(elf.data(section)), name
    assert elf.section(".debug_info") is None
    symtab = elf.section(".symtab")
    assert symtab is not None and any(elf.data(symtab))
    assert elf.build_id.hex() == "2095ab6d9acb6adc2cc3e299ade713bb115aab58"


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("is_64", [True, False])
def test_a_skeleton_keeps_every_header(order: str, is_64: bool) -> None:
    symbols = symbol_sections([TinySymbol("main", 0x1000, 4)], 3, is_64, order)
    sections = [TinySection(".text", b"\x90" * 64, 0x1000, flags=6), TinySection(".debug_info", b"secret" * 9)]
    whole = tiny_elf([*sections, *symbols], is_64=is_64, byte_order=order)
    before, after = open_elf(whole), open_elf(without_code_and_data(open_elf(whole), ()))
    assert after.size == before.size
    assert after.segments == before.segments
    changed = [(a.name, b.type) for a, b in zip(before.sections, after.sections, strict=True) if a != b]
    assert changed == [(".debug_info", "SHT_NOBITS")]
    assert b"secret" not in after.read(0, after.size)
    assert not any(after.data(after.sections[1]))
    assert after.data(after.sections[3]) == before.data(before.sections[3]) != b""


def test_member_names_are_names_on_every_system(packed: Path) -> None:
    with tarfile.open(packed) as tar:
        members = tar.getmembers()
    assert all(re.fullmatch(r"[a-z0-9_./-]+", member.name) for member in members)
    assert len({member.name.lower() for member in members}) == len(members)
    assert {(member.mtime, member.uid, member.gid, member.uname) for member in members} == {(0, 0, 0, "")}


def test_the_list_of_members_names_their_kinds(packed: Path) -> None:
    with tarfile.open(packed) as tar:
        member = tar.extractfile("bundle.json")
        assert member is not None
        listed = json.load(member)
        names = set(tar.getnames())
    assert listed["schema"] == 1
    assert {entry["name"] for entry in listed["objects"]} >= {"/demo/calls", "[kernel.kallsyms]"}
    told = {member for entry in listed["objects"] for member in entry["members"]}
    assert told == names - {"perf.data", "bundle.json"}


def test_a_directory_is_packed_with_all_its_files(tmp_path: Path, nowhere: tuple[object, ...]) -> None:
    folder = tmp_path / "perf.data"
    (folder / "kcore_dir").mkdir(parents=True)
    (folder / "data").write_bytes(Path(CALLS).read_bytes())
    (folder / "kcore_dir" / "kcore").write_bytes(b"huge")
    (folder / "kcore_dir" / "kallsyms").write_bytes(lzma.decompress(PLACES[3].read_bytes()))
    (folder / "note.txt").write_text("mine")
    bundle = tmp_path / "bundle.tar.gz"
    assert perf2x("bundle", folder, *PLACES[:2], "-o", bundle).code == 0
    with tarfile.open(bundle) as tar:
        recorded = [name for name in tar.getnames() if name.startswith("perf.data")]
    assert recorded == ["perf.data/data", "perf.data/kcore_dir/kallsyms"]
    assert outputs(tmp_path, bundle, *nowhere) == outputs(tmp_path, CALLS, *PLACES)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes of POSIX")
def test_input_that_can_be_read_only_once_is_packed(tmp_path: Path, nowhere: tuple[object, ...]) -> None:
    pipe, bundle = tmp_path / "pipe", tmp_path / "bundle.tar.gz"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(Path(CALLS).read_bytes()))
    writer.start()
    assert perf2x("bundle", pipe, *PLACES, "-o", bundle).code == 0
    writer.join()
    assert outputs(tmp_path, bundle, *nowhere) == outputs(tmp_path, CALLS, *PLACES)
    words = [sys.executable, "-c", "from perf2x.cli import main; main()", "bundle", "-", *map(str, PLACES)]
    with Path(CALLS).open("rb") as stream:
        subprocess.run([*words, "-o", str(bundle)], stdin=stream, check=True, capture_output=True)
    assert outputs(tmp_path, bundle, *nowhere) == outputs(tmp_path, CALLS, *PLACES)


def program(folder: Path, function: str) -> Path:
    """A root directory with /prog in it, which has one function."""
    folder.mkdir()
    symbols = symbol_sections([TinySymbol(function, 0x1000, 64)], 2)
    (folder / "prog").write_bytes(tiny_elf([TinySection(".text", b"\x90" * 64, 0x1000, flags=6), *symbols]))
    return folder


def test_objects_without_build_ids_come_before_those_of_this_machine(tmp_path: Path) -> None:
    right, wrong = program(tmp_path / "a", "the_right_one"), program(tmp_path / "b", "the_wrong_one")
    offset = next(segment.offset for segment in open_elf(right / "prog").segments if segment.type == "PT_LOAD")
    data, bundle = tmp_path / "perf.data", tmp_path / "bundle.tar.gz"
    mapped = Mmap2(pid=1, tid=1, addr=0x400000, len=0x1000, pgoff=offset // 4096 * 4096, filename="/prog")
    ip = 0x400000 + offset % 4096 + 8
    records = [Comm(pid=1, tid=1, comm="prog"), mapped, Sample(pid=1, tid=1, ip=ip, chain=(0xFFFFFFFFFFFFFE00, ip))]
    data.write_bytes(write_file(Session(events=(Event(),)), records))
    assert "1 objects" in perf2x("bundle", data, "--symfs", right, "-o", bundle).err
    words = ("-t", "collapsed", "-o", "-", "--symfs", wrong)
    assert "the_wrong_one" in perf2x("convert", data, *words).out
    assert "the_right_one" in perf2x("convert", bundle, *words).out


def test_dwz_files_are_packed(tmp_path: Path, nowhere: tuple[object, ...]) -> None:
    """0x380 lies in functions inlined into Shape::sum, whose names are in the dwz file alone."""
    debug_info = LANG.parent / "debug_info"
    symfs = tmp_path / "symfs"
    symfs.mkdir()
    for name, place in (("dwz_one.so", "prog"), ("common.dwz", "common.dwz")):
        shutil.copy(debug_info / name, symfs / place)
    build_id, other = open_elf(debug_info / "dwz_one.so").build_id, open_elf(debug_info / "common.dwz").build_id
    data, bundle = tmp_path / "perf.data", tmp_path / "bundle.tar.gz"
    mapped = Mmap2(pid=1, tid=1, addr=0x400000, len=0x10000, pgoff=0, filename="/prog", build_id=build_id)
    ip = 0x400380
    records = [Comm(pid=1, tid=1, comm="prog"), mapped, Sample(pid=1, tid=1, ip=ip, chain=(0xFFFFFFFFFFFFFE00, ip))]
    data.write_bytes(write_file(Session(events=(Event(),)), records))
    assert perf2x("bundle", data, "--symfs", symfs, "-o", bundle).code == 0
    with tarfile.open(bundle) as tar:
        assert f"objects/{other.hex()}/debug" in tar.getnames()
    shown = perf2x("convert", bundle, "-t", "collapsed", "-o", "-", *nowhere).out
    assert "work::Accumulator" in shown
    assert shown == perf2x("convert", data, "-t", "collapsed", "-o", "-", "--symfs", symfs).out


@pytest.mark.parametrize("name", ["java", "jit"])
def test_perf_map_files_are_packed(name: str, tmp_path: Path, nowhere: tuple[object, ...]) -> None:
    places = ("--perf-map-dir", LANG / name, *nowhere)
    bundle = tmp_path / "bundle.tar.gz"
    assert perf2x("bundle", LANG / name / "perf.data", *places, "-o", bundle).code == 0
    with tarfile.open(bundle) as tar:
        assert [member for member in tar.getnames() if member.startswith("maps/")]
    elsewhere = outputs(tmp_path, bundle, *nowhere)
    assert elsewhere == outputs(tmp_path, LANG / name / "perf.data", *places)
    assert elsewhere != outputs(tmp_path, LANG / name / "perf.data", *nowhere)


@pytest.mark.parametrize("words", [("--no-symbols",), ("--names", "full"), ("--no-inline",), ()])
def test_usage(words: tuple[str, ...], packed: Path) -> None:
    """A bundle names nothing, so options for names mean nothing."""
    ran = perf2x("bundle", *((CALLS, *words) if words else (packed,)))
    assert ran.code == 2
    assert ("there is no option" if words else "is already a bundle") in ran.err


def test_kernel_symbols_of_a_recording_that_names_no_kernel(tmp_path: Path) -> None:
    """Pipes carry no build id of the kernel; what was found out when packing holds elsewhere."""
    data, bundle, empty = tmp_path / "perf.data", tmp_path / "bundle.tar.gz", tmp_path / "empty"
    empty.mkdir()
    start = 0xFFFFFFFF81000000
    text = Mmap2(
        pid=2**32 - 1, tid=0, addr=start, len=0x1000000, filename="[kernel.kallsyms]_text", misc=1, pgoff=start
    )
    kernel = Sample(ip=start + 0x10, chain=(0xFFFFFFFFFFFFFF80, start + 0x10), mode=1)
    data.write_bytes(write_file(Session(events=(Event(),)), [text, Comm(pid=1, tid=1, comm="a"), kernel]))
    kallsyms = tmp_path / "kallsyms"
    kallsyms.write_text(f"{start:x} T _text\n{start + 8:x} T do_it\n{start + 64:x} T after\n")
    assert perf2x("bundle", data, "--kallsyms", kallsyms, "--buildid-dir", empty, "-o", bundle).code == 0
    words = ("-t", "collapsed", "-o", "-", "-q", "--symfs", empty, "--buildid-dir", empty)
    assert "do_it" not in perf2x("convert", data, *words).out
    assert perf2x("convert", bundle, *words).out == "a;do_it 1\n"


@pytest.mark.parametrize("only", [(), ("--symbols-only",)])
def test_vmlinux_is_packed_and_found_again(only: tuple[str, ...], tmp_path: Path, nowhere: tuple[object, ...]) -> None:
    data, bundle, file = tmp_path / "perf.data", tmp_path / "bundle.tar.gz", tmp_path / "vmlinux"
    start = 0xFFFFFFFF81000000
    text = Mmap2(
        pid=2**32 - 1, tid=0, addr=start, len=0x1000000, filename="[kernel.kallsyms]_text", misc=1, pgoff=start
    )
    kernel = Sample(ip=start + 0x10, chain=(0xFFFFFFFFFFFFFF80, start + 0x10), mode=1)
    features = Features(build_ids=(("[kernel.kallsyms]", b"\x42" * 20),))
    session = Session(events=(Event(),), features=features)
    data.write_bytes(write_file(session, [text, Comm(pid=1, tid=1, comm="a"), kernel]))
    symbols = [TinySymbol("_text", start, 8), TinySymbol("from_vmlinux", start + 8, 64)]
    note = b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0" + b"\x42" * 20
    sections = [TinySection(".text", b"\x90" * 128, start, flags=6), TinySection(".notes", note, 0, "NOTE", 2)]
    file.write_bytes(tiny_elf([*sections, *symbol_sections(symbols, 3)], kind=2))
    assert perf2x("bundle", data, "--vmlinux", file, *nowhere, *only, "-o", bundle).code == 0
    assert perf2x("convert", bundle, *nowhere, "-t", "collapsed", "-o", "-", "-q").out == "a;from_vmlinux 1\n"


def test_files_beyond_the_unpacking_limit_are_left_out(tmp_path: Path) -> None:
    """An object of holes, and kallsyms that were compressed; the rest is packed."""
    root = tmp_path / "root"
    shutil.copytree(CORPUS / "common" / "symfs", root)
    program = root / "demo" / "calls"
    with program.open("r+b") as file:
        file.truncate(1 << 40)
    if program.stat().st_blocks * 512 > 1 << 30:
        pytest.skip("files have no holes here")
    kallsyms = tmp_path / "kallsyms.xz"
    kallsyms.write_bytes(lzma.compress(b"ffffffff81000000 T _stext\n" * 200_000))
    target = tmp_path / "small.tar.gz"
    places = ("--symfs", root, "--kallsyms", kallsyms, "--max-unpacked", "1M")
    ran = perf2x("bundle", CALLS, *places, "-o", target)
    assert ran.code == 0
    assert "left out: /demo/calls: " in ran.err and "unpack to more than 1 MiB" in ran.err
    assert "left out: [kernel.kallsyms]: xz data: its" in ran.err
    with tarfile.open(target) as tar:
        assert not [name for name in tar.getnames() if name.endswith("kallsyms")]


@pytest.mark.parametrize("only", [(), ("--symbols-only",)])
def test_a_bundle_has_the_vdso(only: tuple[str, ...], tmp_path: Path, nowhere: tuple[object, ...]) -> None:
    """It lies below /lib/modules, and goes into the bundle by its build id."""
    data, bundle, root = CORPUS / "unwind_vdso" / "perf.data", tmp_path / "bundle.tar.gz", tmp_path / "root"
    release = json.loads(perf2x("info", data, "--json").out)["session"]["features"]["osrelease"]
    shutil.copytree(CORPUS / "common" / "symfs", root)
    (root / "lib" / "modules" / release / "vdso").mkdir(parents=True)
    (image,) = (CORPUS / "common" / "buildid").glob(".build-id/*/*/vdso")
    shutil.copy(image, root / "lib" / "modules" / release / "vdso" / "vdso64.so")
    places = ("--symfs", root)
    assert perf2x("bundle", data, *places, *only, "-o", bundle).code == 0
    whole = perf2x("convert", data, *places, "-t", "collapsed", "-o", "-", "-q").out
    assert ";read_cpu;__vdso_getcpu " in whole
    assert perf2x("convert", bundle, *nowhere, "-t", "collapsed", "-o", "-", "-q").out == whole
