"""Files of a recording's vDSO, for the symbolizer and for bundles."""

from perf2x.binaries.find.object_files import ObjectFiles
from perf2x.binaries.find.recorded_vdso import find_vdso
from perf2x.symbolizer.mapped_objects import MappedObject
from perf2x.symbolizer.sources.symbol_source import Context


def vdso_files(context: Context, mapped: MappedObject) -> ObjectFiles:
    """The files of the vDSO that ``mapped`` stands for; programs of 32 bits have theirs below 4 GiB."""
    is_64 = mapped.start >= 2**32
    return find_vdso(context.finder, context.session, mapped.key.build_id, context.kernel_build_id, is_64=is_64)
