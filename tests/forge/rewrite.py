"""Rewrites a recording: as a pipe, shuffled, in two files, or without a record."""

from dataclasses import replace
from pathlib import Path
from random import Random
from struct import unpack_from

from tests.forge.container import Container
from tests.reference.container import contents_of
from tests.reference.decode import Recording, decode

FINISHED_ROUND = 68
COMPRESSED_FEATURE = 27


def pieces_of(path: Path) -> Container:
    """Take the recording apart; records inside compressed ones are unpacked."""
    contents = contents_of(path)
    features = {number: raw for number, raw in contents.features.items() if number != COMPRESSED_FEATURE}
    features = {number: raw for number, raw in features.items() if number < 256}
    return Container(contents.order, tuple(contents.attrs), tuple(contents.records), dict(sorted(features.items())))


def shuffled(pieces: Container, recording: Recording, seed: int) -> Container:
    """Shuffle kernel records, except that records of equal time keep their order; rounds lose their meaning."""
    kernel, others = [], []
    for at, raw in enumerate(pieces.records):
        number = unpack_from(pieces.order + "I", raw)[0]
        if number < 64:
            kernel.append((decode(raw, at, recording.events, pieces.order).time or 0, at))
        elif number != FINISHED_ROUND:
            others.append(raw)
    places = list(range(len(kernel)))
    Random(seed).shuffle(places)
    slots: dict[int, list[int]] = {}
    for (time, _), place in zip(kernel, places, strict=True):
        slots.setdefault(time, []).append(place)
    in_turn = {time: iter(sorted(found)) for time, found in slots.items()}
    order = sorted((next(in_turn[time]), at) for time, at in kernel)
    return replace(pieces, records=(*others, *(pieces.records[at] for _, at in order)))


def halves(pieces: Container) -> tuple[Container, Container]:
    """Split the recording into two files, in the middle of its records."""
    middle = len(pieces.records) // 2
    return replace(pieces, records=pieces.records[:middle]), replace(pieces, records=pieces.records[middle:])


def without(pieces: Container, at: int) -> Container:
    """Remove one record."""
    return replace(pieces, records=(*pieces.records[:at], *pieces.records[at + 1 :]))
