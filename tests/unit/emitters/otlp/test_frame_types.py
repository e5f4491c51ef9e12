"""Frames of OpenTelemetry profiles: their types, and what stands for those without a name."""

from perf2x.base.abi.uapi import CpuMode
from perf2x.testing import ProfileBuilder
from tests.support.otlp_profiles import written


def test_frames_without_a_function() -> None:
    builder = ProfileBuilder()
    builder.event()
    library = builder.mapping("/usr/lib/libfoo.so.1", 0x7F0000000000, build_id="c0ffee")
    builder.sample([builder.location(0x7F0000001000, library), builder.location(0xDEAD)], builder.thread())
    (one,) = written(builder.build())
    assert one.samples[0].names == ("[libfoo.so.1]", "[unknown]")
    assert [(frame.file, frame.build_id) for frame in one.samples[0].stack] == [
        ("/usr/lib/libfoo.so.1", "c0ffee"), ("", ""),
    ]  # fmt: skip
    (bare,) = written(builder.build(), placeholders=False)
    assert bare.samples[0].names == ()


def types_of(*functions: tuple[str, str, str, CpuMode]) -> dict[str, str]:
    """Frame types by name, of functions given by file, name, source file and mode."""
    builder = ProfileBuilder()
    builder.event()
    thread, places = builder.thread(), []
    for number, (file, name, source, mode) in enumerate(functions):
        start = 0x400000 * (number + 1)
        mapping = builder.mapping(file, start) if file else -1
        places.append(builder.location(start + 16, mapping, [("inlined.go", "x.go", 1), (name, source, 3)], mode))
    places.append(builder.location(0, lines=["[truncated stack]"], synthetic=True))
    builder.sample(places, thread)
    (one,) = written(builder.build())
    return {frame.name: frame.kind for frame in one.samples[0].stack if frame.name != "inlined.go"}


def test_frame_types() -> None:
    user, kernel = CpuMode.USER, CpuMode.KERNEL
    assert types_of(
        ("/bin/prog", "main", "main.c", user),
        ("/bin/prog", "main.main", "/src/main.go", user),
        ("/bin/prog", "_RNvC4prog4main", "", user),
        ("/bin/prog", "_ZN4core3fmt5write17h0123456789abcdefE", "", user),
        ("/bin/prog", "core::ptr::drop", "library/core/src/ptr/mod.rs", user),
        ("/bin/prog", "py::not_compiled", "", user),
        ("//anon", "py::work:/a/b.py", "/a/b.py", user),
        ("//anon", "LazyCompile:*run /a/b.js:1", "/a/b.js", user),
        ("//anon", "Ljava/lang/String;hashCode()I", "", user),
        ("//anon", "int java.lang.String.hashCode()", "", user),
        ("//anon", "void [app] A.B::run()[Optimized]", "", user),
        ("//anon", "JIT$work", "", user),
        ("//anon", "$lists:map/2", "", user),
        ("//anon", "[JIT] Integer#times", "", user),
        ("//anon", "something", "", user),
        ("[kernel.kallsyms]_text", "do_idle", "", kernel),
        ("[guest.kernel.kallsyms]", "guest", "", CpuMode.GUEST_KERNEL),
        ("", "lost", "", CpuMode.UNKNOWN),
    ) == {
        "main": "native", "main.main": "go", "_RNvC4prog4main": "rust",
        "_ZN4core3fmt5write17h0123456789abcdefE": "rust", "core::ptr::drop": "rust", "py::not_compiled": "native",
        "py::work:/a/b.py": "cpython", "LazyCompile:*run /a/b.js:1": "v8js", "Ljava/lang/String;hashCode()I": "jvm",
        "int java.lang.String.hashCode()": "jvm", "void [app] A.B::run()[Optimized]": "dotnet", "JIT$work": "php",
        "$lists:map/2": "beam", "[JIT] Integer#times": "ruby", "something": "native", "do_idle": "kernel",
        "guest": "kernel", "lost": "", "[truncated stack]": "",
    }  # fmt: skip
