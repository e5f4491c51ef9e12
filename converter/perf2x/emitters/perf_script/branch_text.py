"""Branch stacks as ``perf script`` prints them: `` 0x4004f0/0x4004e0/P/-/-/12/COND/-`` and a blank.

With names: ``main+0x10 (/bin/prog)/work+0x0 (/bin/prog)/P/-/-/12/COND/-``.
Source of truth: tools/perf/builtin-script.c print_bstack_flags, perf_sample__fprintf_brstack and
perf_sample__fprintf_brstacksym, util/branch.c.
"""

from collections.abc import Iterator

import numpy as np

from perf2x.base.columnar.arrays import AnyArray
from perf2x.base.columnar.ragged import Ragged
from perf2x.base.columnar.unique import group_rows
from perf2x.emitters.encoding.decimal_text import chunk_array, shared_texts
from perf2x.emitters.perf_script.frame_lines import PlaceText
from perf2x.model.recording.branch_words import SPECULATIONS, TYPES, speculations, type_numbers
from perf2x.model.recording.events import Samples

_NAME = frozenset({"sym", "symoff"})
_OBJECT = frozenset({"dso", "dsoff"})


def branch_column(samples: Samples, fields: frozenset[str], places: PlaceText | None) -> AnyArray:
    """(n,) the branches of each sample, newest first; ``places`` name their addresses."""
    branches = samples.branches
    assert branches is not None
    places = places if fields & {"brstacksym", *_OBJECT} else None
    columns: list[AnyArray] = [branches.flags, branches.from_ip, branches.to_ip]
    if places is not None:
        columns += np.split(places.locate(samples).astype(np.int64), 2)
    first, kind = group_rows(columns)
    flags, *columns = (column[first] for column in columns)
    numbers = zip(flags.tolist(), type_numbers(flags).tolist(), speculations(flags).tolist(), strict=True)
    start, end = _ends(columns, fields, places)
    texts: AnyArray = start + b"/" + end + chunk_array([_flag_text(*row).encode() for row in numbers])
    return chunk_array([b"".join(row.tolist()) for row in Ragged(branches.offsets, texts[kind]).rows()])


def _ends(columns: list[AnyArray], fields: frozenset[str], places: PlaceText | None) -> Iterator[AnyArray]:
    """Yield (n,) texts of where branches start, then of where they end."""
    for address, *location in zip(columns[:2], *([columns[2:]] if places is not None else []), strict=True):
        if "brstack" in fields or places is None:
            text = shared_texts(address, (" {:#x}" if address is columns[0] else "{:#x}").format)
        else:
            text = chunk_array([name[1:] for name in places.texts(location[0], _NAME).tolist()])
        if places is not None:
            text = text + places.texts(location[0], fields & _OBJECT)
        yield text


def _flag_text(flags: int, kind: int, speculation: int) -> str:
    """``/P/-/-/12/COND/-`` of struct perf_branch_entry's bits (include/uapi/linux/perf_event.h)."""
    not_taken = "N" if flags >> 33 & 1 else ""
    predicted = "P" if flags & 2 else "M" if flags & 1 or not_taken else "-"
    word = TYPES[kind] or "N/A" * (kind > 0)
    transaction, abort = "X" if flags & 4 else "-", "A" if flags & 8 else "-"
    said = SPECULATIONS[speculation] or "-"
    return f"/{predicted}{not_taken}/{transaction}/{abort}/{flags >> 4 & 0xFFFF}/{word}/{said} "
