"""``dataclass``: what ``dataclasses.dataclass(frozen=…, slots=True)`` gives, in a fraction of the time.

The standard one writes source text for ``__init__``, ``__repr__``, ``__eq__``, ``__hash__`` and the refusal to change a
frozen object, and compiles it, class by class: 0.8 ms each, 0.1 s of every start. Here only ``__init__`` is compiled,
because it is called often, and not before the first object is made; the rest is shared by all classes. ``fields``,
``replace``, ``asdict``, pickle and type checkers see no difference. Not for inheritance, keyword-only fields and
InitVar, which nothing here uses.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError
from dataclasses import dataclass as dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn

_Class = type[Any]


def quick_dataclass(*, frozen: bool = False, slots: bool) -> Callable[[_Class], _Class]:
    """The decorator; ``slots`` is there to be said, as the standard one would not have them otherwise."""

    def made(plain: _Class) -> _Class:
        cls: _Class = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots)(plain)

        def first_init(self: Any, *args: Any, **named: Any) -> None:
            cls.__init__ = _init(cls, frozen)
            self.__init__(*args, **named)

        methods = {"__init__": first_init, "__repr__": _repr, **_comparison(cls, frozen), **(_FROZEN if frozen else {})}
        for name, method in methods.items():
            if name not in plain.__dict__:
                setattr(cls, name, method)
        return cls

    return made


def _init(cls: _Class, frozen: bool) -> Callable[..., None]:
    """``def __init__(self, start, name=default, counts=missing)``, as one would write it by hand."""
    known: dict[str, Any] = {"set_": object.__setattr__, "missing_": MISSING}
    parameters, body = ["self_"], []
    for field in dataclasses.fields(cls):
        name, value = field.name, field.name
        if field.default_factory is not MISSING:
            known[f"make_{name}"] = field.default_factory
            value = f"make_{name}() if {name} is missing_ else {name}" if field.init else f"make_{name}()"
        if field.init:
            parameters.append(name + _default(field, known))
        elif field.default_factory is MISSING:
            continue  # __post_init__ sets it
        body.append(f"set_(self_, {name!r}, {value})" if frozen else f"self_.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("self_.__post_init__()")
    exec(f"def __init__({', '.join(parameters)}):\n " + "\n ".join(body or ["pass"]), known)
    made: Callable[..., None] = known["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


def _default(field: "Field[Any]", known: dict[str, Any]) -> str:
    if field.default_factory is not MISSING:
        return "=missing_"
    if field.default is MISSING:
        return ""
    known[f"default_{field.name}"] = field.default
    return f"=default_{field.name}"


def _comparison(cls: _Class, frozen: bool) -> dict[str, Any]:
    """Objects of one class are equal when all their fields are; frozen ones may be keys."""
    names = [field.name for field in dataclasses.fields(cls) if field.compare]
    values = attrgetter(*names) if names else lambda _: ()

    def equal(self: Any, other: Any) -> bool:
        return bool(values(self) == values(other)) if other.__class__ is self.__class__ else NotImplemented

    return {"__eq__": equal, "__hash__": (lambda self: hash(values(self))) if frozen else None}


def _repr(self: Any) -> str:
    shown = (f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
    return f"{self.__class__.__qualname__}({', '.join(shown)})"


def _refuse_to_set(self: Any, name: str, value: Any) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: Any, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)


_FROZEN = {
    "__setattr__": _refuse_to_set,
    "__delattr__": _refuse_to_delete,
    "__getstate__": _state,  # pickle and copy would set attributes
    "__setstate__": _set_state,
}

if not TYPE_CHECKING:
    dataclass = quick_dataclass
