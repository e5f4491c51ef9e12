"""LLVM's sample profile as text: for ``clang -fprofile-sample-use`` and ``llvm-profdata``.

Source of truth: SampleProfileWriterText::writeSample in llvm/lib/ProfileData/SampleProfWriter.cpp. Lines are relative
to the function's declaration::

    name:total:entered
     line.discriminator: count callee:count callee:count
     line: inlinee:total
      line: count
"""

from collections.abc import Iterator
from typing import BinaryIO

from perf2x.model.format_features import CodeObject, CodeRequest, CodeSettings
from perf2x.model.plugin_options import Format, Needs
from perf2x.model.profile import COUNTS_NOT_STACKS, FunctionCounts, LineLocation, View, describe_counts


class Autofdo(Format):
    """LLVM's sample profile (AutoFDO) of one program, as text: for clang -fprofile-sample-use and llvm-profdata."""

    suffix = ".afdo"

    object: CodeObject = ""

    @property
    def needs(self) -> Needs:
        """Only counts of the program's code are needed."""
        return Needs(
            features=(CodeSettings(CodeRequest(self.object, "external", by_line=True)),),
            honours=frozenset(),
            why=COUNTS_NOT_STACKS,
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
    return sorted(functions, key=lambda function: (-function.total, function.name))


def _lines(function: FunctionCounts) -> Iterator[str]:
    for depth, call_location, instance in function.walk():
        entered = "" if depth else f":{function.entered}"
        call_text = f"{' ' * depth}{_line_text(call_location)}: " if depth else ""
        yield f"{call_text}{instance.name}:{instance.total}{entered}\n"
        for location, counts in sorted(instance.lines.items()):
            calls = "".join(f" {name}:{count}" for name, count in counts.sorted_calls())
            yield f"{' ' * (depth + 1)}{_line_text(location)}: {counts.count}{calls}\n"


def _line_text(line_location: LineLocation) -> str:
    line, discriminator = line_location
    return f"{line}.{discriminator}" if discriminator else str(line)
