"""Looks up the mapping that holds an address of a process at a given sequence number (see ``process_history``).

A process *image* begins when a process is first seen, is forked, or calls exec, and ends with the next exec; its
mappings are its address space. After an exec, the address space is empty. After a fork, the child also sees its
parent's mappings as of the fork, wherever it has mapped nothing itself. A later mapping hides the earlier mappings that
it overlaps. An *epoch* is the time between two changes of a process's mappings: within an epoch, equal stacks need only
one lookup. These are the rules of machine__process_fork_event, thread__set_comm and maps__fixup_overlap_and_insert in
tools/perf, but no mappings are copied.
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
"""Maximum number of generations in a chain of forks without an exec, along which processes see earlier mappings.

Lookups walk up generation by generation; without a limit, n generations that all map something would cost n² steps.
"""


class ProcessImages(Frozen):
    """All process images of a recording, one row for each; the kernel is a process, too (KERNEL)."""

    pid: I64
    began_at: I64
    """The sequence number of the fork or exec; 0 for processes older than the recording."""
    parent: I64
    """The image that forked this one, and whose mappings as of the fork this one sees; −1 for none."""
    image_before_exec: I64
    """The image that ended with the exec that began this one; −1 if this one did not begin with an exec."""
    depth: I64
    """The number of ancestors whose mappings this image sees."""
    cut_count: int
    """The number of images that see no ancestor's mappings, because their chain of forks is too long."""


def find_images(
    owner: I64, mmap_sequence: I64, forks: Tasks, fork_sequence: I64, comms: Comms, comm_sequence: I64
) -> ProcessImages:
    """Return the images of all processes.

    ``owner`` (mappings,) is the process of each mapping, by pid. Each record is in effect from its sequence number on.
    The first images are those of processes older than the recording, then those that a fork began, then those that an
    exec began.
    """
    # forks of processes (not of threads), those among them whose child sees its parent's mappings, and execs
    process_forks, execs = flatnonzero(forks.pid != forks.ppid), flatnonzero(comms.is_exec)
    inheriting_forks = process_forks[~forks.is_exec[process_forks]]
    child_pid, exec_pid = (as_int64(ids) for ids in (forks.pid[process_forks], comms.pid[execs]))
    parent_pid, inheriting_sequence = as_int64(forks.ppid[inheriting_forks]), fork_sequence[inheriting_forks]
    # A process whose first record is not its own fork is older than the recording.
    pid_of_record = np.concatenate([child_pid, owner, parent_pid, exec_pid])
    order = argsort_rows(
        [
            pid_of_record,
            np.concatenate([fork_sequence[process_forks], mmap_sequence, inheriting_sequence, comm_sequence[execs]]),
        ]
    )
    first = order[begins_run(pid_of_record[order])]
    older_pid = pid_of_record[first[first >= len(child_pid)]]
    ends = cumsum([len(older_pid), len(child_pid)])  # where the first two of the three kinds of images end
    pid = np.concatenate([older_pid, child_pid, exec_pid])
    began_at = np.concatenate([zeros(len(older_pid)), fork_sequence[process_forks], comm_sequence[execs]])
    images = KeyedValues(pid, began_at, arange(len(pid)))
    parent, image_before_exec = minus_ones(len(pid)), minus_ones(len(pid))
    parent[ends[0] + flatnonzero(~forks.is_exec[process_forks])] = images.at(parent_pid, inheriting_sequence - 1)
    image_before_exec[ends[1] :] = images.at(exec_pid, comm_sequence[execs] - 1)
    depth = _count_ancestors(parent)
    # cut chains of forks before every MAX_FORK_DEPTH-th generation
    is_cut = (depth > 0) & (depth % MAX_FORK_DEPTH == 0)
    parent[is_cut] = -1
    return ProcessImages(
        pid, began_at, parent, image_before_exec, depth % MAX_FORK_DEPTH, int(np.count_nonzero(is_cut))
    )


def _count_ancestors(parent: I64) -> I64:
    """Return (images,) the number of ancestors of each image, by pointer doubling."""
    # count[i] is the number of ancestors of i up to ancestor[i], inclusive; each iteration doubles it. The extra last
    # row is for ancestor −1.
    ancestor, count = np.append(parent, -1), as_int64(np.append(parent >= 0, False))
    while (ancestor >= 0).any():
        count += count[ancestor]
        ancestor = ancestor[ancestor]
    return count[:-1]


# The kernel, in place of a pid; −1 already means "no process".
KERNEL = -2
_TOMBSTONE = -2  # in place of a mapping: none, and ancestors are not searched
_UNMERGED_GENERATIONS = 16
"""How many generations, the image itself and its ancestors, are searched before equal queries are merged.

Merging costs more than it saves if there are few generations.
"""


class AddressSpaces:
    """The mappings of every process over time. Immutable; ``find`` returns rows of ``mmaps``.

    Each record is in effect from its sequence number (``*_sequence``) on. An epoch begins with each image, each mapping
    and each record of a kernel symbol. First, all epochs that begin with images are numbered, then those of mappings,
    then those of kernel symbols.
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
        """The number of process images that see no ancestor's mappings, because MAX_FORK_DEPTH forks precede them."""
        kernel = np.full(len(ksymbol_sequence), KERNEL, np.int64)
        process = np.concatenate([images.pid, owner, kernel])
        self._epoch_sequence = np.concatenate([images.began_at, mmap_sequence, ksymbol_sequence])
        # a process is in the one of its epochs that began last
        self._epochs = KeyedValues(process, self._epoch_sequence, arange(len(process)))
        self.kernel_epochs = flatnonzero(process == KERNEL)
        """All epochs of the kernel."""
        self._epoch_image, self._last_epoch = _images_of(self._epochs, len(images.pid), self.kernel_epochs)
        _, mmap_images, ksymbol_images = np.split(self._epoch_image, cumsum([len(images.pid), len(owner)]))
        self.ranges = _index_mappings(mmaps, mmap_images, mmap_sequence, ksymbols, ksymbol_images, ksymbol_sequence)
        """The mappings of all images over time; in one interval, all addresses of an epoch have the same mapping."""
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
        return self._epochs.of_key(KERNEL, sequence)

    def last_epoch(self, epoch: I64) -> I64:
        """Return (n,) int64: the last epoch of the same image; −1 and epochs of the kernel map to themselves.

        Let M be the mapping at an address in the last epoch. M is also at that address in every epoch of the image
        since M was made (`made_at`): only a later mapping could hide M, and it would still do so in the last epoch.
        """
        return take(self._last_epoch, epoch)

    def sequence(self, epoch: I64) -> I64:
        """Return (n,) int64: the sequence number at which each epoch began, 0 for −1."""
        return np.append(self._epoch_sequence, 0)[epoch]

    def find(self, epoch: I64, address: U64, through_exec: Bools) -> I64:
        """Return (n,) int64: row of the mapping that contains each address, −1 for none.

        ``through_exec`` (n,): if the process has no mapping there, whether to search the program that it ran before its
        exec. A sample inside execve, taken after the kernel announced the new program, still has the old program's
        addresses in its user chain.
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
        """Find the mapping that contains each address in an image or its ancestors, as of a sequence number.

        ``image`` may be −1, for no image. Returns rows of mappings, −1 for none. Shapes: all (n,).
        """
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
        """Do what ``_find_in_images`` does, for long chains of ancestors; return (n,) mappings, _TOMBSTONE or −1.

        All images of one depth are searched together, from the greatest depth (the youngest generation) to depth 0.
        Queries without an answer go on to the images' parents, where equal ones are merged. So the work grows with the
        number of forks, not with their depth times the number of samples. Then the answers are handed back to the
        children.
        """
        parent, began_at, depth = self._images.parent, self._images.began_at, self._images.depth[image]
        # addresses of one interval have the same answers, so they become equal
        address = self.ranges.begin_of(self.ranges.intervals(address)[0])
        # queries that go on from the next younger generation: images, sequence numbers, addresses
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

    The first ``image_count`` epochs are those with which images begin. Each epoch of the kernel counts as the last one
    of its image, and −1 maps to −1. Shapes: (epochs,) and (epochs + 1,), whose last row is for epoch −1.
    """
    # All epochs by process and time. In this order, an epoch's image is the one that began last.
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
    """Index all mappings; where a kernel symbol was unregistered, a tombstone hides the mapping made for the symbol.

    ``mmap_images`` (mappings,) and ``ksymbol_images`` (ksymbols,) are the images that the records belong to.
    """
    rows = flatnonzero(ksymbols.unregister & (ksymbol_images >= 0))
    start = np.concatenate([mmaps.start, ksymbols.start[rows]])
    length = np.concatenate([mmaps.length, ksymbols.length[rows]])
    sequence = np.concatenate([mmap_sequence, ksymbol_sequence[rows]])
    value = np.concatenate([arange(len(mmaps)), np.full(len(rows), _TOMBSTONE, np.int64)])
    return OverlappingRanges(
        np.append(mmap_images, ksymbol_images[rows]), start, end_addresses(start, length), sequence, value
    )
