"""Restores the exact addresses of interrupted kernel frames, once their callees have names.

An entry interrupted its caller in the chain, but the caller's address looks like a return address. Only names show
which frames are entries. The location of an interrupted frame gets a *twin*, whose address is that of an instruction.
Frames that called their callee keep the original::

    before   schedule ─ mas_prev (return) ┬ asm_exc_page_fault     interrupted mas_prev
                                          └ mas_next               was called by mas_prev
    after    schedule ┬ mas_prev (exact)  ─ asm_exc_page_fault
                      └ mas_prev (return) ─ mas_next
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

_COPIED_COLUMNS = ("address", "mapping", "mode", "synthetic")


def are_kernel_returns(locations: Locations) -> Bools:
    """Return (locations,) whether each is a return address in the kernel; only these may get a twin."""
    is_return: Bools = (locations.mode == CpuMode.KERNEL) & (locations.lookup != locations.address)
    return is_return & ~locations.synthetic


def with_exact_twins(profile: Profile, twinned_locations: I64) -> tuple[Profile, I32]:
    """Append an exact twin without lines for each of the ``twinned_locations``, in their order.

    Also returns (locations,) the twin of each location, −1 for none.
    """
    old = profile.locations
    count = len(old)
    twin = np.full(count + len(twinned_locations), -1, np.int32)
    if not len(twinned_locations):
        return profile, twin
    twin[twinned_locations] = np.arange(count, count + len(twinned_locations), dtype=np.int32)
    copied = {name: np.append(getattr(old, name), getattr(old, name)[twinned_locations]) for name in _COPIED_COLUMNS}
    line_offsets = np.append(old.line_offsets, np.full(len(twinned_locations), old.line_offsets[-1], np.int64))
    lookup = np.append(old.lookup, old.address[twinned_locations])
    locations = replace(old, lookup=lookup, line_offsets=line_offsets, **copied)
    return replace(profile, locations=locations), twin


def interrupted_locations(profile: Profile, machine: str) -> I64:
    """Return the locations that entries interrupted, ascending."""
    stacks = profile.stacks
    return as_int64(unique(stacks.location[stacks.parent[_interrupting_rows(stacks, _roles(profile, machine))]]))


def settle_interrupted(profile: Profile, twin: I32, machine: str, *, has_exact: bool) -> Profile:
    """Replace interrupted locations by their twins, and drop all other twins.

    ``twin`` (locations,) is −1 for none. ``has_exact``: names have shown that some locations are exact. These may now
    equal others, with which they are merged.
    """
    stacks, samples = profile.stacks, profile.samples
    interrupting_rows = _interrupting_rows(stacks, _roles(profile, machine))
    interrupting_rows = interrupting_rows[twin[stacks.location[stacks.parent[interrupting_rows]]] >= 0]
    if not (len(interrupting_rows) or has_exact):
        return _without_twins(profile, twin)
    tree = _with_twins(stacks, interrupting_rows, twin, as_int64(samples.stack))
    tree = replace(tree, location=_first_equal_locations(profile.locations)[tree.location])
    if len(tree.location) == len(stacks) and np.array_equal(tree.location, stacks.location):
        return _without_twins(profile, twin)
    new_stacks, new_row = _settled_tree(tree, stacks)
    samples = replace(samples, stack=as_int32(np.append(new_row, -1)[samples.stack]))
    recorded = profile.recorded
    if recorded is not None:
        recorded = recorded.renumber(None, as_int32(new_row))
    settled = replace(profile, stacks=new_stacks, samples=samples, recorded=recorded)
    settled = _take_locations(settled, _kept_locations(stacks, new_stacks, twin))
    return settled if _keeps_order(new_row, profile) else sum_samples(settled)


def _interrupting_rows(stacks: Stacks, role: U8) -> I64:
    rows = flatnonzero((role[stacks.location] & (EntryRole.ENTRY | EntryRole.PART) != 0) & (stacks.parent >= 0))
    parent_location = stacks.location[stacks.parent[rows]]
    return rows[is_interrupted(role[stacks.location[rows]], role[parent_location])]


def _roles(profile: Profile, machine: str) -> U8:
    """Return (locations,) the role of each outermost function; 0 outside the kernel."""
    locations = profile.locations
    named_rows = flatnonzero((np.diff(locations.line_offsets) > 0) & (locations.mode == CpuMode.KERNEL))
    # the last line of a location is its outermost function
    functions, function_index = unique_inverse(locations.line_function[locations.line_offsets[1:][named_rows] - 1])
    names = [profile.strings[row] for row in profile.functions.system_name[functions].tolist()]
    role = np.zeros(len(locations), np.uint8)
    role[named_rows] = entry_roles(machine, names)[function_index]
    return role


class _Tree(Frozen):
    parent: I64
    """(rows,) −1 for none."""
    location: I64
    split_from: I64
    """(new rows,) the old row that each new row was split from."""


def _with_twins(stacks: Stacks, interrupting_rows: I64, twin: I32, sampled_rows: I64) -> _Tree:
    """Return the tree in which the parents of ``interrupting_rows`` have their twins' locations.

    If other children or samples need a parent's location, a new row with the twin is split from it.
    """
    parent, location = as_int64(stacks.parent), as_int64(stacks.location)
    is_needed = falses(len(parent) + 1)  # the last element is for −1: no parent, no stack
    is_needed[np.delete(parent, interrupting_rows)] = True
    is_needed[sampled_rows] = True
    interrupted_rows = unique(parent[interrupting_rows])
    replaced_rows, split_rows = (
        interrupted_rows[~is_needed[interrupted_rows]],
        interrupted_rows[is_needed[interrupted_rows]],
    )
    new_row = arange(len(parent))  # the new parent of each row's interrupting children
    new_row[split_rows] = len(parent) + arange(len(split_rows))
    is_interrupting = falses(len(parent))
    is_interrupting[interrupting_rows] = True
    # a new row interrupted its parent if its old row did
    is_interrupting = np.append(is_interrupting, is_interrupting[split_rows])
    location[replaced_rows] = twin[location[replaced_rows]]
    location = np.append(location, twin[location[split_rows]])
    parent = np.append(parent, parent[split_rows])
    parent[is_interrupting] = new_row[parent[is_interrupting]]
    return _Tree(parent, location, split_rows)


def _settled_tree(tree: _Tree, before: Stacks) -> tuple[Stacks, I64]:
    """Return the tree without duplicate rows, parents before children, and the new row of each old one."""
    count = len(before)
    changed = flatnonzero(tree.location != np.append(before.location, minus_ones(len(tree.split_from))))
    first_equal = equal_rows(tree.parent, tree.location, changed)
    # If the old rows are sorted by their parents (breadth first), a new row may directly follow the row that it was
    # split from.
    if (before.parent[1:] >= before.parent[:-1]).all():
        sort_key = np.append(2 * arange(count), 2 * tree.split_from + 1)
    else:
        sort_key = depths(tree.parent)
    order = argsort(sort_key)
    order = order[first_equal[order] == order]
    new_row = minus_ones(len(first_equal) + 1)  # the last element is for −1, no parent
    new_row[order] = arange(len(order))
    new_row[:-1] = new_row[first_equal]
    parent = as_int32(new_row[tree.parent[order]])
    return Stacks(parent, as_int32(tree.location[order])), new_row[:count]


def _keeps_order(new_row: I64, profile: Profile) -> bool:
    """Return whether the stacks of samples stay distinct and in order."""
    is_sampled = falses(len(profile.stacks) + 1)
    is_sampled[profile.samples.stack] = True
    new_rows = new_row[is_sampled[:-1]]
    return bool((new_rows[1:] > new_rows[:-1]).all())


def _first_equal_locations(locations: Locations) -> I64:
    """Return (locations,) the first location equal to each, perhaps itself; only exact locations may equal others."""
    first_equal = arange(len(locations))
    rows = flatnonzero((locations.lookup == locations.address) & ~locations.synthetic)
    first_row, group = group_rows([column[rows] for column in (locations.mapping, locations.address, locations.mode)])
    first_equal[rows] = rows[first_row[group]]
    return first_equal


def _kept_locations(before: Stacks, after: Stacks, twin: I32) -> I64:
    """Return the locations to keep: those in a stack now, and those that were in no stack before, except twins.

    They keep their order, but each twin comes after its location.
    """
    count = len(twin) - np.count_nonzero(twin >= 0)  # number of locations before the twins, which come last
    is_kept: Bools = arange(len(twin)) < count
    is_kept[before.location] = False
    is_kept[after.location] = True
    sort_key = 2 * arange(len(twin))
    sort_key[twin[twin >= 0]] = sort_key[twin >= 0] + 1
    order = argsort(sort_key)
    return order[is_kept[order]]


def _without_twins(profile: Profile, twin: I32) -> Profile:
    """Drop all twins, which are the last locations and in no stack."""
    count = int(np.count_nonzero(twin < 0))
    return profile if count == len(twin) else _take_locations(profile, arange(count))


def _take_locations(profile: Profile, rows: I64) -> Profile:
    new_row = np.full(len(profile.locations), -1, np.int32)
    new_row[rows] = np.arange(len(rows), dtype=np.int32)
    stacks = Stacks(profile.stacks.parent, new_row[profile.stacks.location])
    return replace(profile, locations=take_locations(profile.locations, rows), stacks=stacks)
