"""Types of frames: the kernel, or the language that a location's code was written in.

Source of truth: ``profile.frame.type`` in OpenTelemetry's semantic conventions, which want the most precise value.
"""

import re

import numpy as np

from perf2x.base.abi.uapi import CpuMode
from perf2x.base.columnar.arrays import I64
from perf2x.model.compiled_names import read_compiled_name
from perf2x.model.profile.profile import Profile
from perf2x.model.profile.shown_frames import in_memory

FRAME_TYPES = (None, "native", "kernel", "go", "rust", "cpython", "v8js", "jvm", "dotnet", "php", "beam", "ruby")
"""Values by number; None where nothing is known."""
_UNKNOWN, _NATIVE, _KERNEL, _GO, _RUST = range(5)

_KERNEL_MODES = (CpuMode.KERNEL, CpuMode.HYPERVISOR, CpuMode.GUEST_KERNEL)
_OF_SOURCE = {"go": _GO, "rs": _RUST}
_RUST_NAME = re.compile(r"_R[A-Za-z]|_ZN.*17h[0-9a-f]{16}E")


def frame_types(profile: Profile) -> I64:
    """(locations,) numbers of types; frames that perf2x made up have none.

    The outermost function of a location decides, since the others were inlined into it.
    """
    locations = profile.locations
    outermost = _outermost_functions(profile)
    is_compiled = in_memory(profile)[locations.mapping]
    compiled, other = (np.array([*_languages(profile, is_jit), _NATIVE]) for is_jit in (True, False))
    types = np.where(is_compiled, compiled[outermost], other[outermost])
    types[np.isin(locations.mode, _KERNEL_MODES)] = _KERNEL
    types[(locations.mode == CpuMode.UNKNOWN) | locations.synthetic] = _UNKNOWN
    return types.astype(np.int64)


def _outermost_functions(profile: Profile) -> I64:
    """(locations,) the last function of each, −1 where there is none."""
    offsets = profile.locations.line_offsets
    functions = np.append(profile.locations.line_function.astype(np.int64), -1)
    has_lines = np.diff(offsets) > 0
    return functions[np.where(has_lines, offsets[1:] - 1, len(functions) - 1)]


def _languages(profile: Profile, is_jit: bool) -> list[int]:
    """(functions,) the type of each, were it code of a just-in-time compiler, or of a file."""
    strings, functions = profile.strings, profile.functions
    names = (strings[row] for row in functions.system_name.tolist())
    if is_jit:
        return [FRAME_TYPES.index(read_compiled_name(name).language) for name in names]
    sources = (strings[row] for row in functions.filename.tolist())
    return [_language(name, source) for name, source in zip(names, sources, strict=True)]


def _language(name: str, source: str) -> int:
    by_name = _RUST if _RUST_NAME.match(name) else _NATIVE
    return _OF_SOURCE.get(source.rpartition(".")[2], by_name)
