"""Creates the unwinder of a recording from its mappings and their files."""

from perf2x.base.binaries.elf.elf_file import ElfObject
from perf2x.base.binaries.find.object_finder import Finder
from perf2x.base.binaries.find.recorded_vdso import find_vdso
from perf2x.base.binaries.find.untrusted_paths import RecordedFileCheck
from perf2x.base.columnar import group_rows
from perf2x.base.mapping_names import VDSO, is_jitdump, is_real_path, is_vdso
from perf2x.model.recording import Session, has_64_bits, kernel_build_id
from perf2x.stitcher.history.process_history import ProcessHistory
from perf2x.stitcher.history.profile_mappings import may_hold_code
from perf2x.stitcher.unwind.unwinder import Unwinder
from perf2x.stitcher.unwind.unwound_chains import UserMappings

_DATA_NAMES = frozenset({"[stack]", "[heap]", "[vvar]", "[vvar_vclock]"})
"""Mappings without code that perf may record as executable.

The stack is recorded at exec, before its protection is final (setup_arg_pages in fs/exec.c).
"""


def make_unwinder(session: Session, history: ProcessHistory, finder: Finder, arch: str, max_depth: int) -> Unwinder:
    """Create the unwinder of a recording; ``arch`` is uname -m of the recording machine."""
    mmaps = history.mmaps
    recorded = RecordedFileCheck(session, mmaps)

    def find(name: str, build_id: bytes) -> tuple[ElfObject | None, ElfObject | None]:
        if is_vdso(name):
            kernel = kernel_build_id(session, mmaps)
            files = find_vdso(finder, session, build_id, kernel, is_64=name == VDSO and has_64_bits(session))
        else:
            files = finder.find(name, build_id, pids[name, build_id], recorded)
        return files.code, None if files.dwarf is files.code else files.dwarf

    is_code = may_hold_code(mmaps) & ~mmaps.filename.which(_DATA_NAMES.__contains__)
    build_ids = history.merged_mappings.build_ids.mapped(bytes.fromhex)
    first, _ = group_rows([mmaps.filename.indices, build_ids.indices])
    pids = dict(zip(zip(mmaps.filename[first], build_ids[first], strict=True), mmaps.pid[first].tolist(), strict=True))
    is_jit = mmaps.filename.which(_is_jit) & ~build_ids.which(bool)
    mappings = UserMappings(mmaps.start, mmaps.pgoff, mmaps.filename, build_ids, is_code, is_jit)
    return Unwinder(mappings, find, arch, max_depth)


def _is_jit(name: str) -> bool:
    # [vdso] and [stack], for example; programs may name anonymous memory, which becomes [anon:NAME]
    is_named_by_kernel = name.startswith("[") and not name.startswith("[anon")
    return is_jitdump(name) or not (is_named_by_kernel or is_real_path(name))
