"""Tasks that begin before they are asked for."""

import threading

import pytest

from perf2x.base import background_tasks
from perf2x.base.background_tasks import start_tasks
from perf2x.base.files.unpack_limit import limit_unpacking, memory_limit
from perf2x.errors import FormatError


def test_tasks_begin_one_after_another_before_anybody_asks() -> None:
    may_end, order = threading.Event(), []

    def first() -> int:
        may_end.wait(20)
        order.append("first")
        return threading.get_ident()

    def second() -> None:
        order.append("second")
        raise FormatError("damaged")

    results = start_tasks({"first": first, "second": second})
    may_end.set()
    with pytest.raises(FormatError, match="damaged"):
        results["second"]()
    assert order == ["first", "second"]
    assert results["first"]() != threading.get_ident()


def test_the_users_limit_holds_in_tasks() -> None:
    with limit_unpacking(1000):
        results = start_tasks({"limit": lambda: memory_limit(1)})
    assert results["limit"]() == 1000


def test_no_thread_begins_where_address_space_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background_tasks, "address_space_left", lambda: 1 << 30)
    assert start_tasks({"here": threading.get_ident})["here"]() == threading.get_ident()
