"""Two profiles as collapsed stacks with two columns of numbers, for difffolded.pl and inferno-diff-folded."""

import io
from collections.abc import Iterator

from perf2x.emitters.collapsed import Collapsed
from perf2x.model.profile.profile import Profile


def two_columns(before: Profile, after: Profile, emitter: Collapsed) -> Iterator[bytes]:
    """Lines ``stack before after``, as difffolded.pl writes them, sorted bytewise."""
    old, new = _two_column_lines(before, emitter), _two_column_lines(after, emitter)
    for stack in sorted(old.keys() | new.keys()):
        yield b"%b %d %d\n" % (stack, old.get(stack, 0), new.get(stack, 0))


def _two_column_lines(profile: Profile, emitter: Collapsed) -> dict[bytes, int]:
    out = io.BytesIO()
    emitter.emit(profile, out)
    pairs = (line.rpartition(b" ") for line in out.getvalue().splitlines())
    return {stack: int(number) for stack, _, number in pairs}
