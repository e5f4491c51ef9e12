"""Source files of this machine that a recording leads to: shown only if its own program names them."""

import os
from pathlib import Path

import numpy as np
import pytest

from perf2x.base.binaries.find.untrusted_paths import RecordedFileCheck
from perf2x.base.diagnostics import Diagnostics
from perf2x.features.annotate.source_lines import SourceLines
from perf2x.model.annotate_options import ListingOptions
from perf2x.reader import open_recording
from perf2x.symbolizer.make_object_finder import make_finder
from perf2x.symbolizer.sources.symbol_source import Context
from perf2x.symbolizer.symbol_options import SymbolOptions
from tests.forge import Comm, Event, Features, Mmap, Mmap2, Record, Sample, Session, write_file
from tests.forge.kernel import KERNEL
from tests.support.command import perf2x
from tests.support.jitdump_writer import code_load, debug, header
from tests.support.own_machine import HERE, put, write
from tests.support.profile_builder import make_profile
from tests.support.recordings import ROOT

DATA = ROOT / "tests" / "unit" / "features" / "annotate" / "data"
INLINES, SOURCE = "/demo/inlines", "/demo/inlines.cpp"
BUILD_ID = bytes.fromhex("f54129ef3e3fa84c3e0d275569bc5254f6830f18")
SECRET = "the secret of line twenty"


@pytest.fixture
def recorded(machine: Path, tmp_path: Path) -> Path:
    """A recording of ``/demo/inlines``, which lies here with debug info that names a file with a secret."""
    put(machine, INLINES, (DATA / "demo" / "inlines").read_bytes())
    put(machine, SOURCE, f"{SECRET}\n".encode() * 40)
    return inlines(tmp_path / "inlines.data", HERE)


def inlines(path: Path, host: str | None, *names: str) -> Path:
    records: list[Record] = [Comm(pid=7, tid=7, comm="inlines")]
    for start, name in enumerate(names or (INLINES,), 4):
        at = start << 20
        records.append(
            Mmap2(pid=7, tid=7, addr=at + 0x1000, len=0x1000, pgoff=0x1000, filename=name, build_id=BUILD_ID)
        )
        records.extend(Sample(pid=7, tid=7, ip=at + 0x1150, time=at + time, period=1000) for time in range(4))
    path.write_bytes(write_file(Session(events=(Event(),), features=Features(hostname=host)), records))
    return path


def inlines_as_kernel(path: Path) -> Path:
    """A kernel of the program's code, which a file of the program's build id names."""
    name = "[kernel.kallsyms]"
    text = Mmap(pid=2**32 - 1, tid=0, addr=0x401000, len=0x1000, filename=f"{name}_text", misc=KERNEL)
    samples = [Sample(mode=KERNEL, pid=7, tid=7, ip=0x401150, time=9 + at, period=1000) for at in range(4)]
    features = Features(hostname=HERE, os_release="7.2.0-x", build_ids=((name, BUILD_ID),))
    path.write_bytes(write_file(Session(events=(Event(),), features=features), [text, *samples]))
    return path


def shown(recording: Path, *words: object) -> bool:
    """Whether the secret gets into a listing; a page has the same."""
    ran = perf2x("annotate", "walk", recording, "-q", "--source", *words)
    assert ran.code == 0, ran.err
    assert "walk" in ran.out
    page = recording.with_suffix(".html")
    assert perf2x("convert", recording, "-o", page, "-q", "--source", "--set", "compress=no", *words).code == 0
    assert (SECRET in page.read_text()) is (SECRET in ran.out)
    assert ("pass its folder with --source-dir DIR" in " ".join(ran.out.split())) is (SECRET not in ran.out)
    return SECRET in ran.out


def test_sources_of_programs_of_this_machine(recorded: Path, machine: Path, tmp_path: Path) -> None:
    assert shown(recorded)
    assert not shown(inlines(tmp_path / "far.data", "there"))
    assert not shown(inlines(tmp_path / "nowhere.data", None))
    assert shown(inlines(tmp_path / "far.data", "there"), "--symfs", machine), "the user named it"


def test_a_bundle_names_no_sources_of_this_machine(recorded: Path, machine: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "a.tar.gz"
    assert perf2x("bundle", recorded, "-o", bundle, "-q").code == 0
    assert not shown(bundle), "though the same program lies here"
    (machine / INLINES[1:]).unlink()
    assert not shown(bundle)
    ran = perf2x("annotate", "walk", bundle, "-q", "--source-dir", machine / "demo")
    assert SECRET in ran.out


def test_objects_of_other_places_name_no_sources_of_this_machine(recorded: Path, machine: Path, tmp_path: Path) -> None:
    program, home = machine / INLINES[1:], tmp_path / "home"
    cached = put(home, f".build-id/f5/{BUILD_ID.hex()[2:]}/elf", program.read_bytes())
    assert shown(recorded, "--buildid-dir", home), "perf's own copy of the program"
    cached.write_bytes(program.read_bytes() + b"\0")
    assert not shown(recorded, "--buildid-dir", home), "anybody's file with the same build id"
    status, other = program.stat(), program.read_bytes().replace(b"GCC: (", b"gcc: (")
    assert other != program.read_bytes()
    cached.write_bytes(other)
    os.utime(cached, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert not shown(recorded, "--buildid-dir", home), "of one size and date, with other contents"
    cached.write_bytes(program.read_bytes())
    program.unlink()
    assert not shown(recorded, "--buildid-dir", home)
    put(home, f"debug/.build-id/f5/{BUILD_ID.hex()[2:]}.debug", cached.read_bytes())
    assert not shown(recorded, "--debug-dir", home / "debug")
    put(machine, f"/usr/lib/debug/.build-id/f5/{BUILD_ID.hex()[2:]}.debug", cached.read_bytes())
    assert shown(recorded), "who writes there is root"


def test_one_object_of_another_place_is_enough(recorded: Path, machine: Path, tmp_path: Path) -> None:
    """Objects of one build id are one to the names, wherever they lie."""
    home = tmp_path / "home"
    put(home, f".build-id/f5/{BUILD_ID.hex()[2:]}/elf", (machine / INLINES[1:]).read_bytes())
    for objects in ((INLINES, "/other/inlines"), ("/other/inlines", INLINES)):
        assert not shown(inlines(tmp_path / "two.data", HERE, *objects), "--buildid-dir", home)
    put(machine, "/other/inlines", (machine / INLINES[1:]).read_bytes())
    assert shown(tmp_path / "two.data", "--buildid-dir", home)


def test_debug_info_of_another_place_is_enough(recorded: Path, machine: Path, tmp_path: Path) -> None:
    whole = (machine / INLINES[1:]).read_bytes()
    put(machine, INLINES, whole.replace(b".debug_", b".nodeb_"))
    put(tmp_path, f"debug/.build-id/f5/{BUILD_ID.hex()[2:]}.debug", whole)
    assert not shown(recorded, "--debug-dir", tmp_path / "debug")


@pytest.mark.filterwarnings("error")
def test_kernels_of_other_places_name_no_sources_of_this_machine(recorded: Path, machine: Path, tmp_path: Path) -> None:
    program, home = (machine / INLINES[1:]).read_bytes(), tmp_path / "home"
    recording = inlines_as_kernel(tmp_path / "kernel.data")
    put(home, f".build-id/f5/{BUILD_ID.hex()[2:]}/elf", program)
    assert not shown(recording, "--buildid-dir", home), "whoever put it there"
    assert not shown(recording, "--vmlinux", machine / INLINES[1:])
    installed = put(machine, "/lib/modules/7.2.0-x/vmlinux", program)
    assert shown(recording)
    assert shown(recording, "--vmlinux", installed)
    assert shown(recording, "--buildid-dir", home), "perf's own copy"
    installed.write_bytes(program + b"\0")
    assert not shown(recording, "--buildid-dir", home), "another file"
    installed.unlink()
    put(machine, f"/usr/lib/debug/.build-id/f5/{BUILD_ID.hex()[2:]}.debug", program)
    assert shown(recording), "who writes there is root"


def test_lines_of_no_object_of_this_machine(machine: Path, tmp_path: Path) -> None:
    put(machine, SOURCE, f"{SECRET}\n".encode() * 40)
    opened = open_recording(str(inlines(tmp_path / "a.data", HERE)))
    options, diagnostics = SymbolOptions(), Diagnostics()
    recorded = RecordedFileCheck(opened.session, opened.sideband.mmaps)
    assert recorded.was_made_here
    profile = make_profile([(0, 4096, 0, INLINES, BUILD_ID.hex(), 7)], [(0, 8)])

    def text_at(*locations: int) -> str:
        finder = make_finder(options, diagnostics)
        context = Context(options, opened.session, finder, diagnostics, recorded=recorded)
        sources = SourceLines(profile, context, ListingOptions(as_recorded=True))
        return sources.lines_around(SOURCE, [20], np.array(locations, np.int64))[0].get(20, "")

    assert not text_at(0)
    put(machine, INLINES, (DATA / "demo" / "inlines").read_bytes())
    assert (text_at(0), text_at()) == (SECRET, "")


def test_dumps_of_other_places_name_no_sources_of_this_machine(machine: Path, tmp_path: Path) -> None:
    put(machine, SOURCE, f"{SECRET}\n".encode() * 40)
    lines = debug(0x400000, (0x400000, 20, SOURCE.encode()))
    dump = put(machine, "/tmp/jit-7.dump", header() + lines + code_load(1, 0x400000, "walk", 0, size=64))
    recording = write(tmp_path / "a.data", 1, name="/tmp/jit-7.dump")
    data = recording.read_bytes().replace((0x400000).to_bytes(8, "little"), (0x600000).to_bytes(8, "little"))
    recording.write_bytes(data)  # the dump is mapped elsewhere than its code
    assert shown(recording)
    other = put(tmp_path / "maps", "jit-7.dump", dump.read_bytes())
    assert not shown(recording, "--perf-map-dir", other.parent)


@pytest.mark.parametrize("target", ["/proc/self/environ", "/dev/null", "/sys/kernel/notes"])
def test_links_to_files_that_the_kernel_makes(target: str, recorded: Path, machine: Path) -> None:
    """However the path is spelled, and whoever named it."""
    source = machine / SOURCE[1:]
    source.unlink()
    source.symlink_to(target)
    for words in ((), ("--symfs", machine), ("--source-dir", machine)):
        ran = perf2x("annotate", "walk", recorded, "-q", "--source", *words)
        assert ran.code == 0, ran.err
        assert "PERF2X_SYSROOT" not in ran.out


def test_pipes_are_not_waited_for(recorded: Path, machine: Path) -> None:
    (machine / SOURCE[1:]).unlink()
    os.mkfifo(machine / SOURCE[1:])
    ran = perf2x("annotate", "walk", recorded, "-q", "--source")
    assert (ran.code, "the source file was not found" in ran.out) == (0, True)
