"""perf2x.classes.dataclass is held against the standard one: the same class body through both."""

import copy
import dataclasses
import pickle

import pytest

from perf2x.classes import dataclass
from perf2x.tables.diagnostics import Count, Severity
from perf2x.transform.choice import Choice


def both(body):
    """The class that each of the two makes of what ``body()`` defines."""
    return dataclass(frozen=True, slots=True)(body()), dataclasses.dataclass(frozen=True, slots=True)(body())


def place():
    class Place:
        """Somewhere."""

        start: int
        name: str = "?"
        parts: list[int] = dataclasses.field(default_factory=list)
        hidden: int = dataclasses.field(default=3, repr=False, compare=False)
        length: int = dataclasses.field(init=False)

        def __post_init__(self):
            object.__setattr__(self, "length", self.start + 1)

    return Place


@pytest.mark.parametrize(
    ("args", "named"),
    [((1,), {}), ((1, "a"), {}), ((1,), {"parts": [2]}), ((), {"start": 4, "name": "b", "hidden": 9})],
)
def test_makes_the_same_objects(args, named):
    ours, theirs = (made(*args, **named) for made in both(place))
    assert repr(ours).partition(".<locals>.")[2] == repr(theirs).partition(".<locals>.")[2] != ""
    assert dataclasses.asdict(ours) == dataclasses.asdict(theirs)
    assert dataclasses.asdict(dataclasses.replace(ours, start=7)) == dataclasses.asdict(
        dataclasses.replace(theirs, start=7)
    )


@pytest.mark.parametrize(
    ("args", "named"), [((), {}), ((1, 2, 3, 4, 5), {}), ((1,), {"start": 1}), ((1,), {"other": 1})]
)
def test_refuses_the_same_calls(args, named):
    for made in both(place):
        with pytest.raises(TypeError):
            made(*args, **named)


def test_every_object_has_a_default_of_its_own():
    made, _ = both(place)
    made(1).parts.append(5)
    assert made(1).parts == []


def test_objects_are_equal_when_their_fields_are():
    for made in both(place):
        assert made(1, hidden=1) == made(1, hidden=2)
        assert made(1) != made(2)
        assert made(1) != (1, "?", [], 2)
        assert made(1).__eq__("a text") is NotImplemented


def test_frozen_objects_may_be_keys_and_do_not_change():
    key = Choice(pids=(1,))
    assert {key: 1}[Choice(pids=(1,))] == 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        key.pids = (2,)
    with pytest.raises(dataclasses.FrozenInstanceError):
        del key.pids
    with pytest.raises(dataclasses.FrozenInstanceError):
        key.no_such_field = 1


def test_others_change_and_are_no_keys():
    count = Count("a", Severity.INFO, "")
    count.count += 1
    assert count == Count("a", Severity.INFO, "", 1)
    with pytest.raises(TypeError):
        hash(count)
    with pytest.raises(AttributeError):
        count.no_such_field = 1


@pytest.mark.parametrize("of", [Choice(pids=(1,), no_idle=True), Count("a", Severity.LOSS, "b", 3, "c")])
def test_objects_travel(of):
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(of, protocol)) == of
    assert copy.copy(of) == of
    assert copy.deepcopy(of) == of


def test_a_method_of_the_class_stays():
    @dataclass(frozen=True, slots=True)
    class Secret:
        """Does not show."""

        text: str

        def __repr__(self):
            return "Secret"

    assert repr(Secret("a")) == "Secret"


def test_classes_are_known_before_their_first_object():
    @dataclass(slots=True)
    class New:
        """Nobody made one."""

        start: int

    assert [field.name for field in dataclasses.fields(New)] == ["start"]
    assert New.__slots__ == ("start",)
    assert New.__match_args__ == ("start",)
