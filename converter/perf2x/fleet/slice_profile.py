"""Part of a fleet as one profile: the trees of its recordings merged, without what would be too small to see."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from perf2x.base.columnar.arrays import I64, arange, begins_run, cumsum, flatnonzero, searchsorted, sum_of
from perf2x.base.columnar.interner import StringInterner
from perf2x.base.columnar.ragged import Ragged
from perf2x.base.columnar.unique import unique, unique_inverse
from perf2x.base.errors import OptionError
from perf2x.model.profile.frame_tree import FrameRows, add_to_parents, expand, folded, levels
from perf2x.model.profile.profile import (
    Functions,
    Locations,
    Mappings,
    Meta,
    Profile,
    ProfileEvent,
    ProfileSamples,
    Stacks,
    Threads,
)
from perf2x.storage.dataset.sql.function_costs import columns_of

_NODES = "SELECT number, node, coalesce(parent, -1) AS parent, place FROM nodes JOIN homes USING (recording)"
_FRAMES = "SELECT number, place, name FROM named JOIN costed USING (function, object, build_id)"
_SAMPLES = """SELECT number, stack, sum(value)::BIGINT AS value, sum(count)::BIGINT AS count
FROM samples JOIN homes USING (recording) WHERE stack IS NOT NULL AND event = $event"""
_UNSEEN = 2000
"""Parts of the whole that a frame must have to be told apart."""
_REST = "[less than 0.05 %]"


def slice_profile(connection: Any, numbers: Sequence[int], event: str, title: str) -> Profile:
    """Merge the stacks that some recordings have of an event; recordings are ``homes`` of ``function_costs.py``.

    Frames below a two-thousandth of all are one, ``[less than 0.05 %]``. OptionError where there is no sample.
    """
    among = f"number IN ({', '.join(map(str, numbers)) or -1})"
    nodes = columns_of(connection, f"{_NODES} WHERE {among} ORDER BY number, node", {})
    frames = columns_of(connection, f"{_FRAMES} WHERE {among} ORDER BY number, place, depth DESC", {})
    samples = columns_of(connection, f"{_SAMPLES} AND {among} GROUP BY ALL ORDER BY ALL", {"event": event})
    if not len(samples["value"]):
        raise OptionError(f"no samples of {event} in this part of the fleet")
    names = connection.execute("SELECT function, object FROM costed ORDER BY name").fetchall()
    start = searchsorted(nodes["number"], nodes["number"])
    place, wanted = frames["number"] << 32 | frames["place"], nodes["number"] << 32 | nodes["place"]
    begins = flatnonzero(begins_run(place))
    location = searchsorted(place[begins], wanted).astype(np.int32)
    parent = np.where(nodes["parent"] < 0, -1, nodes["parent"] + start).astype(np.int32)
    named = Ragged(np.append(begins, len(place)), frames["name"])
    tree = folded(expand(Stacks(parent, location), named), arange(len(names)))
    leaf = tree.row_of_stack[searchsorted(nodes["number"], samples["number"]) + samples["stack"]]
    stacks, stack = _seen(tree, leaf, samples["value"], len(names))
    used = unique(stack)
    value, count = (_sums(searchsorted(used, stack), samples[name], len(used)) for name in ("value", "count"))
    zeros = np.zeros(len(used), np.int32)
    return _with_names(stacks, ProfileSamples(zeros, zeros, used.astype(np.int32), value, count), names, event, title)


def _sums(row: I64, value: I64, count: int) -> I64:
    sums = np.zeros(count, np.int64)
    np.add.at(sums, row, value)
    return sums


def _seen(tree: FrameRows, leaf: I64, value: I64, rest: int) -> tuple[Stacks, I64]:
    """The rows of a tree that are large enough, with one of ``rest`` below where there were more; (leaves,) rows."""
    depth = tree.depth
    whole = _sums(leaf, value, len(depth))
    total, above = sum_of(whole), arange(len(depth))
    add_to_parents(whole, tree.parent, depth)
    is_seen = (whole * _UNSEEN >= total) | (depth == 0)
    for level in levels(depth)[1:]:
        above[level] = np.where(is_seen[level], above[level], above[tree.parent[level]])
    number = np.append(cumsum(is_seen) - 1, -1)
    inside = above[leaf]
    few, row = unique_inverse(inside[~is_seen[leaf]])
    stack = number[inside]
    stack[~is_seen[leaf]] = sum_of(is_seen) + row
    parents = np.concatenate([number[tree.parent[is_seen]], number[few]])
    shown = np.concatenate([tree.frame[is_seen], np.full(len(few), rest, np.int64)])
    return Stacks(parents.astype(np.int32), shown.astype(np.int32)), stack


def _with_names(
    stacks: Stacks, samples: ProfileSamples, names: Sequence[tuple[str, str]], event: str, title: str
) -> Profile:
    """A profile of stacks whose locations are numbers of functions and objects."""
    strings, shown = StringInterner(), [*names, (_REST, "")]
    _, titled = strings.add_all(["", title])
    objects = sorted({object_ for _, object_ in shown if object_})
    is_line = [not object_ or not function.startswith("[") for function, object_ in shown]
    is_kernel = np.array([name.startswith("[") and name != "[vdso]" for name in objects], np.bool_)
    none, nothing = np.zeros(len(objects), np.bool_), np.zeros(len(objects), np.int32)
    row = {name: number for number, name in enumerate(objects)}
    mapping = np.array([row.get(object_, -1) for _, object_ in shown], np.int32)
    functions = [function for (function, _), line in zip(shown, is_line, strict=True) if line]
    blank = np.zeros(len(functions), np.int32)
    address = arange(len(shown)).astype(np.uint64)
    made_up = mapping < 0
    address[made_up] = 0
    unit = "nanoseconds" if "clock" in event else "count"
    return Profile(
        events=(ProfileEvent(event, unit, 0, 0),),
        threads=Threads(*(np.array([number], np.int32) for number in (-1, -1, titled, titled))),
        mappings=Mappings(
            address[: len(objects)] * 0, address[: len(objects)] * 0, address[: len(objects)] * 0,
            strings.add_all(objects), nothing, nothing - 1, is_kernel, ~none, none, none, none,
        ),
        functions=Functions(strings.add_all(functions), blank, blank, blank),
        locations=Locations(
            address, address, mapping, np.where(np.append(is_kernel, False)[mapping], 1, 2).astype(np.uint8), made_up,
            np.append(0, cumsum(is_line)), np.arange(len(functions), dtype=np.int32), blank,
        ),
        stacks=stacks, samples=samples, meta=Meta(source=title), strings=strings.table(),
    )  # fmt: skip
