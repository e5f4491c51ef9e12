"""LLVM's sample profile as text: for ``clang -fprofile-sample-use`` and ``llvm-profdata``.

Source of truth: SampleProfileWriterText::writeSample in llvm/lib/ProfileData/SampleProfWriter.cpp. A function is::

    name:total:entered
     line.discriminator: count callee:count callee:count
     line: inlined function:total
      line: count

The hottest functions come first.
"""

from collections.abc import Iterator
from typing import BinaryIO

from perf2x.model.format_features import CodeObject, CodeRequest, CodeSettings
from perf2x.model.plugin_options import Format, Needs
from perf2x.model.profile import COUNTS_CODE, FunctionCounts, LineLocation, View, describe_counts


class Autofdo(Format):
    """LLVM's sample profile (AutoFDO) of one program, as text: for clang -fprofile-sample-use and llvm-profdata."""

    suffix = ".afdo"

    object: CodeObject = ""

    @property
    def needs(self) -> Needs:
        """Only counts of code are needed."""
        return Needs(
            features=(CodeSettings(CodeRequest(self.object, "external", lines=True)),),
            honours=frozenset(),
            why=COUNTS_CODE,
        )

    def emit(self, profile: View, out: BinaryIO) -> None:
        """Write functions by descending total, then by name."""
        for function in by_weight(profile):
            out.write("".join(_lines(function)).encode(errors="surrogateescape"))

    def notes(self, profile: View) -> tuple[str, ...]:
        """Return the object's name and what was counted."""
        if profile.code is None:
            return ()
        code = profile.code
        return (f"of {code.filename}: {len(code.functions):,} functions from {describe_counts(code)}",)


def by_weight(profile: View) -> list[FunctionCounts]:
    """Return functions by descending total, then by name."""
    functions = profile.code.functions if profile.code is not None else ()
    return sorted(functions, key=lambda each: (-each.total, each.name))


def _lines(function: FunctionCounts) -> Iterator[str]:
    """Yield a function's lines, then the functions inlined into it, both by line."""
    for depth, called, each in function.tree():
        entered = "" if depth else f":{function.entered}"
        at = f"{' ' * depth}{_place(called)}: " if depth else ""
        yield f"{at}{each.name}:{each.total}{entered}\n"
        for place, count in sorted(each.lines.items()):
            calls = "".join(f" {name}:{number}" for name, number in count.sorted_calls())
            yield f"{' ' * (depth + 1)}{_place(place)}: {count.count}{calls}\n"


def _place(place: LineLocation) -> str:
    line, discriminator = place
    return f"{line}.{discriminator}" if discriminator else str(line)
