"""Code in jitdumps: mappings for the stitcher, call frame information for the unwinder."""

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
    """Return the side-band records with mappings for the code in jitdump files that were mapped."""
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


def provide_images(announced: Sequence[AnnouncedDump], session: Session, finder: Finder) -> None:
    """Give the unwinder the call frame information in jitdumps, except where one name stands for several dumps."""
    files: dict[str, set[str]] = {}
    for one in announced:
        files.setdefault(one.name, set()).add(one.dump.name)
    for name, dump in {one.name: one.dump for one in announced}.items():
        image = _image(dump, session) if len(files[name]) == 1 else None
        if image is not None:
            finder.provide(name, image)


def _image(dump: JitDump, session: Session) -> ElfObject | None:
    """Return the dump as an ELF file; None without call frame information."""
    from perf2x.stitcher.unwind.jit_image import JitFrames, jit_image
    from perf2x.symbolizer.sources.parse_jitdump import machine_of

    pieces = [JitFrames(code.offset, code.size, code.unwinding) for code in dump.codes if code.unwinding]
    machine = machine_of(dump, session.arch)
    with contextlib.suppress(OSError):
        return jit_image(Path(dump.name).read_bytes(), machine, pieces, dump.name) if pieces else None
    return None
