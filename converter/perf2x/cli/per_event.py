"""``--per-event``: one complete output file for each event that has samples."""

import re
from collections.abc import Iterator

from msgspec.structs import replace

from perf2x.base.columnar.arrays import flatnonzero
from perf2x.base.columnar.unique import unique
from perf2x.base.errors import OptionError
from perf2x.model.profile.profile import plain_names
from perf2x.model.profile.view import View


def per_event(profile: View, target: str, suffix: str) -> Iterator[tuple[str, View]]:
    """File name (``out.folded`` becomes ``out.cycles.folded``) and profile of each event that has samples.

    OptionError for standard output, which cannot be several files.
    """
    if target == "-":
        raise OptionError("--per-event writes several files: name one with -o, not standard output")
    taken: set[str] = set()
    for row in unique(profile.samples.event).tolist():
        name = re.sub(r"[^\w.+-]+", "_", plain_names(profile.events)[row]).strip("_") or f"event_{row}"
        name = name if name not in taken else f"{name}_{row}"
        taken.add(name)
        yield _inserted(target, suffix, name), _only_event(profile, row)


def _only_event(profile: View, row: int) -> View:
    """The profile with the samples of one event only, which becomes the default event."""
    kept = flatnonzero(profile.samples.event == row)
    names = (field for field in profile.samples.__struct_fields__)
    columns = ((name, getattr(profile.samples, name)) for name in names)
    kept_columns = {name: column[kept] for name, column in columns if column is not None}
    samples = replace(profile.samples, **kept_columns)
    return replace(profile, samples=samples, default_event=row)


def _inserted(target: str, suffix: str, name: str) -> str:
    for ending in (suffix, f"{suffix}.gz", suffix.removesuffix(".gz")):
        if target.endswith(ending):
            return f"{target.removesuffix(ending)}.{name}{ending}"
    return f"{target}.{name}"
