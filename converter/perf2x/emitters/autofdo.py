"""LLVM's sample profile as text: for ``clang -fprofile-sample-use`` and ``llvm-profdata``.

Source of truth: SampleProfileWriterText::writeSample in llvm/lib/ProfileData/SampleProfWriter.cpp. A function is::

    name:total:entered
     line.discriminator: count callee:count callee:count
     line: inlined function:total
      line: count

The hottest functions come first.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, ClassVar

from perf2x.model.plugin_options import Needs, check_choices, option
from perf2x.model.profile.code_counts import COUNTS_CODE, CodeRequest, FunctionCounts, LineCount, Place
from perf2x.model.profile.profile import Profile


@dataclass(frozen=True, slots=True)
class Autofdo:
    """LLVM's sample profile (AutoFDO) of one program, as text: for clang -fprofile-sample-use and llvm-profdata."""

    suffix: ClassVar[str] = ".afdo"

    object: str = option("", "program or library: name, path or build id; default: the one with most samples")

    def __post_init__(self) -> None:
        check_choices(self)

    @property
    def needs(self) -> Needs:
        """Counts of code alone."""
        return Needs(code=CodeRequest(self.object, "external", lines=True), honours=frozenset(), why=COUNTS_CODE)

    def emit(self, profile: Profile, out: BinaryIO) -> None:
        """Write functions by falling totals, then by name."""
        functions = profile.code.functions if profile.code is not None else ()
        for function in sorted(functions, key=lambda each: (-each.total, each.name)):
            out.write("".join(_lines(function)).encode(errors="surrogateescape"))

    def notes(self, profile: Profile) -> tuple[str, ...]:
        """Name the object, and say what was counted."""
        if profile.code is None:
            return ()
        code = profile.code
        what = f"{len(code.functions):,} functions from {int(code.branches.count.sum()):,} branches"
        if not len(code.branches):
            samples = f"{int(code.samples.count.sum()):,} samples"
            what = f"{len(code.functions):,} functions from {samples}, as no branches were recorded (perf record -b)"
        return (f"of {code.filename}: {what}",)


def _lines(function: FunctionCounts) -> Iterator[str]:
    yield f"{function.name}:{function.total}:{function.entered}\n"
    yield from _body(function, " ")


def _body(function: FunctionCounts, indent: str) -> Iterator[str]:
    """Yield lines, then inlined functions, both in order of place."""
    for place, count in sorted(function.lines.items()):
        yield f"{indent}{_place(place)}: {count.count}{_calls(count)}\n"
    for place, instances in sorted(function.inlined.items()):
        for name, instance in sorted(instances.items()):
            yield f"{indent}{_place(place)}: {name}:{instance.total}\n"
            yield from _body(instance, indent + " ")


def _place(place: Place) -> str:
    line, discriminator = place
    return f"{line}.{discriminator}" if discriminator else str(line)


def _calls(count: LineCount) -> str:
    """Return called functions, the most frequent first."""
    calls = sorted(count.calls.items(), key=lambda call: (-call[1], call[0]))
    return "".join(f" {name}:{number}" for name, number in calls)
