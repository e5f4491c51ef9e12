"""Make the context of symbol sources from a recording."""

import numpy as np

from perf2x.binaries.find.object_finder import Finder
from perf2x.model.diagnostics import Diagnostics
from perf2x.model.profile.profile import Profile
from perf2x.model.recording.build_ids import KERNEL, build_id_by_name, kernel_build_id
from perf2x.model.recording.events import Session
from perf2x.model.recording.sideband import Sideband
from perf2x.symbolizer.sources.symbol_source import Context
from perf2x.symbolizer.symbol_options import SymbolOptions


def make_context(
    profile: Profile,
    session: Session,
    options: SymbolOptions,
    diagnostics: Diagnostics,
    finder: Finder,
    sideband: Sideband | None = None,
) -> Context:
    """Collect the facts that sources need; those of the kernel come from the first kernel mapping.

    A profile without kernel frames has none: its kernel is told by the recording's ``sideband``, where there is one.
    """
    recorded = kernel_build_id(session, sideband.mmaps) if sideband else build_id_by_name(session, KERNEL)
    reference, build_id = ("", 0), recorded
    for row in np.flatnonzero(profile.mappings.is_kernel):
        name = profile.strings[int(profile.mappings.filename[row])]
        if name.startswith(KERNEL):
            reference = (name.removeprefix(KERNEL), int(profile.mappings.offset[row]))
            build_id = bytes.fromhex(profile.strings[int(profile.mappings.build_id[row])]) or build_id
            break
    namespaces = sideband.namespaces if sideband else None
    return Context(options, session, finder, diagnostics, build_id, reference, namespaces)
