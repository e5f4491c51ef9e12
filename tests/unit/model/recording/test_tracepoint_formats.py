"""The format file of an event: numbers of tracepoints and of other events may be the same."""

import pytest

from perf2x.base.abi import EventType
from perf2x.model.recording import Event, Session

FORMAT = {"system": "sched", "name": "sched_switch", "fields": []}


@pytest.mark.parametrize(
    ("kind", "config", "found"),
    [(EventType.TRACEPOINT, 7, FORMAT), (EventType.TRACEPOINT, 8, None), (EventType.SOFTWARE, 7, None)],
)
def test_only_a_tracepoint_has_the_format_of_its_number(kind: int, config: int, found: object) -> None:
    event = Event(0, "x", kind, config, 1, 0, 0, frozenset())
    session = Session("a recording", "<", (event,), features={"tracing_data": {"formats": {"7": FORMAT}}})
    assert session.tracepoint_format(event) == found
    assert Session("a recording", "<", (event,)).tracepoint_format(event) is None
