"""Labels of pprof samples. Only samples with equal labels are merged."""

from collections.abc import Callable, Sequence

import numpy as np

from perf2x.base.abi import MODE_NAMES, CpuMode, data_source
from perf2x.base.columnar import (
    I64,
    AnyArray,
    Frozen,
    ListArray,
    arange,
    as_int64,
    flatnonzero,
    group_rows,
    map_distinct,
    offsets_of,
    side_by_side,
    trues,
    unique,
    unique_inverse,
    zeros,
)
from perf2x.emitters.encoding.protobuf import SharedColumn, encoded_values, nested_field, number_fields, unshared_column
from perf2x.model.cgroup_parts import ATTRIBUTES, CGROUP_PARTS, cgroup_part
from perf2x.model.profile import Profile

MEMORY_LABELS: dict[str, Callable[[int], str]] = {
    "mem_op": data_source.operation,
    "mem_level": data_source.level,
    "snoop": data_source.snoop,
    "tlb": data_source.translation,
}
"""Labels decoded from a memory access's data_src."""

Intern = Callable[[str], int]
"""Returns the row of a string in the string table, to which it is added if new."""


class LabelColumn(Frozen):
    """One label of all samples. With a ``unit`` its values are numbers, otherwise rows of the string table."""

    key: str
    values: I64
    """(samples,) or, ``by_thread``, (threads,)"""
    unit: str = ""
    by_thread: bool = False

    def sample_values(self, profile: Profile, rows: I64 | slice = slice(None)) -> I64:
        """Return (rows,) the values of these rows of Profile.samples."""
        return self.values[profile.samples.thread[rows] if self.by_thread else rows]


MakeLabel = Callable[[str, Profile, Intern], LabelColumn | None]
"""Makes a label, given its name, the profile and its string table; None if the data for it was not recorded."""


class Labels:
    """The labels of all samples of a profile."""

    def __init__(self, columns: Sequence[LabelColumn], profile: Profile, intern: Intern) -> None:
        self._columns, self._profile, self._intern = columns, profile, intern
        self._profile_labels = sorted(profile.labels.items())

    def keys(self) -> list[I64]:
        """Return (samples,) columns of numbers, which are equal where all labels are, and sort as the labels do.

        All labels of threads together are one column, which numbers their combinations, as here with pid, comm and
        cpu::

            threads   pid  comm   number         samples   thread  cpu         keys
                        7  web         1                        1    0          0 0
                        7  pool        0                        0    3          1 3
                        7  web         1                        2    0          1 0
        """
        of_threads = [column.values for column in self._columns if column.by_thread]
        combination = [group_rows(of_threads)[1][self._profile.samples.thread]] if of_threads else []
        return [*combination, *(column.values for column in self._columns if not column.by_thread)]

    def encoded(self, rows: I64) -> ListArray:
        """Encode the labels (Sample.label) of rows of Profile.samples, including those of the whole profile."""
        intern = self._intern
        fixed = [(intern(key), intern(value)) for key, value in self._profile_labels]
        parts = [
            _encoded_label(intern(column.key), column.sample_values(self._profile, rows), intern(column.unit))
            for column in self._columns
        ]
        parts += [_encoded_label(key, np.full(len(rows), value, np.int64), 0) for key, value in fixed]
        return side_by_side(parts) if parts else ListArray.of_empty_rows(len(rows), np.uint8)


def labels_of(profile: Profile, names: tuple[str, ...], intern: Intern) -> Labels:
    """Return the labels ``names`` that this profile has, in the order of ``LABELS``, then tags of inputs."""
    all_labels = (LABELS[name](name, profile, intern) for name in LABELS if name in names)
    columns = [column for column in all_labels if column is not None] + _tags(profile, intern)
    return Labels(columns, profile, intern)


def _tags(profile: Profile, intern: Intern) -> list[LabelColumn]:
    if profile.samples.tags is None:
        return []
    keys = sorted({key for tags in profile.tag_sets for key in tags})
    return [
        LabelColumn(key, as_int64([intern(tags.get(key, "")) for tags in profile.tag_sets])[profile.samples.tags])
        for key in keys
    ]


class EncodedLabels:
    """Encodes the labels of many samples; combinations that several samples share are encoded once.

    ``rows`` (n,) are rows of Profile.samples, ``keys`` the columns of `Labels.keys`.
    """

    def __init__(self, labels: Labels, keys: Sequence[I64], rows: I64) -> None:
        columns = [column[rows] for column in keys] or [zeros(len(rows))]
        # (n,) each row's combination of labels; (combinations,) an index in ``rows`` of a row that has it
        combinations, self._combination = unique_inverse(columns[0] if len(columns) == 1 else group_rows(columns)[1])
        example_index = np.empty(len(combinations), np.int64)
        example_index[self._combination] = arange(len(rows))
        self._rows, self._labels = rows, labels
        # with times, hardly any combination is shared: then of_samples encodes labels in batches
        is_shared = 4 * len(example_index) < len(rows)
        self._encoded = encoded_values(labels.encoded(rows[example_index])) if is_shared else None

    def of_samples(self, start: int, stop: int) -> SharedColumn:
        """Return the labels of ``rows[start:stop]``."""
        if self._encoded is None:
            return unshared_column(self._labels.encoded(self._rows[start:stop]))
        return self._encoded, self._combination[start:stop]


def _encoded_label(key: int, values: I64, unit: int) -> ListArray:
    """Encode a Label for each value, as Sample.label (3): key 1, str 2, num 3, num_unit 4.

    ``key``, ``unit`` and values without a unit are rows of the string table; empty strings get no label.
    """
    distinct, index = unique_inverse(values)
    count = len(distinct)
    value_fields = {3: distinct, 4: np.full(count, unit, np.int64)} if unit else {2: distinct}
    messages = number_fields({1: np.full(count, key, np.int64), **value_fields})
    has_label = trues(count) if unit else distinct != 0
    offsets = offsets_of(as_int64(has_label))
    return nested_field(3, messages[flatnonzero(has_label)], offsets)[index]


def _interned_texts(rows: AnyArray, names: Sequence[str], intern: Intern) -> I64:
    return map_distinct(rows, lambda row: intern(names[row]))


def _thread_label(key: str, profile: Profile, texts: list[str], intern: Intern) -> LabelColumn:
    """Intern only the ``texts`` (threads,) of threads with samples."""
    values = zeros(len(texts))
    used = unique(profile.samples.thread)
    values[used] = [intern(texts[row]) for row in used.tolist()]
    return LabelColumn(key, values, by_thread=True)


def _thread_id(key: str, profile: Profile, intern: Intern) -> LabelColumn:
    return LabelColumn(key, as_int64(getattr(profile.threads, key)), key, by_thread=True)


def _thread_name(key: str, profile: Profile, intern: Intern) -> LabelColumn:
    return _thread_label(key, profile, [profile.strings[row] for row in getattr(profile.threads, key)], intern)


def _name_and_tid(key: str, profile: Profile, intern: Intern) -> LabelColumn:
    """A pool may give all its threads one name; ``name/tid`` is distinct for each."""
    pairs = zip(profile.threads.comm, profile.threads.tid, strict=True)
    return _thread_label(key, profile, [f"{profile.strings[comm]}/{tid}" for comm, tid in pairs], intern)


_UNITS = {"cpu": "cpu", "time": "nanoseconds"}


def _sample_column(key: str, profile: Profile, intern: Intern) -> LabelColumn | None:
    values = getattr(profile.samples, key)
    return None if values is None else LabelColumn(key, as_int64(values), _UNITS[key])


def _cgroup(key: str, profile: Profile, intern: Intern) -> LabelColumn | None:
    cgroup = profile.samples.cgroup
    if cgroup is None:
        return None
    texts = map_distinct(cgroup, lambda row: intern(cgroup_part(key, profile.strings[row])))
    return LabelColumn(key if key == "cgroup" else ATTRIBUTES[key], texts)


def _memory_label(key: str, profile: Profile, intern: Intern) -> LabelColumn | None:
    source, describe = profile.samples.data_src, MEMORY_LABELS[key]
    if source is None:
        return None
    return LabelColumn(key, map_distinct(source, lambda bits: intern(describe(bits) if bits else "")))


def _mode(key: str, profile: Profile, intern: Intern) -> LabelColumn:
    location = np.append(profile.stacks.location, -1)[profile.samples.stack]
    mode = np.append(profile.locations.mode, int(CpuMode.UNKNOWN))[location]
    return LabelColumn(key, _interned_texts(mode, MODE_NAMES, intern))


def _event(key: str, profile: Profile, intern: Intern) -> LabelColumn:
    return LabelColumn(key, _interned_texts(profile.samples.event, [event.name for event in profile.events], intern))


LABELS: dict[str, MakeLabel] = {
    "pid": _thread_id,
    "tid": _thread_id,
    "comm": _thread_name,
    "process": _thread_name,
    "thread": _name_and_tid,
    "cpu": _sample_column,
    **dict.fromkeys(CGROUP_PARTS, _cgroup),
    "mode": _mode,
    "event": _event,
    "time": _sample_column,
    **dict.fromkeys(MEMORY_LABELS, _memory_label),
}
"""Every label, by the name that users type."""
