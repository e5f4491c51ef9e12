"""Looks up the mapping that holds an address of a process at a given sequence number (see ``process_history``).

An address *space* is one life of a process image. It begins when the process is first seen, is forked (then the
parent's space as of the fork shows through wherever the child mapped nothing itself) or calls exec (then it is empty).
Later mappings hide the earlier ones that they overlap. An *epoch* is a process between two changes of its mappings, so
that stacks of one epoch can be looked up once. Follows machine__process_fork_event, thread__set_comm and
maps__fixup_overlap_and_insert of tools/perf, except that nothing is copied.
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
    """Columns (lives,) int64; ids from the file are sorted, not looked up in a dictionary, where they could collide."""

    pid: I64
    born: I64
    """The sequence number of the fork or exec; 0 for processes older than the recording."""
    parent: I64
    """The life that forked it, whose mappings as of then it sees; −1 for none."""
    before: I64
    """The life that an exec ended; −1 if the life did not begin with an exec."""
    depth: I64
    """Number of ancestors whose mappings it sees."""
    cut: int
    """Number of lives that see no ancestor because their chain of forks is too long."""


def find_lives(
    owner: I64, mmap_sequence: I64, forks: Tasks, fork_sequence: I64, comms: Comms, comm_sequence: I64
) -> ProcessLives:
    """Return the lives of all processes; ``owner`` (mappings,) is the process of each mapping.

    The sequence numbers are those from which each record is in effect.

    Processes first seen by anything but their fork are older than the recording.
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
    """Return (n,) the number of ancestors of each life, by pointer doubling."""
    up, count = np.append(parent, -1), as_int64(np.append(parent >= 0, False))
    while (up >= 0).any():
        count += count[up]
        up = up[up]
    return count[:-1]


KERNEL = -2
"""The key of the kernel's own space; −1 already means "no process"."""
_TOMBSTONE = -2
_GENERATIONS = 16
"""The number of generations to search one by one, which is faster than merging equal queries of descendants."""


class AddressSpaces:
    """The mappings of every process over time. Immutable; ``find`` returns rows of ``mmaps``.

    ``*_sequence`` are the sequence numbers from which each record is in effect.
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
        """The number of processes that are more than MAX_FORK_DEPTH forks away from ancestors, whose mappings they do
        not see.
        """
        kernel = np.full(len(ksymbol_sequence), KERNEL, np.int64)
        keys = np.concatenate([lives.pid, owner, kernel])
        self._epoch_sequence = np.concatenate([lives.born, mmap_sequence, ksymbol_sequence])
        self._epochs = KeyedValues(keys, self._epoch_sequence, arange(len(keys)))
        self.kernel_epochs = flatnonzero(keys == KERNEL)
        """All epochs of the kernel."""
        self._epoch_space, self._last_epoch = _spaces_of(self._epochs, len(lives.pid), self.kernel_epochs)
        _, of_mmaps, of_ksymbols = np.split(self._epoch_space, cumsum([len(lives.pid), len(owner)]))
        self.ranges = _index_mappings(mmaps, of_mmaps, mmap_sequence, ksymbols, of_ksymbols, ksymbol_sequence)
        """Index over all spaces and sequence numbers; within one of its intervals ``find`` has one answer per epoch."""
        self.made: I64 = np.append(mmap_sequence, -1)
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

        Its mapping at an address is valid in every epoch since ``made`` of that mapping, because only a later one hides
        it.
        """
        return take(self._last_epoch, epoch)

    def sequence(self, epoch: I64) -> I64:
        """Return (n,) int64: the sequence number at which each epoch began, 0 for −1."""
        return np.append(self._epoch_sequence, 0)[epoch]

    def find(self, epoch: I64, address: U64, through_exec: Bools) -> I64:
        """Return (n,) int64: row of the mapping that contains each address, −1 for none.

        With ``through_exec``, an address without a mapping is also searched in the program that the process ran before:
        a sample inside execve, taken after the kernel announced the new program, still has the caller's addresses in
        its user chain.
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
        """Do what ``find`` does, by space and sequence number; searches the parents of forked processes, too."""
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
        """Do what ``find_at`` does for long chains of ancestors, generation by generation from the youngest.

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
    """Return (epochs,) the space of each, −1 for none; (epochs + 1,) the last epoch of that space.

    The first ``lives`` epochs begin their spaces. Epochs of the ``kernel``, and the −1 at the end, map to themselves.
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
    """Index all mappings; unregistered kernel symbols are tombstones, registered ones are rows of ``mmaps``."""
    gone = flatnonzero(ksymbols.unregister & (of_ksymbols >= 0))
    start = np.concatenate([mmaps.start, ksymbols.start[gone]])
    length = np.concatenate([mmaps.length, ksymbols.length[gone]])
    sequence = np.concatenate([mmap_sequence, ksymbol_sequence[gone]])
    value = np.concatenate([arange(len(mmaps)), np.full(len(gone), _TOMBSTONE, np.int64)])
    return OverlappingRanges(np.append(space, of_ksymbols[gone]), start, end_addresses(start, length), sequence, value)
