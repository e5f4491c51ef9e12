"""Looks up the mapping that holds an address of a process at a given sequence number (see ``process_history``).

An address *space* holds the mappings of one process image. A new space begins when a process is first seen, is forked,
or calls exec. After an exec, the space is empty. After a fork, the child also sees its parent's mappings as of the
fork, wherever it has mapped nothing itself. A later mapping hides the earlier mappings that it overlaps. An *epoch* is
the time between two changes of a process's mappings: within an epoch, equal stacks need only one lookup. This follows
machine__process_fork_event, thread__set_comm and maps__fixup_overlap_and_insert of tools/perf, but copies no mappings.
"""

import numpy as np

from perf2x.base.columnar import (
    I64,
    U64,
    Bools,
    Frozen,
    KeyedValues,
    arange,
    argsort_rows,
    as_int64,
    begins_run,
    cumsum,
    ends_run,
    flatnonzero,
    group_rows,
    minus_ones,
    rows_by,
    take,
    zeros,
)
from perf2x.model.recording import Comms, Ksymbols, Mmaps, Tasks
from perf2x.stitcher.history.kernel_mappings import end_addresses, is_kernel_mapping
from perf2x.stitcher.history.ranges_over_time import OverlappingRanges

MAX_FORK_DEPTH = 2048
"""The longest chain of forks without an exec along which processes see their ancestors' mappings.

Lookups walk up generation by generation; without a limit, n generations that all map something would cost n² steps.
"""


class ProcessLives(Frozen):
    """All process images of a recording: one row for each, from a fork or exec to the next exec."""

    pid: I64
    born: I64
    """The sequence number of the fork or exec; 0 for processes older than the recording."""
    parent: I64
    """The life that forked this one, and whose mappings as of the fork this one sees; −1 for none."""
    before: I64
    """The life that an exec ended; −1 if the life did not begin with an exec."""
    depth: I64
    """The number of ancestors whose mappings each life sees."""
    cut: int
    """The number of lives that see no ancestor's mappings, because their chain of forks is too long."""


def find_lives(
    owner: I64, mmap_sequence: I64, forks: Tasks, fork_sequence: I64, comms: Comms, comm_sequence: I64
) -> ProcessLives:
    """Return the lives of all processes. A process whose first record is not its fork is older than the recording.

    ``owner`` (mappings,) is the process of each mapping. Each record is in effect from its sequence number on.
    """
    forking, executing = flatnonzero(forks.pid != forks.ppid), flatnonzero(comms.is_exec)
    heirs = forking[~forks.is_exec[forking]]
    forked, executed = (as_int64(ids) for ids in (forks.pid[forking], comms.pid[executing]))
    forker, inherited = as_int64(forks.ppid[heirs]), fork_sequence[heirs]
    seen = np.concatenate([forked, owner, forker, executed])
    order = argsort_rows(
        [seen, np.concatenate([fork_sequence[forking], mmap_sequence, inherited, comm_sequence[executing]])]
    )
    first = order[begins_run(seen[order])]
    older = seen[first[first >= len(forked)]]
    begins = cumsum([len(older), len(forked)])
    pid = np.concatenate([older, forked, executed])
    born = np.concatenate([zeros(len(older)), fork_sequence[forking], comm_sequence[executing]])
    by_pid = KeyedValues(pid, born, arange(len(pid)))
    parent, before = minus_ones(len(pid)), minus_ones(len(pid))
    parent[begins[0] + flatnonzero(~forks.is_exec[forking])] = by_pid.at(forker, inherited - 1)
    before[begins[1] :] = by_pid.at(executed, comm_sequence[executing] - 1)
    depth = _generations(parent)
    is_cut = (depth > 0) & (depth % MAX_FORK_DEPTH == 0)
    parent[is_cut] = -1
    return ProcessLives(pid, born, parent, before, depth % MAX_FORK_DEPTH, int(np.count_nonzero(is_cut)))


def _generations(parent: I64) -> I64:
    """Count the ancestors of each life, by pointer doubling. Returns (lives,)."""
    up, count = np.append(parent, -1), as_int64(np.append(parent >= 0, False))
    while (up >= 0).any():
        count += count[up]
        up = up[up]
    return count[:-1]


KERNEL = -2
"""The key of the kernel's own space; −1 already means "no process"."""
_TOMBSTONE = -2
_GENERATIONS = 16
"""How many generations of ancestors are searched for each query alone, before equal queries are merged.

Merging costs more than it saves if there are few generations.
"""


class AddressSpaces:
    """The mappings of every process over time. Immutable; ``find`` returns rows of ``mmaps``.

    Each record is in effect from its sequence number (``*_sequence``) on.
    """

    def __init__(
        self,
        mmaps: Mmaps,
        mmap_sequence: I64,
        forks: Tasks,
        fork_sequence: I64,
        comms: Comms,
        comm_sequence: I64,
        ksymbols: Ksymbols,
        ksymbol_sequence: I64,
    ) -> None:
        owner = np.where(is_kernel_mapping(mmaps), KERNEL, as_int64(mmaps.pid))
        lives = find_lives(owner, mmap_sequence, forks, fork_sequence, comms, comm_sequence)
        self._born, self._parent, self._before, self._depth = lives.born, lives.parent, lives.before, lives.depth
        self.lines_cut = lives.cut
        """The number of processes that see no ancestor's mappings, because MAX_FORK_DEPTH forks precede them."""
        kernel = np.full(len(ksymbol_sequence), KERNEL, np.int64)
        keys = np.concatenate([lives.pid, owner, kernel])
        self._epoch_sequence = np.concatenate([lives.born, mmap_sequence, ksymbol_sequence])
        self._epochs = KeyedValues(keys, self._epoch_sequence, arange(len(keys)))
        self.kernel_epochs = flatnonzero(keys == KERNEL)
        """All epochs of the kernel."""
        self._epoch_space, self._last_epoch = _spaces_of(self._epochs, len(lives.pid), self.kernel_epochs)
        _, of_mmaps, of_ksymbols = np.split(self._epoch_space, cumsum([len(lives.pid), len(owner)]))
        self.ranges = _index_mappings(mmaps, of_mmaps, mmap_sequence, ksymbols, of_ksymbols, ksymbol_sequence)
        """The mappings of all spaces over time; in one interval, all addresses of an epoch have the same mapping."""
        self.made_at: I64 = np.append(mmap_sequence, -1)
        """(mmaps + 1,) the sequence number of each mapping.

        The last row is "no mapping", valid in every epoch.
        """

    def epoch(self, pid: I64, sequence: I64) -> I64:
        """Return (n,) int64: the epoch of each process (or KERNEL) at each sequence number, −1 if unknown."""
        return self._epochs.at(pid, sequence)

    @property
    def epoch_count(self) -> int:
        """The number of epochs of all processes and the kernel."""
        return len(self._epoch_sequence)

    def kernel_epoch(self, sequence: I64) -> I64:
        """Return (n,) int64: the epoch of the kernel at each sequence number."""
        return self._epochs.of(KERNEL, sequence)

    def last_epoch(self, epoch: I64) -> I64:
        """Return (n,) int64: the last epoch of the same process image; −1 and epochs of the kernel map to themselves.

        Let M be the mapping at an address in the last epoch. M is also at that address in every epoch since M was
        ``made_at``: only a later mapping could hide M, and it would still do so in the last epoch.
        """
        return take(self._last_epoch, epoch)

    def sequence(self, epoch: I64) -> I64:
        """Return (n,) int64: the sequence number at which each epoch began, 0 for −1."""
        return np.append(self._epoch_sequence, 0)[epoch]

    def find(self, epoch: I64, address: U64, through_exec: Bools) -> I64:
        """Return (n,) int64: row of the mapping that contains each address, −1 for none.

        ``through_exec``: where the process has no mapping, search the program that the process ran before its exec. A
        sample inside execve, taken after the kernel announced the new program, still has the old program's addresses
        in its user chain. Otherwise, only the current program is searched.
        """
        if not len(self._epoch_space):
            return minus_ones(len(address))
        space = np.where(epoch >= 0, self._epoch_space[epoch], -1)
        sequence = self._epoch_sequence[epoch]
        found = self.find_at(space, sequence, address)
        again = flatnonzero(through_exec & (found < 0) & (space >= 0))
        found[again] = self.find_at(self._before[space[again]], sequence[again], address[again])
        return found

    def find_at(self, space: I64, sequence: I64, address: U64) -> I64:
        """Return the mapping of each address as ``find`` does, by space and sequence number, including ancestors'."""
        found = minus_ones(len(address))
        todo = flatnonzero((space >= 0) & self.ranges.intervals(address)[1])  # no process maps the others
        space, sequence = space[todo], sequence[todo]
        for _ in range(_GENERATIONS):
            if not len(todo):
                break
            found[todo] = self.ranges.find(space, sequence, address[todo])
            up = (found[todo] == -1) & (self._parent[space] >= 0)
            todo, space, sequence = todo[up], space[up], sequence[up]
            sequence = np.minimum(sequence, self._born[space])
            space = self._parent[space]
        if len(todo):
            found[todo] = self._find_far_up(space, sequence, address[todo])
        found[found == _TOMBSTONE] = -1
        return found

    def _find_far_up(self, space: I64, sequence: I64, address: U64) -> I64:
        """Find mappings in long chains of ancestors, generation by generation from the youngest.

        Equal queries of a process's descendants are merged, so the work grows with the number of forks and not with
        their depth times the number of samples.
        """
        depth = self._depth[space]
        address = self.ranges.begin_of(self.ranges.intervals(address)[0])
        arriving = zeros(0), zeros(0), np.zeros(0, np.uint64)
        pending: list[tuple[I64, I64, I64, I64]] = []
        for _, rows in reversed(list(rows_by(np.append(depth, arange(int(depth.max()) + 1))))):
            rows = rows[rows < len(depth)]
            spaces = np.concatenate([arriving[0], space[rows]])
            sequences = np.concatenate([arriving[1], sequence[rows]])
            addresses = np.concatenate([arriving[2], address[rows]])
            first, which = group_rows([spaces, sequences, addresses])
            spaces, sequences, addresses = spaces[first], sequences[first], addresses[first]
            answer = self.ranges.find(spaces, sequences, addresses)
            up = flatnonzero((answer == -1) & (self._parent[spaces] >= 0))
            arriving = (
                self._parent[spaces[up]], np.minimum(sequences[up], self._born[spaces[up]]), addresses[up],
            )  # fmt: skip
            pending.append((rows, which, answer, up))
        found = minus_ones(len(space))
        above = zeros(0)
        for rows, which, answer, up in reversed(pending):
            answer[up] = above
            answers = answer[which]
            found[rows] = answers[len(answers) - len(rows) :]
            above = answers[: len(answers) - len(rows)]
        return found


def _spaces_of(epochs: KeyedValues, lives: int, kernel: I64) -> tuple[I64, I64]:
    """Return the space of each epoch, −1 for none, and the last epoch of that space.

    The first ``lives`` epochs begin their spaces. Epochs of the ``kernel`` are their own last epochs, and so is −1.
    Shapes: (epochs,) and (epochs + 1,), whose last row is for epoch −1.
    """
    order, process = epochs.in_order()
    begin = np.maximum.accumulate(np.where(order < lives, arange(len(order)), 0))
    in_order = np.where((order[begin] < lives) & (process[begin] == process), order[begin], -1)
    is_last = ends_run(in_order)
    space, last = np.empty(len(order), np.int64), np.append(arange(len(order)), -1)
    space[order] = in_order
    last[order] = order[is_last][cumsum(is_last) - is_last]
    alone = np.append(kernel, order[in_order < 0])
    last[alone] = alone
    return space, last


def _index_mappings(
    mmaps: Mmaps, space: I64, mmap_sequence: I64, ksymbols: Ksymbols, of_ksymbols: I64, ksymbol_sequence: I64
) -> OverlappingRanges:
    """Index all mappings; where a kernel symbol was unregistered, a tombstone hides the mapping made for the symbol."""
    gone = flatnonzero(ksymbols.unregister & (of_ksymbols >= 0))
    start = np.concatenate([mmaps.start, ksymbols.start[gone]])
    length = np.concatenate([mmaps.length, ksymbols.length[gone]])
    sequence = np.concatenate([mmap_sequence, ksymbol_sequence[gone]])
    value = np.concatenate([arange(len(mmaps)), np.full(len(gone), _TOMBSTONE, np.int64)])
    return OverlappingRanges(np.append(space, of_ksymbols[gone]), start, end_addresses(start, length), sequence, value)
