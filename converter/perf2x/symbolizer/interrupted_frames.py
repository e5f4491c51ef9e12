"""Restores the exact addresses of interrupted kernel frames, once their callees have names.

An entry is a function that the kernel enters by an interrupt or exception. Its caller was interrupted between two
instructions, but in a chain the caller's address looks like a return address. Names show which frames are entries. The
location of an interrupted frame gets a copy that is an exact instruction address (its *twin*), which is symbolized as
well; interrupted frames then use the twins, and unused locations are dropped::

    stacks   schedule ─ mas_prev (return) ┬ asm_exc_page_fault     interrupted
                                          └ mas_next               called
    result   schedule ┬ mas_prev (exact)  ─ asm_exc_page_fault
                      └ mas_prev (return) ─ mas_next

The work grows with the rows of the tree, not with the number of samples.
"""

import numpy as np
from msgspec.structs import replace

from perf2x.base.abi import CpuMode
from perf2x.base.columnar import (
    I32,
    I64,
    U8,
    Bools,
    Frozen,
    arange,
    argsort,
    as_int32,
    as_int64,
    falses,
    flatnonzero,
    group_rows,
    minus_ones,
    unique,
    unique_inverse,
)
from perf2x.model.profile import Locations, Profile, Stacks, depths, equal_rows, sum_samples, take_locations
from perf2x.symbolizer.interrupt_entry_names import EntryRole, entry_roles, is_interrupted

_FACTS = ("address", "mapping", "mode", "synthetic")
"""Columns of locations that are copied to a twin."""


def are_kernel_returns(locations: Locations) -> Bools:
    """Return (locations,) whether each may have a twin: the kernel's return addresses may."""
    found: Bools = (locations.mode == CpuMode.KERNEL) & (locations.lookup != locations.address)
    return found & ~locations.synthetic


def with_exact_twins(profile: Profile, rows: I64) -> tuple[Profile, I32]:
    """Append an exact twin without lines for each of the locations ``rows``.

    Returns the profile, and (locations,) the twin of each location, −1 for none.
    """
    old = profile.locations
    count = len(old)
    twin = np.full(count + len(rows), -1, np.int32)
    if not len(rows):
        return profile, twin
    twin[rows] = np.arange(count, count + len(rows), dtype=np.int32)
    same = {name: np.append(getattr(old, name), getattr(old, name)[rows]) for name in _FACTS}
    offsets = np.append(old.line_offsets, np.full(len(rows), old.line_offsets[-1], np.int64))
    locations = replace(old, lookup=np.append(old.lookup, old.address[rows]), line_offsets=offsets, **same)
    return replace(profile, locations=locations), twin


def behind_entries(profile: Profile, machine: str) -> I64:
    """Return the locations that entries interrupted, ascending; ``profile`` is symbolized, ``machine`` is uname -m."""
    stacks = profile.stacks
    return as_int64(unique(stacks.location[stacks.parent[_interrupting_rows(stacks, _roles(profile, machine))]]))


def settle_interrupted(profile: Profile, twin: I32, machine: str, *, moved: bool) -> Profile:
    """Replace interrupted locations by their twins, and drop all other twins.

    ``profile`` is symbolized, ``machine`` is uname -m.

    ``moved``: names have changed addresses of locations (``not_called``), so equal locations are merged.
    """
    stacks, samples = profile.stacks, profile.samples
    row = _interrupting_rows(stacks, _roles(profile, machine))
    row = row[twin[stacks.location[stacks.parent[row]]] >= 0]
    if not (len(row) or moved):
        return _without_twins(profile, twin)
    tree = _with_twins(stacks, row, twin, as_int64(samples.stack))
    tree = replace(tree, location=_equal_locations(profile.locations)[tree.location])
    if len(tree.location) == len(stacks) and np.array_equal(tree.location, stacks.location):
        return _without_twins(profile, twin)
    changed, number = _settled_tree(tree, stacks)
    samples = replace(samples, stack=as_int32(np.append(number, -1)[samples.stack]))
    recorded = profile.recorded
    if recorded is not None:
        recorded = recorded.renumber(None, as_int32(number))
    settled = replace(profile, stacks=changed, samples=samples, recorded=recorded)
    settled = _take_locations(settled, _kept_locations(stacks, changed, twin))
    return settled if _keeps_order(number, profile) else sum_samples(settled)


def _interrupting_rows(stacks: Stacks, role: U8) -> I64:
    """Return rows of the tree that interrupted their parents; ``role`` (locations,) has EntryRoles."""
    rows = flatnonzero((role[stacks.location] & (EntryRole.ENTRY | EntryRole.PART) != 0) & (stacks.parent >= 0))
    interrupted = stacks.location[stacks.parent[rows]]
    return rows[is_interrupted(role[stacks.location[rows]], role[interrupted])]


def _roles(profile: Profile, machine: str) -> U8:
    """Return (locations,) role of each location's outermost function; 0 outside the kernel."""
    locations = profile.locations
    named = flatnonzero((np.diff(locations.line_offsets) > 0) & (locations.mode == CpuMode.KERNEL))
    functions, place = unique_inverse(locations.line_function[locations.line_offsets[1:][named] - 1])
    names = [profile.strings[row] for row in profile.functions.system_name[functions].tolist()]
    result = np.zeros(len(locations), np.uint8)
    result[named] = entry_roles(machine, names)[place]
    return result


class _Tree(Frozen):
    """A tree of stacks that is being changed: new rows are appended."""

    parent: I64
    location: I64
    beside: I64
    """(new rows,) the row from which each was split."""


def _with_twins(stacks: Stacks, rows: I64, twin: I32, leaves: I64) -> _Tree:
    """Return the tree with the parents of ``rows`` replaced by their twins.

    A parent with other children, or with samples of its own (``leaves``), stays, and a new row has the twin.
    """
    parent, location = as_int64(stacks.parent), as_int64(stacks.location)
    shared = falses(len(parent) + 1)
    shared[np.delete(parent, rows)] = True
    shared[leaves] = True
    interrupted = unique(parent[rows])
    alone, split = interrupted[~shared[interrupted]], interrupted[shared[interrupted]]
    new = arange(len(parent))
    new[split] = len(parent) + arange(len(split))
    chosen = falses(len(parent))
    chosen[rows] = True
    chosen = np.append(chosen, chosen[split])  # whatever interrupted the row also interrupted the new one
    location[alone] = twin[location[alone]]
    location = np.append(location, twin[location[split]])
    parent = np.append(parent, parent[split])
    parent[chosen] = new[parent[chosen]]
    return _Tree(parent, location, split)


def _settled_tree(tree: _Tree, before: Stacks) -> tuple[Stacks, I64]:
    """Return the tree without equal rows, parents before children, and the new row of each of ``before``."""
    count = len(before)
    changed = flatnonzero(tree.location != np.append(before.location, minus_ones(len(tree.beside))))
    same = equal_rows(tree.parent, tree.location, changed)
    if (before.parent[1:] >= before.parent[:-1]).all():  # sort by level: a new row follows the one it was split from
        place = np.append(2 * arange(count), 2 * tree.beside + 1)
    else:
        place = depths(tree.parent)
    order = argsort(place)
    order = order[same[order] == order]
    number = minus_ones(len(same) + 1)
    number[order] = arange(len(order))
    number[:-1] = number[same]
    parent = as_int32(number[tree.parent[order]])
    return Stacks(parent, as_int32(tree.location[order])), number[:count]


def _keeps_order(number: I64, profile: Profile) -> bool:
    """Return whether rows of samples stay distinct and sorted; ``number`` is the new row of each stack."""
    used = falses(len(profile.stacks) + 1)
    used[profile.samples.stack] = True
    rows = number[used[:-1]]
    return bool((rows[1:] > rows[:-1]).all())


def _equal_locations(locations: Locations) -> I64:
    """Return (locations,) the first equal location of each; synthetic ones are all different.

    Return addresses stay distinct: only those that have become exact may equal others.
    """
    first = arange(len(locations))
    rows = flatnonzero((locations.lookup == locations.address) & ~locations.synthetic)
    kept, group = group_rows([column[rows] for column in (locations.mapping, locations.address, locations.mode)])
    first[rows] = rows[kept[group]]
    return first


def _kept_locations(before: Stacks, after: Stacks, twin: I32) -> I64:
    """Return the locations to keep, in order: those in stacks, and those that were in no stack before.

    Twins come last.
    """
    count = len(twin) - np.count_nonzero(twin >= 0)
    keep: Bools = arange(len(twin)) < count
    keep[before.location] = False
    keep[after.location] = True
    order = 2 * arange(len(twin))
    order[twin[twin >= 0]] = order[twin >= 0] + 1
    by_order = argsort(order)
    return by_order[keep[by_order]]


def _without_twins(profile: Profile, twin: I32) -> Profile:
    count = int(np.count_nonzero(twin < 0))
    return profile if count == len(twin) else _take_locations(profile, arange(count))


def _take_locations(profile: Profile, rows: I64) -> Profile:
    """Return the profile with some of its locations, including all that its stacks need, in the given order."""
    number = np.full(len(profile.locations), -1, np.int32)
    number[rows] = np.arange(len(rows), dtype=np.int32)
    stacks = Stacks(profile.stacks.parent, number[profile.stacks.location])
    return replace(profile, locations=take_locations(profile.locations, rows), stacks=stacks)
