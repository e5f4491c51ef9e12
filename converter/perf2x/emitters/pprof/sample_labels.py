"""Labels of pprof samples: they distinguish samples of the same stack.

They are separate from the rest of pprof because labels also decide which rows may be summed.
"""

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
    numbers_of,
    offsets_of,
    side_by_side,
    trues,
    unique,
    unique_inverse,
    zeros,
)
from perf2x.emitters.encoding.protobuf import Chosen, nested_field, number_fields, texts_of, whole
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
"""Maps a text to its index in the string table."""


class LabelColumn(Frozen):
    """One label: a number (``unit`` set) or an index into the string table."""

    key: str
    values: I64
    """One per row of samples, or per row of threads."""
    unit: str = ""
    by_thread: bool = False

    def of_samples(self, profile: Profile, rows: I64 | slice = slice(None)) -> I64:
        """Return (rows,) the label of these rows of samples."""
        return self.values[profile.samples.thread[rows] if self.by_thread else rows]


Label = Callable[[str, Profile, Intern], LabelColumn | None]
"""Makes the label of a profile's samples; None if the data for it was not recorded."""


class Labels:
    """The labels of all rows of samples.

    Labels that depend on the thread are computed once per thread::

        threads   pid  tid  comm      kind      samples    thread   cpu         keys
                    7    7  web          0                      1     0         1 0
                    7    8  pool         1                      0     3         0 3
                    7    9  web          2                      1     0         1 0
    """

    def __init__(self, columns: Sequence[LabelColumn], profile: Profile, intern: Intern) -> None:
        self._columns, self._profile, self._intern = columns, profile, intern
        self._of_all = sorted(profile.labels.items())

    def keys(self) -> list[I64]:
        """Return (n,) integer columns that are equal where all labels are, and sort like them."""
        threads = [column.values for column in self._columns if column.by_thread]
        kinds = [group_rows(threads)[1][self._profile.samples.thread]] if threads else []
        return [*kinds, *(column.values for column in self._columns if not column.by_thread)]

    def encoded(self, rows: I64) -> ListArray:
        """Encode the labels (Sample.label) of rows of samples, including labels of the whole profile."""
        intern = self._intern
        fixed = [(intern(key), intern(value)) for key, value in self._of_all]
        parts = [
            _encoded_label(intern(one.key), one.of_samples(self._profile, rows), intern(one.unit))
            for one in self._columns
        ]
        parts += [_encoded_label(key, np.full(len(rows), value, np.int64), 0) for key, value in fixed]
        return side_by_side(parts) if parts else ListArray.of_empty_rows(len(rows), np.uint8)


def labels_of(profile: Profile, names: tuple[str, ...], intern: Intern) -> Labels:
    """Return the labels called ``names`` that this profile has, in the order of ``LABELS``."""
    made = (LABELS[name](name, profile, intern) for name in LABELS if name in names)
    columns = [column for column in made if column is not None] + _tags(profile, intern)
    return Labels(columns, profile, intern)


def _tags(profile: Profile, intern: Intern) -> list[LabelColumn]:
    """Return labels that identify merged inputs; a sample whose input lacks one has an empty text."""
    if profile.samples.tags is None:
        return []
    keys = sorted({key for tags in profile.tag_sets for key in tags})
    return [
        LabelColumn(key, as_int64([intern(tags.get(key, "")) for tags in profile.tag_sets])[profile.samples.tags])
        for key in keys
    ]


class LabelBytes:
    """Encodes the labels of many samples; label sets that several samples share are encoded once.

    ``rows`` (n,) are rows of the profile's samples, ``keys`` the columns of `Labels.keys`.
    """

    def __init__(self, labels: Labels, keys: Sequence[I64], rows: I64) -> None:
        columns = [column[rows] for column in keys] or [zeros(len(rows))]
        kinds, self._place = unique_inverse(columns[0] if len(columns) == 1 else group_rows(columns)[1])
        kept = np.empty(len(kinds), np.int64)
        kept[self._place] = arange(len(rows))  # any row serves
        self._rows, self._labels = rows, labels
        shared = 4 * len(kept) < len(rows)  # with times hardly any are shared, so they are encoded on demand
        self._known = texts_of(labels.encoded(rows[kept])) if shared else None

    def of(self, start: int, stop: int) -> Chosen:
        """Return the labels of the samples ``start`` … ``stop`` − 1."""
        if self._known is None:
            return whole(self._labels.encoded(self._rows[start:stop]))
        return self._known, self._place[start:stop]


def _encoded_label(key: int, values: I64, unit: int) -> ListArray:
    """Encode one Label per value, as Sample.label (3): key 1, str 2, num 3, num_unit 4. Empty texts get no label."""
    distinct, inverse = unique_inverse(values)
    count = len(distinct)
    number = {3: distinct, 4: np.full(count, unit, np.int64)} if unit else {2: distinct}
    messages = number_fields({1: np.full(count, key, np.int64), **number})
    kept = trues(count) if unit else distinct != 0
    offsets = offsets_of(as_int64(kept))
    return nested_field(3, messages[flatnonzero(kept)], offsets)[inverse]


def _interned_texts(values: AnyArray, names: Sequence[str], intern: Intern) -> I64:
    """Convert row numbers to string indices, interning only names that occur."""
    return numbers_of(values, lambda row: intern(names[row]))


def _thread_label(key: str, profile: Profile, texts: list[str], intern: Intern) -> LabelColumn:
    """Label samples with a text of their thread; only texts of threads with samples are interned."""
    values = zeros(len(texts))
    used = unique(profile.samples.thread)
    values[used] = [intern(texts[row]) for row in used.tolist()]
    return LabelColumn(key, values, by_thread=True)


def _id_of_thread(key: str, profile: Profile, intern: Intern) -> LabelColumn:
    return LabelColumn(key, as_int64(getattr(profile.threads, key)), key, by_thread=True)


def _name_of_thread(key: str, profile: Profile, intern: Intern) -> LabelColumn:
    return _thread_label(key, profile, [profile.strings[row] for row in getattr(profile.threads, key)], intern)


def _thread(key: str, profile: Profile, intern: Intern) -> LabelColumn:
    """Label samples ``name/tid``: distinct for each thread even if a pool gives all its threads one name."""
    pairs = zip(profile.threads.comm, profile.threads.tid, strict=True)
    return _thread_label(key, profile, [f"{profile.strings[comm]}/{tid}" for comm, tid in pairs], intern)


_UNITS = {"cpu": "cpu", "time": "nanoseconds"}


def _number_of_sample(key: str, profile: Profile, intern: Intern) -> LabelColumn | None:
    """Label samples with an optional column."""
    values = getattr(profile.samples, key)
    return None if values is None else LabelColumn(key, as_int64(values), _UNITS[key])


def _cgroup(key: str, profile: Profile, intern: Intern) -> LabelColumn | None:
    cgroup = profile.samples.cgroup
    if cgroup is None:
        return None
    texts = numbers_of(cgroup, lambda row: intern(cgroup_part(key, profile.strings[row])))
    return LabelColumn(key if key == "cgroup" else ATTRIBUTES[key], texts)


def _of_data_source(key: str, profile: Profile, intern: Intern) -> LabelColumn | None:
    """Label samples with one part of data_src; samples without that part get no label."""
    source, word = profile.samples.data_src, MEMORY_LABELS[key]
    if source is None:
        return None
    return LabelColumn(key, numbers_of(source, lambda bits: intern(word(bits) if bits else "")))


def _mode(key: str, profile: Profile, intern: Intern) -> LabelColumn:
    """Label a sample with the CPU mode of its innermost frame."""
    location = np.append(profile.stacks.location, -1)[profile.samples.stack]
    mode = np.append(profile.locations.mode, int(CpuMode.UNKNOWN))[location]
    return LabelColumn(key, _interned_texts(mode, MODE_NAMES, intern))


def _event(key: str, profile: Profile, intern: Intern) -> LabelColumn:
    return LabelColumn(key, _interned_texts(profile.samples.event, [event.name for event in profile.events], intern))


LABELS: dict[str, Label] = {
    "pid": _id_of_thread,
    "tid": _id_of_thread,
    "comm": _name_of_thread,
    "process": _name_of_thread,
    "thread": _thread,
    "cpu": _number_of_sample,
    **dict.fromkeys(CGROUP_PARTS, _cgroup),
    "mode": _mode,
    "event": _event,
    "time": _number_of_sample,
    **dict.fromkeys(MEMORY_LABELS, _of_data_source),
}
"""Every label, by the name that users type."""
