"""Code in jitdump files: mappings for the stitcher, call frame information for the unwinder.

A just-in-time compiler describes its code in a file ``jit-PID.dump``. The runtime maps it only so that perf records its
name: the process *announces* its dump.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from perf2x.base.abi import SampleType
from perf2x.kernel.load_options import LoadContext

if TYPE_CHECKING:
    from perf2x.base.binaries.elf.elf_file import ElfObject
    from perf2x.base.binaries.find.object_finder import Finder
    from perf2x.model.recording import Recording, Session, Sideband
    from perf2x.symbolizer.sources.jitdump_mappings import AnnouncedDump
    from perf2x.symbolizer.sources.parse_jitdump import JitDump


def with_jit_code(recording: Recording, context: LoadContext) -> Sideband:
    """Return the side-band tables plus a mapping for each piece of code in the announced jitdump files.

    If the recording has user stack dumps, the unwinder gets the call frame information in these files.
    """
    sideband, symbols = recording.sideband, context.options.symbols
    if symbols is None:
        return sideband
    from perf2x.base.mapping_names import is_jitdump

    if not any(map(is_jitdump, sideband.mmaps.filename.distinct)):
        return sideband
    from perf2x.symbolizer.sources.jitdump_mappings import with_jitdump_mappings

    session, finder = recording.session, context.finder
    sideband, dumps = with_jitdump_mappings(sideband, session, symbols, context.diagnostics, finder)
    if any(event.sample_type & SampleType.STACK_USER for event in session.events):
        provide_images(dumps, session, finder)
    return sideband


def provide_images(announcements: Sequence[AnnouncedDump], session: Session, finder: Finder) -> None:
    """Make the finder return an ELF image, with the call frame information in the dump, for the name of each dump.

    Processes in different containers may announce different files under one name, which then gets no image.
    """
    paths_by_name: dict[str, set[str]] = {}
    for announcement in announcements:
        paths_by_name.setdefault(announcement.name, set()).add(announcement.dump.name)
    for name, dump in {announcement.name: announcement.dump for announcement in announcements}.items():
        image = _elf_image(dump, session) if len(paths_by_name[name]) == 1 else None
        if image is not None:
            finder.provide(name, image)


def _elf_image(dump: JitDump, session: Session) -> ElfObject | None:
    from perf2x.stitcher.unwind.jit_image import JitFunction, jit_image
    from perf2x.symbolizer.sources.parse_jitdump import machine_of

    functions = [JitFunction(code.offset, code.size, code.eh_frame) for code in dump.codes if code.eh_frame]
    machine = machine_of(dump, session.arch)
    with contextlib.suppress(OSError):
        return jit_image(Path(dump.name).read_bytes(), machine, functions, dump.name) if functions else None
    return None
