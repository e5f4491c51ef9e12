"""``--per-event``: one complete output file for each event that has samples."""

import re
from collections.abc import Iterator

from msgspec.structs import replace

from perf2x.base.columnar import take_rows_of, unique
from perf2x.errors import OptionError
from perf2x.model.profile import View, plain_names


def per_event(profile: View, target: str, suffix: str) -> Iterator[tuple[str, View]]:
    """Yield the file name (``out.folded`` becomes ``out.cycles.folded``) and profile of each event that has samples.

    Raises OptionError for standard output, which cannot be several files.
    """
    if target == "-":
        raise OptionError("--per-event writes several files: choose a file name with -o, not standard output")
    used: set[str] = set()
    for row in unique(profile.samples.event).tolist():
        name = re.sub(r"[^\w.+-]+", "_", plain_names(profile.events)[row]).strip("_") or f"event_{row}"
        name = name if name not in used else f"{name}_{row}"
        used.add(name)
        samples = take_rows_of(profile.samples, profile.samples.event == row)
        yield _inserted(target, suffix, name), replace(profile, samples=samples, default_event=row)


def _inserted(target: str, suffix: str, name: str) -> str:
    for ending in (suffix, f"{suffix}.gz", suffix.removesuffix(".gz")):
        if target.endswith(ending):
            return f"{target.removesuffix(ending)}.{name}{ending}"
    return f"{target}.{name}"
