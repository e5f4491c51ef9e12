from perf2x.kernel.stage_timer import Stages


def test_every_item_and_every_stage_is_counted_once() -> None:
    stages = Stages()
    items = []
    for item in stages.timed_items("read", range(3)):
        with stages.stage("work"):
            items.append(item)
    assert items == [0, 1, 2]
    assert list(stages.wall) == list(stages.cpu) == ["read", "work"]
    assert all(seconds >= 0 for seconds in stages.wall.values())
    assert [line.split()[0] for line in stages.lines()] == ["stage", "read", "work", "all"]


def test_a_stage_that_fails_is_counted_too() -> None:
    stages = Stages()
    try:
        with stages.stage("work"):
            raise ValueError
    except ValueError:
        pass
    assert "work" in stages.wall
