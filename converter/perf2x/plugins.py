"""Finds emitters and symbol sources by entry point, lazily; the built-in ones come through the same door.

An entry point's name is what the user writes after ``--to``; two plugins of one name are an error, not a race.
"""

from importlib.metadata import EntryPoint, entry_points
from typing import BinaryIO, ClassVar, Protocol

from perf2x.model.errors import OptionError
from perf2x.model.profile import Profile

EMITTERS = "perf2x.emitters"
SYMBOL_SOURCES = "perf2x.symbol_sources"


class Emitter(Protocol):
    """Writes a finished profile in one output format; a frozen dataclass whose fields are its options.

    The class docstring's first line is what ``perf2x formats`` shows.
    """

    suffix: ClassVar[str]
    """What output file names end with: ``.pb.gz``."""
    timeline: ClassVar[bool]
    """True: wants one row per sample in time order; False: rows summed."""

    def emit(self, profile: Profile, out: BinaryIO) -> None:
        """Write the whole profile; deterministic, sequential writes only (``out`` may be a pipe)."""
        ...


def available(group: str) -> dict[str, EntryPoint]:
    """Every plugin of a group by name, sorted, not yet imported; OptionError when two share a name."""
    found: dict[str, EntryPoint] = {}
    for point in sorted(entry_points(group=group), key=lambda point: (point.name, point.value)):
        known = found.get(point.name)
        if known is not None and known.value != point.value:
            raise OptionError(f"two plugins call themselves {point.name!r}: {known.value} and {point.value}")
        found[point.name] = point
    return found


def load_emitter(name: str) -> type[Emitter]:
    """The emitter class behind ``--to NAME``; OptionError names what there is when it is not installed."""
    found = available(EMITTERS)
    if name not in found:
        raise OptionError(f"no output format {name!r}; installed: {', '.join(found)}")
    emitter: type[Emitter] = found[name].load()
    return emitter
