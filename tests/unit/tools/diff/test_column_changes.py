"""Ratios before and after: which changes noise explains."""

from perf2x.model.totals.event_columns import event_columns
from perf2x.testing import ProfileBuilder
from perf2x.tools.diff.changed_rows import ColumnChange


def change(before: tuple[int, int], after: tuple[int, int], scale: float = 1.0) -> ColumnChange:
    """Instructions per cycle of one function, from samples of instructions and of cycles."""
    sides = []
    for numbers in (before, after):
        builder = ProfileBuilder()
        for row, (name, number) in enumerate(zip(("instructions", "cycles"), numbers, strict=True)):
            builder.event(name, "count")
            for _ in range(number):
                builder.sample([builder.function("f")], builder.thread(), row, value=10)
        sides.append(event_columns(builder.build(), "function", "period", ["ipc", "cycles"]))
    return ColumnChange(sides[0][0], sides[1][0], scale)


def shown(found: ColumnChange) -> tuple[str, object]:
    keys = [(row.name, row.object) for row in found.before.tables[0].rows]
    return found.texts(keys, "self")[0], found.columns(keys, "self")["self_ipc_significant"][0]


def test_a_change_beyond_noise() -> None:
    assert shown(change((400, 200), (200, 200))) == ("2 → 1", True)


def test_noise_may_explain_it() -> None:
    assert shown(change((400, 200), (380, 200))) == ("~2 → 1.9", False)
    assert shown(change((20, 10), (10, 10))) == ("~2 → 1", False)


def test_too_few_samples_after() -> None:
    assert shown(change((400, 200), (400, 3))) == ("~2 → –", False)


def test_ratios_are_not_scaled() -> None:
    assert shown(change((400, 200), (200, 200), scale=5.0)) == ("2 → 1", True)
