"""Each shard of a recording is taken by one process, and what a dead one took is found."""

import pytest

from perf2x.kernel.worker_pool import ShardQueue


@pytest.mark.parametrize("processes", [1, 2, 3, 16, 500, 2000])
@pytest.mark.parametrize("blocks", [0, 1, 5, 1000])
def test_every_block_is_held_by_one_process(processes: int, blocks: int) -> None:
    first = ShardQueue.for_processes(processes)
    shared = [first, *(ShardQueue(count=2, bounds=first.bounds, pipe=first.pipe, taken=[]) for _ in range(2))]
    held = [[shards.holds(block, blocks) for shards in shared] for block in range(blocks)]
    assert [sum(each) for each in held] == [1] * blocks
    assert first.lost(number for shards in shared for number in shards.taken) is None
    first.close()


def test_shards_get_smaller() -> None:
    shards = ShardQueue.for_processes(4)
    sizes = [after - before for before, after in zip(shards.bounds, shards.bounds[1:], strict=False)]
    assert sizes == sorted(sizes, reverse=True)
    assert sum(sizes) == 1 << 40 and sizes[0] == 1 << 37
    shards.close()


def test_blocks_that_a_dead_process_took_are_left() -> None:
    shards = ShardQueue.for_processes(2)
    dead = ShardQueue(count=2, bounds=shards.bounds, pipe=shards.pipe, taken=[])
    kept = {block for block in range(90) if shards.holds(block, 100)}
    gone = {block for block in range(100) if dead.holds(block, 100)}
    kept |= {block for block in range(90, 100) if shards.holds(block, 100)}
    lost = shards.lost(shards.taken)
    assert lost is not None
    assert {block for block in range(100) if lost.holds(block, 100)} == gone
    assert kept | gone == set(range(100))
    shards.close()


def test_files_of_different_lengths_are_read_in_the_same_shards() -> None:
    """A session may have several files: what a process took of one, it takes of the next."""
    shards = ShardQueue.for_processes(2)
    other = ShardQueue(count=2, bounds=shards.bounds, pipe=shards.pipe, taken=[])
    first = [(shards.holds(block, 3), other.holds(block, 3)) for block in range(3)]
    second = [(shards.holds(block, 700), other.holds(block, 700)) for block in range(700)]
    assert all(sum(each) == 1 for each in first + second)
    shards.close()
