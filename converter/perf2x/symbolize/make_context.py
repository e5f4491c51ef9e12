"""Make the context of symbol sources from a recording."""

import numpy as np

from perf2x.debugfiles.finder import Finder
from perf2x.symbolize.mapped_objects import recorded_build_id
from perf2x.symbolize.options import SymbolOptions
from perf2x.symbolize.sources.contract import Context
from perf2x.tables.diagnostics import Diagnostics
from perf2x.tables.events import Session
from perf2x.tables.profile import Profile
from perf2x.tables.sideband import Namespaces


def make_context(
    profile: Profile,
    session: Session,
    options: SymbolOptions,
    diagnostics: Diagnostics,
    finder: Finder,
    namespaces: Namespaces | None = None,
) -> Context:
    """Collect the facts that sources need; those of the kernel come from the first kernel mapping."""
    reference, build_id = ("", 0), recorded_build_id("[kernel.kallsyms]", session.build_ids)
    for row in np.flatnonzero(profile.mappings.is_kernel):
        name = profile.strings[int(profile.mappings.filename[row])]
        if name.startswith("[kernel.kallsyms]"):
            reference = (name.removeprefix("[kernel.kallsyms]"), int(profile.mappings.offset[row]))
            build_id = bytes.fromhex(profile.strings[int(profile.mappings.build_id[row])]) or build_id
            break
    return Context(options, session, finder, diagnostics, build_id, reference, namespaces)
