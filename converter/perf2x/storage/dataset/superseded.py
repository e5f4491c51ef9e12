"""Earlier states of recordings among the rows of a dataset: they are left out (``table_views.py`` does in SQL)."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    import pyarrow


class State(Struct, frozen=True):
    """A row of the table of recordings, as far as it tells states of one recording apart."""

    recording: bytes
    session: bytes | None
    unfinished: bool
    samples: int

    @property
    def rank(self) -> tuple[bool, int, bytes]:
        """The finished one is the greatest, then that with most samples."""
        return not self.unfinished, self.samples, self.recording


def superseded(states: Iterable[State]) -> frozenset[bytes]:
    """Ids of unfinished recordings that the dataset has finished, or with more samples."""
    states = [state for state in states if state.session is not None]
    best = {state.session: state.recording for state in sorted(states, key=lambda state: state.rank)}
    return frozenset(one.recording for one in states if one.unfinished and best[one.session] != one.recording)


def states_of(recordings: "pyarrow.Table") -> Iterator[State]:
    """Yield what rows of the table of recordings say of their states."""
    yield from map(State, *(recordings[name].to_pylist() for name in State.__struct_fields__))
