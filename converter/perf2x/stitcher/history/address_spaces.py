"""Looks up the mapping that holds an address of a process at a sequence number (see ``process_history``).

A process *image* begins when a process is first seen, is forked, or calls exec, and ends with the next exec. After an
exec, its address space is empty. After a fork, the child also sees its parent's mappings as of the fork, wherever it
has mapped nothing itself. A mapping hides earlier mappings that it overlaps. An *epoch* is the time between two changes
of a process's mappings. These are the rules of machine__process_fork_event, thread__set_comm and
maps__fixup_overlap_and_insert in tools/perf, without copies.
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
"""Maximum number of forks in a row, without an exec, across which processes see earlier mappings.

Lookups walk up generation by generation: without a limit, n generations would cost n² steps.
"""


class ProcessImages(Frozen):
    """All process images of a recording, one row for each; the kernel is a process, too (KERNEL)."""

    pid: I64
    began_at: I64
    """Sequence number of the fork or exec; 0 for processes older than the recording."""
    parent: I64
    """The image that forked this one, whose mappings as of the fork are seen; −1 for none."""
    image_before_exec: I64
    """The image that the exec ended; −1 if this one did not begin with an exec."""
    depth: I64
    """Number of ancestors whose mappings this image sees."""
    cut_count: int
    """Number of images that see no ancestor's mappings, because too many forks precede them."""


def find_images(
    owner: I64, mmap_sequence: I64, forks: Tasks, fork_sequence: I64, comms: Comms, comm_sequence: I64
) -> ProcessImages:
    """Return the images of all processes: those older than the recording, then those of forks, then those of execs.

    ``owner`` (mappings,) is the pid of each mapping.
    """
    # forks of processes, not of threads
    process_forks, execs = flatnonzero(forks.pid != forks.ppid), flatnonzero(comms.is_exec)
    inheriting_forks = process_forks[~forks.is_exec[process_forks]]
    child_pid, exec_pid = (as_int64(ids) for ids in (forks.pid[process_forks], comms.pid[execs]))
    parent_pid, inheriting_sequence = as_int64(forks.ppid[inheriting_forks]), fork_sequence[inheriting_forks]
    # a process whose first record is not its own fork is older than the recording
    pid_of_record = np.concatenate([child_pid, owner, parent_pid, exec_pid])
    order = argsort_rows(
        [
            pid_of_record,
            np.concatenate([fork_sequence[process_forks], mmap_sequence, inheriting_sequence, comm_sequence[execs]]),
        ]
    )
    first = order[begins_run(pid_of_record[order])]
    older_pid = pid_of_record[first[first >= len(child_pid)]]
    ends = cumsum([len(older_pid), len(child_pid)])
    pid = np.concatenate([older_pid, child_pid, exec_pid])
    began_at = np.concatenate([zeros(len(older_pid)), fork_sequence[process_forks], comm_sequence[execs]])
    images = KeyedValues(pid, began_at, arange(len(pid)))
    parent, image_before_exec = minus_ones(len(pid)), minus_ones(len(pid))
    parent[ends[0] + flatnonzero(~forks.is_exec[process_forks])] = images.at(parent_pid, inheriting_sequence - 1)
    image_before_exec[ends[1] :] = images.at(exec_pid, comm_sequence[execs] - 1)
    depth = _count_ancestors(parent)
    # chains of forks are cut before every MAX_FORK_DEPTH-th generation
    is_cut = (depth > 0) & (depth % MAX_FORK_DEPTH == 0)
    parent[is_cut] = -1
    return ProcessImages(
        pid, began_at, parent, image_before_exec, depth % MAX_FORK_DEPTH, int(np.count_nonzero(is_cut))
    )


def _count_ancestors(parent: I64) -> I64:
    """Count the ancestors of each image (images,), by pointer doubling."""
    # count[i] is the number of ancestors of i up to ancestor[i], inclusive; the extra last row is for ancestor −1
    ancestor, count = np.append(parent, -1), as_int64(np.append(parent >= 0, False))
    while (ancestor >= 0).any():
        count += count[ancestor]
        ancestor = ancestor[ancestor]
    return count[:-1]


# in place of a pid; −1 already means "no process"
KERNEL = -2
_TOMBSTONE = -2  # in place of a mapping: none, and ancestors are not searched
_UNMERGED_GENERATIONS = 16
"""Generations that are searched before equal queries are merged: merging costs more than it saves if there are few."""


class AddressSpaces:
    """The mappings of every process over time. Immutable; ``find`` returns rows of ``mmaps``.

    Epochs begin with images, mappings and records of kernel symbols; they are numbered in this order.
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
        self._images = images = find_images(owner, mmap_sequence, forks, fork_sequence, comms, comm_sequence)
        self.cut_count = images.cut_count
        """Number of process images that see no ancestor's mappings, because MAX_FORK_DEPTH forks precede them."""
        kernel = np.full(len(ksymbol_sequence), KERNEL, np.int64)
        process = np.concatenate([images.pid, owner, kernel])
        self._epoch_sequence = np.concatenate([images.began_at, mmap_sequence, ksymbol_sequence])
        self._epochs = KeyedValues(process, self._epoch_sequence, arange(len(process)))
        self.kernel_epochs = flatnonzero(process == KERNEL)
        self._epoch_image, self._last_epoch = _images_of(self._epochs, len(images.pid), self.kernel_epochs)
        _, mmap_images, ksymbol_images = np.split(self._epoch_image, cumsum([len(images.pid), len(owner)]))
        self.ranges = _index_mappings(mmaps, mmap_images, mmap_sequence, ksymbols, ksymbol_images, ksymbol_sequence)
        """Mappings of all images over time; in one interval, all addresses of an epoch have the same mapping."""
        self.made_at: I64 = np.append(mmap_sequence, -1)
        """(mmaps + 1,) sequence number of each mapping; the last row, "no mapping", is valid in every epoch."""

    def epoch(self, pid: I64, sequence: I64) -> I64:
        """Return (n,) the epoch of each process (or KERNEL) at each sequence number, −1 if unknown."""
        return self._epochs.at(pid, sequence)

    @property
    def epoch_count(self) -> int:
        """Number of epochs of all processes and the kernel."""
        return len(self._epoch_sequence)

    def kernel_epoch(self, sequence: I64) -> I64:
        """Return (n,) the epoch of the kernel at each sequence number."""
        return self._epochs.of_key(KERNEL, sequence)

    def last_epoch(self, epoch: I64) -> I64:
        """Return (n,) the last epoch of the same image; −1 and epochs of the kernel map to themselves.

        A mapping in the last epoch is valid in every epoch of the image since it was made (`made_at`).
        """
        return take(self._last_epoch, epoch)

    def sequence(self, epoch: I64) -> I64:
        """Return (n,) the sequence number at which each epoch began, 0 for −1."""
        return np.append(self._epoch_sequence, 0)[epoch]

    def find(self, epoch: I64, address: U64, through_exec: Bools) -> I64:
        """Return (n,) the row of the mapping that contains each address, −1 for none.

        Where ``through_exec`` (n,) holds, the program before the exec is searched, too: a sample inside execve may have
        its addresses.
        """
        if not len(self._epoch_image):
            return minus_ones(len(address))
        image = np.where(epoch >= 0, self._epoch_image[epoch], -1)
        sequence = self._epoch_sequence[epoch]
        mmap = self._find_in_images(image, sequence, address)
        retry_rows = flatnonzero(through_exec & (mmap < 0) & (image >= 0))
        mmap[retry_rows] = self._find_in_images(
            self._images.image_before_exec[image[retry_rows]], sequence[retry_rows], address[retry_rows]
        )
        return mmap

    def _find_in_images(self, image: I64, sequence: I64, address: U64) -> I64:
        """Search images (−1 for none) and their ancestors, as of a sequence number, for mappings (n,); −1 for none."""
        mmap = minus_ones(len(address))
        unanswered = flatnonzero((image >= 0) & self.ranges.intervals(address)[1])  # no process maps the others
        image, sequence = image[unanswered], sequence[unanswered]
        for _ in range(_UNMERGED_GENERATIONS):
            if not len(unanswered):
                break
            mmap[unanswered] = self.ranges.find(image, sequence, address[unanswered])
            # where nothing was found, search the parent, as of the fork if that is earlier
            is_open = (mmap[unanswered] == -1) & (self._images.parent[image] >= 0)
            unanswered, image, sequence = unanswered[is_open], image[is_open], sequence[is_open]
            sequence = np.minimum(sequence, self._images.began_at[image])
            image = self._images.parent[image]
        if len(unanswered):
            mmap[unanswered] = self._find_in_ancestors(image, sequence, address[unanswered])
        mmap[mmap == _TOMBSTONE] = -1
        return mmap

    def _find_in_ancestors(self, image: I64, sequence: I64, address: U64) -> I64:
        """As ``_find_in_images``, for long chains of ancestors; returns _TOMBSTONE, too.

        All images of one depth are searched together, and equal queries of their parents are merged: the work grows
        with the number of forks, not with depth times samples.
        """
        parent, began_at, depth = self._images.parent, self._images.began_at, self._images.depth[image]
        # addresses of one interval have the same mapping, so they become equal
        address = self.ranges.begin_of(self.ranges.intervals(address)[0])
        # of the younger generation: images, sequence numbers, addresses
        inherited = zeros(0), zeros(0), np.zeros(0, np.uint64)
        generations: list[tuple[I64, I64, I64, I64]] = []
        # arange adds every depth once, so that generations without queries of their own are visited, too
        for _, rows in reversed(list(rows_by(np.append(depth, arange(int(depth.max()) + 1))))):
            rows = rows[rows < len(depth)]
            images = np.concatenate([inherited[0], image[rows]])
            sequences = np.concatenate([inherited[1], sequence[rows]])
            addresses = np.concatenate([inherited[2], address[rows]])
            first, query = group_rows([images, sequences, addresses])
            images, sequences, addresses = images[first], sequences[first], addresses[first]
            answer = self.ranges.find(images, sequences, addresses)
            is_open = flatnonzero((answer == -1) & (parent[images] >= 0))
            inherited = (
                parent[images[is_open]], np.minimum(sequences[is_open], began_at[images[is_open]]), addresses[is_open],
            )  # fmt: skip
            generations.append((rows, query, answer, is_open))
        mmap = minus_ones(len(image))
        answers_from_parents = zeros(0)
        for rows, query, answer, is_open in reversed(generations):
            answer[is_open] = answers_from_parents
            answers = answer[query]  # first for the inherited queries, then for those of this generation
            mmap[rows] = answers[len(answers) - len(rows) :]
            answers_from_parents = answers[: len(answers) - len(rows)]
        return mmap


def _images_of(epochs: KeyedValues, image_count: int, kernel_epochs: I64) -> tuple[I64, I64]:
    """Return the image of each epoch, −1 for none, and the last epoch of that image.

    The first ``image_count`` epochs begin images. The last row of the second array is for epoch −1.
    """
    # by process and time: an epoch's image is the one that began last
    order, process = epochs.in_order()
    begin = np.maximum.accumulate(np.where(order < image_count, arange(len(order)), 0))
    image_in_order = np.where((order[begin] < image_count) & (process[begin] == process), order[begin], -1)
    is_last = ends_run(image_in_order)
    image, last = np.empty(len(order), np.int64), np.append(arange(len(order)), -1)
    image[order] = image_in_order
    last[order] = order[is_last][cumsum(is_last) - is_last]
    own_last = np.append(kernel_epochs, order[image_in_order < 0])
    last[own_last] = own_last
    return image, last


def _index_mappings(
    mmaps: Mmaps, mmap_images: I64, mmap_sequence: I64, ksymbols: Ksymbols, ksymbol_images: I64, ksymbol_sequence: I64
) -> OverlappingRanges:
    """Tombstones hide the mappings of kernel symbols that were unregistered."""
    rows = flatnonzero(ksymbols.unregister & (ksymbol_images >= 0))
    start = np.concatenate([mmaps.start, ksymbols.start[rows]])
    length = np.concatenate([mmaps.length, ksymbols.length[rows]])
    sequence = np.concatenate([mmap_sequence, ksymbol_sequence[rows]])
    value = np.concatenate([arange(len(mmaps)), np.full(len(rows), _TOMBSTONE, np.int64)])
    return OverlappingRanges(
        np.append(mmap_images, ksymbol_images[rows]), start, end_addresses(start, length), sequence, value
    )
