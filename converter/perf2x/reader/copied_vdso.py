"""Name of the vDSO in the table of build ids.

Source of truth: tools/perf/util/vdso.c. perf copies its own vDSO to a temporary file to read its symbols. perf record
names it ``[vdso]``, as mappings do; ``perf inject -b`` of perf 7 writes the name of the copy.
"""

import re
from collections.abc import Mapping

from perf2x.model.recording.build_ids import VDSO

_COPY = re.compile(r"/tmp/perf-vdso\.so-.{6}")


def with_vdso(build_ids: Mapping[str, bytes]) -> dict[str, bytes]:
    """Name the copy of perf's vDSO ``[vdso]``; copies of several vDSOs (perf-read-vdso32) keep their names."""
    copies = {build_id for name, build_id in build_ids.items() if _COPY.fullmatch(name)}
    if len(copies) != 1 or VDSO in build_ids:
        return dict(build_ids)
    others = {name: build_id for name, build_id in build_ids.items() if not _COPY.fullmatch(name)}
    return others | {VDSO: copies.pop()}
