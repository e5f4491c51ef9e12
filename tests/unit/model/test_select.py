import pytest

from perf2x.model.select import _matches


@pytest.mark.parametrize(
    ("name", "pattern", "expected"),
    [
        ("cycles:P", "cycles", True),
        ("cycles:P", "cycles:P", True),
        ("page-faults/period=50/", "page-faults", True),
        ("cpu/cycles,period=9/u", "cpu", True),
        ("sched:sched_switch", "sched", False),
        ("sched:sched_switch", "sched:*", True),
        ("cycles", "cycle", False),
    ],
)
def test_event_patterns(name: str, pattern: str, expected: bool) -> None:
    assert _matches(name, pattern) is expected
