"""Each piece of a recording is taken by one process, and what a dead one took is found."""

import pytest

from perf2x.kernel.worker_pool import Pieces


@pytest.mark.parametrize("processes", [1, 2, 3, 16, 500, 2000])
@pytest.mark.parametrize("blocks", [0, 1, 5, 1000])
def test_every_block_is_held_by_one_process(processes: int, blocks: int) -> None:
    first = Pieces.among(processes)
    shared = [first, *(Pieces(of=2, bounds=first.bounds, queue=first.queue, taken=[]) for _ in range(2))]
    held = [[pieces.holds(block, blocks) for pieces in shared] for block in range(blocks)]
    assert [sum(each) for each in held] == [1] * blocks
    assert first.lost(number for pieces in shared for number in pieces.taken) is None
    first.close()


def test_pieces_get_smaller() -> None:
    pieces = Pieces.among(4)
    sizes = [after - before for before, after in zip(pieces.bounds, pieces.bounds[1:], strict=False)]
    assert sizes == sorted(sizes, reverse=True)
    assert sum(sizes) == 1 << 40 and sizes[0] == 1 << 37
    pieces.close()


def test_blocks_that_a_dead_process_took_are_left() -> None:
    pieces = Pieces.among(2)
    dead = Pieces(of=2, bounds=pieces.bounds, queue=pieces.queue, taken=[])
    kept = {block for block in range(90) if pieces.holds(block, 100)}
    gone = {block for block in range(100) if dead.holds(block, 100)}
    kept |= {block for block in range(90, 100) if pieces.holds(block, 100)}
    lost = pieces.lost(pieces.taken)
    assert lost is not None
    assert {block for block in range(100) if lost.holds(block, 100)} == gone
    assert kept | gone == set(range(100))
    pieces.close()


def test_files_of_different_lengths_are_read_by_the_same_pieces() -> None:
    """A session may have several files: what a process took of one, it takes of the next."""
    pieces = Pieces.among(2)
    other = Pieces(of=2, bounds=pieces.bounds, queue=pieces.queue, taken=[])
    first = [(pieces.holds(block, 3), other.holds(block, 3)) for block in range(3)]
    second = [(pieces.holds(block, 700), other.holds(block, 700)) for block in range(700)]
    assert all(sum(each) == 1 for each in first + second)
    pieces.close()
