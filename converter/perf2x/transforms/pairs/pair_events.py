"""Chooses the events of a recording that make the pairs asked for."""

from collections.abc import Sequence

from msgspec import Struct

from perf2x.base.abi.uapi import SampleType
from perf2x.base.errors import SettingError
from perf2x.model.recording.events import Recording
from perf2x.transforms.filters.filter_batches import not_recorded
from perf2x.transforms.pairs.pair_spec import PRESETS, Pair, is_event, parse_pairs, whole_name


class PairEvents(Struct, frozen=True):
    """A pair, and the rows of Session.events that begin and end it."""

    pair: Pair
    name: str
    """Name of the event of durations, which no other event has."""
    begins: tuple[int, ...]
    ends: tuple[int, ...]


def pairs_in(recording: Recording, wanted: Sequence[str]) -> list[PairEvents]:
    """Return the pairs that were asked for; OptionError for one that the recording lacks, or one without times."""
    found: list[PairEvents] = []
    taken = {event.name for event in recording.session.events}
    for text, choices in zip(dict.fromkeys(wanted), parse_pairs(wanted), strict=True):
        some = [pair for choice in choices if (pair := _events_of(choice, recording))]
        if not some:
            raise SettingError("", f"pairs={text}", f": {_lacking(text, choices, recording)}")
        for pair in some:
            whole = f"{pair.pair.begin}:{pair.pair.end}"
            name = next(name for name in (pair.name, whole, f"{whole}/{','.join(pair.pair.keys)}") if name not in taken)
            taken.add(name)
            found.append(PairEvents(pair.pair, name, pair.begins, pair.ends))
    if not all(recording.session.events[row].sample_type & SampleType.TIME for pair in found for row in pair.ends):
        raise not_recorded(f"pairs={wanted[0]}")
    return found


def _events_of(pair: Pair, recording: Recording) -> PairEvents | None:
    """The events of a pair, None where one of them is not there."""
    begins = _rows(pair.begin, recording)
    ends = _rows(pair.end, recording)
    if begins and not ends:
        pair = whole_name(pair)
        ends = _rows(pair.end, recording)
    return PairEvents(pair, pair.name, begins, ends) if begins and ends else None


def _rows(name: str, recording: Recording) -> tuple[int, ...]:
    return tuple(row for row, event in enumerate(recording.session.events) if is_event(name, event.name))


def _lacking(text: str, choices: Sequence[Pair], recording: Recording) -> str:
    """Say which event is missing, and how to record it."""
    missing = next(name for name in (choices[0].begin, choices[0].end) if not _rows(name, recording))
    there = ", ".join(event.name for event in recording.session.events)
    wanted = " ".join(f"-e {name}" for pair in choices for name in (pair.begin, pair.end))
    how = f"; record with: perf record {wanted} -g -a" if text in PRESETS else ""
    return f"the recording has no event {missing!r}; it has {there}{how}"
