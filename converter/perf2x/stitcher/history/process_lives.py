"""The lives of process images: each begins with a fork, an exec, or before the recording did."""

import numpy as np

from perf2x.base.columnar import (
    I64,
    Frozen,
    KeyedValues,
    arange,
    argsort_rows,
    as_int64,
    begins_run,
    cumsum,
    flatnonzero,
    minus_ones,
    zeros,
)
from perf2x.model.recording import Comms, Tasks

MAX_FORK_DEPTH = 2048
"""The longest chain of forks without an exec along which processes see the mappings of their ancestors. Lookups walk up
generation by generation; without a bound, n generations that all map something of their own would cost n² steps."""


class ProcessLives(Frozen):
    """Columns (lives,) int64; ids from the file are sorted, not looked up in a dictionary, where they could collide."""

    pid: I64
    born: I64
    """The rank of the fork or exec; 0 for processes that were there before the recording."""
    parent: I64
    """The life that forked it, and whose mappings it sees as of then; −1 for none."""
    before: I64
    """The life that an exec ended; −1 where the life did not begin with one."""
    depth: I64
    """Number of ancestors whose mappings it sees."""
    cut: int
    """Number of lives that see no ancestor because they end a chain of forks that is too long."""


def find_lives(owner: I64, mmap_rank: I64, forks: Tasks, fork_rank: I64, comms: Comms, comm_rank: I64) -> ProcessLives:
    """``owner`` (mappings,) is the process of each mapping; ranks are those from which each record is in force.

    Lives of before the recording are those of processes that are first seen by anything but their fork.
    """
    forking, executing = flatnonzero(forks.pid != forks.ppid), flatnonzero(comms.is_exec)
    heirs = forking[~forks.is_exec[forking]]
    forked, executed = (as_int64(ids) for ids in (forks.pid[forking], comms.pid[executing]))
    forker, inherited = as_int64(forks.ppid[heirs]), fork_rank[heirs]
    first = _first_seen(
        np.concatenate([forked, owner, forker, executed]),
        np.concatenate([fork_rank[forking], mmap_rank, inherited, comm_rank[executing]]),
    )
    older = first[1][first[0] >= len(forked)]
    begins = cumsum([len(older), len(forked)])
    pid = np.concatenate([older, forked, executed])
    born = np.concatenate([zeros(len(older)), fork_rank[forking], comm_rank[executing]])
    by_pid = KeyedValues(pid, born, arange(len(pid)))
    parent, before = minus_ones(len(pid)), minus_ones(len(pid))
    parent[begins[0] + flatnonzero(~forks.is_exec[forking])] = by_pid.at(forker, inherited - 1)
    before[begins[1] :] = by_pid.at(executed, comm_rank[executing] - 1)
    depth = _generations(parent)
    is_cut = (depth > 0) & (depth % MAX_FORK_DEPTH == 0)
    parent[is_cut] = -1
    return ProcessLives(pid, born, parent, before, depth % MAX_FORK_DEPTH, int(np.count_nonzero(is_cut)))


def _first_seen(pid: I64, rank: I64) -> tuple[I64, I64]:
    """(processes,) the row in which each is seen first, and its id."""
    order = argsort_rows([pid, rank])
    first = order[begins_run(pid[order])]
    return first, pid[first]


def _generations(parent: I64) -> I64:
    """(n,) the number of ancestors of each; with each step twice as far up."""
    up, count = np.append(parent, -1), as_int64(np.append(parent >= 0, False))
    while (up >= 0).any():
        count += count[up]
        up = up[up]
    return count[:-1]
