"""Files of this machine that a recording names: taken only if they are the recorded ones, or may be."""

import os
import shutil
import tarfile
from pathlib import Path

import pytest

from perf2x.base.binaries.elf.elf_file import open_elf
from perf2x.base.binaries.find.object_finder import PERHAPS_OTHER_FILE, Finder, ObjectFiles
from perf2x.base.binaries.find.search_paths import SearchPaths
from perf2x.base.binaries.find.untrusted_paths import RecordedFileCheck, is_installed_here
from perf2x.base.diagnostics import Diagnostics
from perf2x.kernel.registry import load_symbol_sources
from perf2x.reader import open_recording
from perf2x.symbolizer.symbol_options import SymbolOptions
from perf2x.symbolizer.symbolize import symbolize
from tests.support.command import Ran, perf2x
from tests.support.jitdump_writer import code_load, header
from tests.support.own_machine import HERE, NAME, PROGRAM, TEXT, put, write
from tests.support.profile_builder import make_profile, make_session, name_of
from tests.support.recordings import ROOT
from tests.support.tiny_elf import TinySection, TinySymbol, symbol_sections, tiny_elf

MODULE = ROOT / "tests" / "unit" / "symbolizer" / "data" / "debug_info" / "module.ko"
DEBUG = tiny_elf(
    [TinySection(".text", bytes(64), 0x1000, "NOBITS", 6), *symbol_sections([TinySymbol("d", 4096, 64)], 2)]
)
SECOND = 10**9


def names(recording: Path, *words: object) -> str:
    ran = perf2x("convert", recording, "--to", "collapsed", "-o", "-", "-q", *words)
    assert ran.code == 0, ran.err
    return ran.out


def test_the_recorded_file_keeps_its_names(machine: Path, tmp_path: Path) -> None:
    program = put(machine, NAME, PROGRAM)
    recording = write(tmp_path / "a.data", program.stat().st_ino)
    assert "parse" in names(recording, "--strict")
    os.utime(recording, ns=(SECOND, SECOND))  # as from another clock
    os.utime(program, ns=(SECOND, SECOND))
    assert "parse" in names(recording), "its mode or its links changed, at most"


@pytest.mark.parametrize("inodes", [(1,), (0, 1)])
def test_another_file_at_the_path(inodes: tuple[int, ...], machine: Path, tmp_path: Path) -> None:
    put(machine, NAME, PROGRAM)
    recording = write(tmp_path / "a.data", *inodes)
    assert "parse" not in names(recording)
    assert "parse" in names(recording, "--allow-build-id-mismatch")
    assert "parse" in names(recording, "--symfs", machine)


def test_one_of_several_files_of_a_name(machine: Path, tmp_path: Path) -> None:
    own = put(machine, NAME, PROGRAM).stat().st_ino
    for inodes in ((own, own + 1), (own - 1, own), (own - 1, own, own + 1)):
        assert "parse" not in names(write(tmp_path / "a.data", *inodes))
    assert "parse" in names(write(tmp_path / "a.data", own, 0, own))
    assert "parse" in names(write(tmp_path / "a.data", own | 5 << 48)), "with the number of overlayfs's layer"
    assert "parse" in names(write(tmp_path / "a.data", 0)), "nobody knows its inode"


def test_a_file_that_was_written_to_in_place(machine: Path, tmp_path: Path) -> None:
    program = put(machine, NAME, PROGRAM)
    recording, now = write(tmp_path / "a.data", program.stat().st_ino), program.stat().st_ctime_ns
    for written, changed, known in (
        (now - 5 * SECOND, now, False),
        (now + 5 * SECOND, now + 9 * SECOND, True),  # a date in the future, from before the recording
        (now - 5 * SECOND, now - 9 * SECOND, True),  # only its links or its mode
        (now // SECOND * SECOND, now, True),  # whole seconds are cut ones
        (now - 3 * SECOND - 1, now, False),
    ):
        os.utime(recording, ns=(written, written))
        os.utime(program, ns=(changed, changed))
        assert ("parse" in names(recording)) is known, (written - now, changed - now)
    opened = open_recording(str(recording))
    recording.unlink()
    files = RecordedFileCheck(opened.session, opened.sideband.mmaps)
    assert not files.refusal(NAME, program), "nobody knows when it was written"


def test_recordings_of_other_machines(machine: Path, tmp_path: Path) -> None:
    program = put(machine, NAME, PROGRAM)
    inode = program.stat().st_ino
    assert "parse" not in names(write(tmp_path / "a.data", inode, host="there"), "--strict"), "no loss: nothing changed"
    assert "parse" in names(write(tmp_path / "a.data", inode + 1, host=None)), "inodes of nobody knows where"
    assert "parse" in names(write(tmp_path / "a.data", inode + 1, host="there"), "--symfs", machine)
    (machine / "proc/sys/kernel/hostname").unlink()
    assert "parse" in names(write(tmp_path / "a.data", inode + 1, host="there"))


def test_debug_files_by_name_alone(machine: Path, tmp_path: Path) -> None:
    """Without a build id they belong to the file at the path, not to the recorded one."""
    program = put(machine, NAME, tiny_elf([TEXT]))
    put(machine, f"/usr/lib/debug{NAME}.debug", DEBUG)
    inode = program.stat().st_ino
    assert ";d " in names(write(tmp_path / "a.data", inode))
    for other, host in ((inode + 1, HERE), (inode, "there")):
        assert ";d " not in names(write(tmp_path / "a.data", other, host=host))
    program.unlink()
    recording = write(tmp_path / "a.data", inode, host="there")
    assert ";d " not in names(recording)
    assert ";d " in names(recording, "--debug-dir", machine / "usr/lib/debug")


def test_where_it_was_made_if_mappings_do_not_say(machine: Path, tmp_path: Path) -> None:
    for inodes, host, here in (((5,), HERE, True), ((), HERE, False), ((5,), "there", False), ((5,), None, False)):
        recording = open_recording(str(write(tmp_path / "a.data", *inodes, host=host)))
        assert RecordedFileCheck(recording.session, recording.sideband.mmaps).was_made_here is here
        assert not RecordedFileCheck(recording.session).was_made_here
    (machine / "proc/sys/kernel/hostname").unlink()
    recording = open_recording(str(write(tmp_path / "a.data", 5, host=None)))
    assert not RecordedFileCheck(recording.session, recording.sideband.mmaps).was_made_here, (
        "two machines without a name"
    )


def test_several_recordings_that_name_one_path(machine: Path, tmp_path: Path) -> None:
    inode = put(machine, NAME, PROGRAM).stat().st_ino
    for order in ((inode, inode + 1), (inode + 1, inode)):
        first, second = (write(tmp_path / f"{at}.data", each) for at, each in enumerate(order))
        written = first.stat().st_mtime_ns
        os.utime(second, ns=(written, written))
        found = perf2x("convert", first, second, "--to", "collapsed", "-o", "-", "-q", "--value", "samples").out
        assert "parse 8" in found and "[app] 8" in found


@pytest.mark.parametrize(
    "recordings", [(("there", False), (None, True)), ((None, True), ("there", False)), ((HERE, True), (HERE, False))]
)
def test_one_finder_judges_each_recording(
    recordings: tuple[tuple[str | None, bool], ...], machine: Path, tmp_path: Path
) -> None:
    """Of one path, by where and when each was made."""
    status, finder = put(machine, NAME, PROGRAM).stat(), Finder(SearchPaths(system_debug_dir=None, proc=None))
    for (host, known), age in zip(recordings, (0, 9 * SECOND), strict=True):
        path = write(tmp_path / "a.data", status.st_ino, host=host)
        written = status.st_ctime_ns + SECOND - age
        os.utime(path, ns=(written, written))
        recording = open_recording(str(path))
        recorded = RecordedFileCheck(recording.session, recording.sideband.mmaps)
        assert bool(finder.find(NAME, b"", file_check=recorded).files) is known


def gate(*words: object) -> Ran:
    return perf2x(*words, "-q", env={"GITHUB_ACTIONS": "", "GITLAB_CI": ""})


def test_no_gate_passes(machine: Path, tmp_path: Path) -> None:
    inode = put(machine, NAME, PROGRAM).stat().st_ino
    good, bad = write(tmp_path / "good.data", inode), write(tmp_path / "bad.data", inode + 1)
    out = ("--to", "collapsed", "-o", tmp_path / "out")
    for limits in (("--strict",), ("--fail-if", "unresolved=99"), ("--fail-if", "unresolved=0")):
        ran = gate("convert", bad, *out, *limits)
        assert ran.code == 3, limits
        assert f"1 file changed after the recording, {NAME} first" in ran.said or limits[0] == "--strict"
    assert gate("convert", bad, *out, "--fail-if", "lost=5").code == 0
    assert gate("convert", good, *out, "--strict", "--fail-if", "unresolved=0").code == 0
    for pair in ((good, bad), (bad, good), (bad, bad)):
        ran = gate("diff", *pair, "--fail-above", "total=100%")
        assert ran.code == 3
        assert "changes cannot be judged (--fail-above)" in ran.said
        assert gate("diff", *pair).code == 0
        ran = gate("report", pair[1], "--before", pair[0], "--fail-above", "100%")
        assert (ran.code, ran.out.splitlines()[0]) == (3, "### perf2x: unreliable")
    assert gate("diff", good, good, "--fail-above", "total=100%").code == 0


def test_why_it_was_refused(machine: Path, tmp_path: Path) -> None:
    path = put(machine, NAME, PROGRAM)

    def found(inode: int, host: str) -> ObjectFiles:
        recording = open_recording(str(write(tmp_path / "a.data", inode, host=host)))
        files = RecordedFileCheck(recording.session, recording.sideband.mmaps)
        return Finder(SearchPaths(system_debug_dir=None, proc=None)).find(NAME, b"", file_check=files)

    for inode, host, why in (
        (5, HERE, "replaced after the recording"),
        (5, "there", "not be the file that was on there"),
    ):
        one = found(inode, host)
        assert (why in one.reason, [each.result for each in one.searched[:1]]) == (True, [PERHAPS_OTHER_FILE])
    assert found(path.stat().st_ino, HERE).files


@pytest.mark.parametrize(("host", "inner", "taken"), [(HERE, 8, True), ("there", 8, False), ("there", 7, True)])
def test_jitdumps_at_the_recorded_path(host: str, inner: int, taken: bool, machine: Path, tmp_path: Path) -> None:
    """A dump of another machine proves by its process id that it is the recorded one."""
    dump = bytearray(header())
    dump[20:24] = inner.to_bytes(4, "little")
    put(machine, "/tmp/jit-7.dump", bytes(dump) + code_load(1, 0x500000, "jitted", 0, size=64))
    recording = write(tmp_path / "a.data", 1, host=host, name="/tmp/jit-7.dump")
    data = recording.read_bytes().replace((0x400008).to_bytes(8, "little"), (0x500008).to_bytes(8, "little"))
    recording.write_bytes(data)
    assert ("jitted" in names(recording)) is taken
    ran = perf2x("bundle", recording, "-o", tmp_path / "a.tar.gz", "-q")
    assert ran.code == 0, ran.err
    (machine / "tmp/jit-7.dump").unlink()
    assert ("jitted" in names(tmp_path / "a.tar.gz")) is taken


def test_dumps_that_were_written_on_after_the_recording(machine: Path, tmp_path: Path) -> None:
    """perf record -p ends before the program; entries have times, so that gates can judge them."""
    dump = put(machine, "/tmp/jit-7.dump", header() + code_load(1, 0x500000, "jitted", 0, size=64))
    recording = write(tmp_path / "a.data", dump.stat().st_ino, name="/tmp/jit-7.dump")
    recording.write_bytes(
        recording.read_bytes().replace((0x400008).to_bytes(8, "little"), (0x500008).to_bytes(8, "little"))
    )
    written = recording.stat().st_mtime_ns + 9 * SECOND
    os.utime(recording, ns=(written - 99 * SECOND, written - 99 * SECOND))
    os.utime(dump, ns=(written, written))
    assert "jitted" in names(recording, "--strict")
    assert gate("diff", recording, recording, "--fail-above", "total=100%").code == 0


def test_bundles_hold_no_file_that_a_perf_map_only_leads_to(machine: Path, tmp_path: Path) -> None:
    """A link of the map's name, made by anybody in /tmp; lines of the file that look like a map's are no proof."""
    recording, packed = write(tmp_path / "a.data", 0, name="//anon"), tmp_path / "a.tar.gz"
    key = put(machine, "/home/me/.ssh/id_rsa", b"-----BEGIN PRIVATE KEY-----\nadd 10 hex\n")
    (machine / "tmp").mkdir()
    (machine / "tmp/perf-7.map").symlink_to("/home/me/.ssh/id_rsa")

    def members() -> list[str]:
        assert perf2x("bundle", recording, "-o", packed, "-q").code == 0
        with tarfile.open(packed) as tar:
            found = tar.getnames()
        packed.unlink()
        return found

    assert "maps/perf-7.map" not in members()
    key.write_bytes(b"400000 1000 parse\n")
    assert "maps/perf-7.map" in members()


def test_whose_file_it_is(machine: Path, tmp_path: Path) -> None:
    """Beside the program, in ``.debug`` there, or in the debug directory of this machine; nowhere else."""
    places = SearchPaths(buildid_dir=tmp_path / "cache")
    for path, own in (
        ("/srv/app", True), ("/srv/app.debug", True), ("/srv/.debug/app", True), ("/usr/lib/debug/x/app", True),
        ("/srv/x/app", False), ("/usr/lib/debugger/app", False), ("/tmp/app", False),
    ):  # fmt: skip
        file = open_elf(put(machine, path, PROGRAM))
        assert is_installed_here(places, NAME, file) is own, path
        assert not is_installed_here(SearchPaths(symfs=machine), NAME, file)
    assert not is_installed_here(places, NAME, open_elf(PROGRAM, "in an archive"))
    copy = shutil.copy(machine / "srv/app", tmp_path / "cache-app")
    assert not is_installed_here(places, NAME, open_elf(Path(copy)))


@pytest.mark.parametrize(
    ("release", "names_one"),
    [("7.2.0-x", True), ("..", False), (".", False), ("a/b", False), ("", False), ("a\0", False)],
)
def test_releases_of_kernels_are_folders_below_lib_modules(
    release: str, names_one: bool, machine: Path, tmp_path: Path
) -> None:
    """A module is looked for everywhere below the release's folder."""
    for folder in ("/lib", "/lib/modules", "/lib/modules/a/b", "/lib/modules/7.2.0-x"):
        put(machine, f"{folder}/module.ko", MODULE.read_bytes())
    start = 0xFFFFFFFFC0103000
    profile = make_profile([(start, start + 0x1000, 0, "[module]", "", -1)], [(0, start + 0x40)])
    session = make_session(hostname=HERE, os_release=release)
    result, _ = symbolize(profile, session, SymbolOptions(), Diagnostics(), load_symbol_sources())
    assert (name_of(result, 0) is not None) is names_one
