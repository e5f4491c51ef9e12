"""Labels of slices: the name, the category and, on request, the arguments of the slices of each frame."""

from perf2x.base.abi import CpuMode
from perf2x.base.columnar import I64, number_keys
from perf2x.emitters.encoding.json_encoder import json_bytes
from perf2x.model.printable_text import printable
from perf2x.model.profile import LocationFrames, Profile, are_jit

OFF_CPU = "off-cpu"
_MODES: dict[int, str] = {
    CpuMode.KERNEL: "kernel",
    CpuMode.USER: "user",
    CpuMode.HYPERVISOR: "hypervisor",
    CpuMode.GUEST_KERNEL: "guest",
    CpuMode.GUEST_USER: "guest",
}


Label = tuple[str, str, bytes]
"""Name, category ("" if unknown) and arguments (a JSON object; b"" for none) of a slice."""


def labels_of(
    profile: Profile, frames: LocationFrames, groups: list[str], *, with_arguments: bool
) -> tuple[list[Label], I64, I64]:
    """Return the distinct labels, then the label of each frame and of each group."""
    modes = zip(frames.mode.tolist(), are_jit(profile, frames).tolist(), strict=True)
    categories = ["jit" if is_jit else _MODES.get(mode, "") for mode, is_jit in modes]
    arguments = _arguments(profile, frames) if with_arguments else [b""] * len(frames)
    of_frames = zip(map(printable, frames.name), categories, arguments, strict=True)
    labels, place = number_keys([*of_frames, *((name, "", b"") for name in groups)])
    return labels, place[: len(frames)], place[len(frames) :]


def _arguments(profile: Profile, frames: LocationFrames) -> list[bytes]:
    """Return the object and, where known, the source file and the line where the function begins."""
    text, functions = profile.strings, profile.functions
    result = []
    for held, row in zip(frames.object, frames.function.tolist(), strict=True):
        facts = {"object": printable(held)} if held else {}
        if row >= 0 and text[functions.filename[row]]:
            line = int(functions.start_line[row])
            facts["source"] = printable(text[functions.filename[row]]) + (f":{line}" if line else "")
        result.append(json_bytes(facts) if facts else b"")
    return result
