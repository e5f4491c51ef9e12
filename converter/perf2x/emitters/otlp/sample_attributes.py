"""Attributes of samples, by the names that users choose them by: those of pprof's labels."""

from perf2x.base.abi.uapi import CpuMode
from perf2x.base.columnar.arrays import I64
from perf2x.base.columnar.unique import unique_inverse
from perf2x.emitters.otlp.attributes import Attributes, Value
from perf2x.emitters.pprof.pprof_tables import StringTable
from perf2x.emitters.pprof.sample_labels import LABELS, MODE_NAMES
from perf2x.model.profile.profile import Profile

KEYS = {
    "pid": "process.pid",
    "tid": "thread.id",
    "comm": "thread.name",
    "process": "process.executable.name",
    "cpu": "cpu.logical_number",
    "cgroup": "process.linux.cgroup",
    "mode": "cpu.mode",
}
"""Keys in OpenTelemetry's semantic conventions. ``process`` is the name of the process's first thread."""


def attribute_columns(profile: Profile, wanted: tuple[str, ...], attributes: Attributes) -> list[I64]:
    """Return a column (samples,) of numbers of attributes for each wanted name; 0 where it is not known."""
    strings = StringTable(profile)
    columns = []
    for name, key in KEYS.items():
        label = LABELS[name](profile, strings.add) if name in wanted else None
        if label is None:
            continue
        used, place = unique_inverse(label.of_samples(profile))
        if label.unit:
            values: list[Value | None] = [number if number >= 0 else None for number in used.tolist()]
        else:
            nothing = ("", MODE_NAMES[CpuMode.UNKNOWN] if name == "mode" else "")
            texts = (strings.texts[row] for row in used.tolist())
            values = [None if text in nothing else text for text in texts]
        columns.append(attributes.add_column(key, values, place))
    return columns
