"""Finds the recorded kernel's vDSO: code that the kernel maps into user programs, and that has no path.

It may be in the build-id cache, into which perf copies its own vDSO; below /lib/modules, where ``make vdso_install``
puts it; and in memory, if the recorded kernel is still running. This process has the 64-bit vDSO; perf's program
perf-read-vdso32 prints the 32-bit one. Source of truth: tools/perf/util/vdso.c.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from perf2x.base.binaries.elf.build_id_notes import same_build_id
from perf2x.base.binaries.elf.elf_file import ElfObject, open_elf, open_object
from perf2x.base.binaries.find.object_finder import ABSENT, OTHER_BUILD, TAKEN, UNREADABLE, Finder, ObjectFiles
from perf2x.base.binaries.find.running_kernel import running_host_name, running_kernel_build_id, running_kernel_release
from perf2x.base.binaries.find.untrusted_paths import RecordingOrigin
from perf2x.base.files.sysroot import VDSO_PATHS, is_file, is_folder_name, sysroot
from perf2x.base.mapping_names import VDSO
from perf2x.errors import ObjectError

# name in messages of the vDSO that is mapped into this process
IN_MEMORY = f"{VDSO} of this machine"
_VDSO32_PROGRAMS = ("/usr/lib/perf-core/perf-read-vdso32", "/usr/libexec/perf-core/perf-read-vdso32")


def find_vdso(
    finder: Finder, session: RecordingOrigin, build_id: bytes, kernel_build_id: bytes, *, is_64: bool
) -> ObjectFiles:
    """Find the vDSO of 64-bit or 32-bit programs: first like any object, then below /lib/modules and in memory.

    ``build_id`` and ``kernel_build_id`` are b"" if they were not recorded. Without a build id, the vDSO of the recorded
    kernel release is taken or, if the recording is of the running kernel, the one in memory.
    """
    found = finder.find(VDSO, build_id)
    if found.files:
        return found
    found = ObjectFiles(refused=[*found.refused], searched=[*found.searched])
    may_be_in_memory = bool(build_id) or _is_of_running_kernel(session, kernel_build_id)
    in_memory = _vdso_in_memory(found, is_64) if may_be_in_memory and finder.search_paths.symfs is None else iter(())
    for file in (*_installed_vdsos(finder, session.os_release, found), *in_memory):
        is_match = same_build_id(build_id, file.build_id) if build_id else _has_word_size(file, is_64)
        found.note(file.name, TAKEN if is_match else OTHER_BUILD)
        if is_match:
            return ObjectFiles([file], searched=found.searched)
        found.refused.append(f"{file.name} is another build")
    return found


def _has_word_size(file: ElfObject, is_64: bool) -> bool:
    # a 32-bit file for EM_X86_64 is for x32: 64-bit programs with 32-bit pointers
    return file.is_64 if is_64 else not file.is_64 and file.machine != "EM_X86_64"


def _installed_vdsos(finder: Finder, release: str, found: ObjectFiles) -> Iterator[ElfObject]:
    if not is_folder_name(release):
        return
    for template in VDSO_PATHS:
        for path in finder.search_paths.local_paths(template.format(release)):
            if not is_file(path):
                found.note(path, ABSENT)
                continue
            try:
                yield open_object(path)
            except ObjectError as error:
                found.note(path, UNREADABLE, str(error))


def _vdso_in_memory(found: ObjectFiles, is_64: bool) -> Iterator[ElfObject]:
    image, name = (running_vdso_image(), IN_MEMORY) if is_64 else (running_vdso32_image(), f"the 32-bit {IN_MEMORY}")
    if not image:
        found.note(name, ABSENT)
        return
    try:
        yield open_elf(image, name)
    except ObjectError as error:
        found.refused.append(str(error))


def _is_of_running_kernel(session: RecordingOrigin, kernel_build_id: bytes) -> bool:
    if kernel_build_id:
        return running_kernel_build_id() == kernel_build_id
    has_both = bool(session.os_release and session.hostname)
    return has_both and (session.os_release, session.hostname) == (running_kernel_release(), running_host_name())


# the vDSO's line in /proc/PID/maps; the groups are its start and its end
_MAPPING = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) r.*\[vdso\]$", re.MULTILINE)


def running_vdso_image() -> bytes:
    """Return the vDSO's ELF image; b"" if there is none, a sysroot hides it, or it cannot be read."""
    return b"" if sysroot() else _mapped_vdso()


def running_vdso32_image() -> bytes:
    """Return the ELF image of the vDSO of 32-bit programs, as `running_vdso_image` does."""
    return b"" if sysroot() else _read_vdso32()


@cache
def _read_vdso32() -> bytes:
    import subprocess

    program = next((path for path in _VDSO32_PROGRAMS if Path(path).is_file()), "")
    try:
        return subprocess.run([program], capture_output=True, check=False, timeout=5).stdout if program else b""
    except (OSError, subprocess.SubprocessError):
        return b""


@cache
def _mapped_vdso() -> bytes:
    try:
        match = _MAPPING.search(Path("/proc/self/maps").read_text())
        if match is None:
            return b""
        start, end = (int(digits, 16) for digits in match.groups())
        with Path("/proc/self/mem").open("rb") as memory:
            memory.seek(start)
            return memory.read(end - start)
    except (OSError, ValueError):
        return b""
