"""Tests that every emitter must pass, as a base class, which plugins import from ``perf2x.testing``."""

import io
from typing import Any, BinaryIO, cast

from perf2x.base.abi import CpuMode
from perf2x.base.columnar import sum_of
from perf2x.kernel.registry import Emitter, notes
from perf2x.model.plugin_options import ALL_GROUPS
from perf2x.model.profile import View
from perf2x.tools.testing.hand_made_profiles import ProfileBuilder


class _SequentialSink(io.RawIOBase):
    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.written.append(bytes(data))
        return len(data)


ODD_NAMES = (
    "std::vector<int, std::allocator<int> >::push_back(int const&)",
    "semi;colon",
    'quote"back\\slash',
    "new\nline\ttab\rreturn",
    "undecodable \udcff\udc80 bytes",
    "עברית \u202eright to left",
    "emoji 🔥 ends in digits 42",
    "$name@plt.part.0",
    "<script>alert(1)</script>",
    " ",
    "x" * 64_000,
)


class EmitterContract:
    """Tests that every emitter must pass. Inherit from it, and build the emitter in :meth:`emitter`.

    If :meth:`total` is overridden, the contract checks that no value was lost.
    """

    def emitter(self) -> Emitter:
        """The emitter under test."""
        raise NotImplementedError("build the emitter to test")

    def total(self, output: bytes) -> int | None:
        """Return the sum of all values in the output; None if the output does not contain it."""
        return None

    def output(self, profile: View) -> bytes:
        """Return the emitter's bytes for a profile, written to a sink that cannot seek."""
        sink = _SequentialSink()
        self.emitter().emit(profile, cast(BinaryIO, sink))
        return b"".join(sink.written)

    def profile(self, builder: ProfileBuilder) -> View:
        """Build the profile that this emitter needs: summed, or one row per sample."""
        return builder.build(timeline=self.emitter().needs.timeline)

    def _check(self, builder: ProfileBuilder) -> bytes:
        profile = self.profile(builder)
        output = self.output(profile)
        assert all(notes(self.emitter(), profile)), "a note for the user is empty"
        assert output == self.output(profile), "two runs gave different bytes"
        total = self.total(output)
        assert total is None or total == sum_of(profile.samples.value), "values were lost or invented"
        return output

    def test_suffix_starts_with_a_dot(self) -> None:
        assert self.emitter().suffix.startswith(".")

    def test_honours_known_groups(self) -> None:
        assert self.emitter().needs.honours <= ALL_GROUPS

    def test_empty_profile(self) -> None:
        self._check(ProfileBuilder())

    def test_event_without_samples(self) -> None:
        builder = ProfileBuilder()
        builder.event()
        builder.thread()
        self._check(builder)

    def test_one_sample(self) -> None:
        assert self._check(_threads_of(1, depth=1))

    def test_sample_without_a_stack(self) -> None:
        builder = _threads_of(1, depth=2)
        builder.sample([])
        self._check(builder)

    def test_unresolved_frames(self) -> None:
        builder = _threads_of(1, depth=1)
        library = builder.mapping("/usr/lib/libfoo.so.1 (deleted)", 0x7F0000000000)
        locations = [builder.location(0x7F0000001000, library), builder.location(0xDEAD)]
        builder.sample(locations, time=5_000_000)
        self._check(builder)

    def test_highest_addresses(self) -> None:
        builder = _threads_of(1, depth=1)
        kernel = builder.mapping("[kernel.kallsyms]_text", 2**64 - 2**31, 2**31 - 1, kernel=True)
        builder.sample([builder.location(2**64 - 2**20, kernel, ["end"], CpuMode.KERNEL, True)], time=5_000_000)
        self._check(builder)

    def test_odd_names(self) -> None:
        builder = ProfileBuilder()
        builder.event("probe_libc:mall;oc\n", "count", period=1)
        for number, name in enumerate(ODD_NAMES):
            thread = builder.thread(name[:15], 100 + number)
            locations = [builder.function(name), builder.function("leaf " + name)]
            builder.sample(locations, thread, time=number * 1_000_000)
        assert self._check(builder)

    def test_several_threads_and_modes(self) -> None:
        builder = _threads_of(3, depth=5)
        thread = builder.thread("prog", 100, 100)
        entry = builder.function("entry_SYSCALL_64", CpuMode.KERNEL)
        builder.sample([builder.function("main"), entry], thread, time=9_000_000)
        self._check(builder)

    def test_idle_and_unknown_threads(self) -> None:
        builder = _threads_of(1, depth=2)
        threads = [builder.thread("swapper", 0, 0), builder.thread("", -1, -1), builder.thread(":7", 7, 0)]
        location = builder.function("cpu_startup_entry", CpuMode.KERNEL)
        for number in range(6):
            builder.sample([location], threads[number % 3], time=number * 1_000_000, cpu=number)
        self._check(builder)

    def test_ten_thousand_threads(self) -> None:
        self._check(_threads_of(10_000, depth=2))

    def test_a_thousand_deep(self) -> None:
        self._check(_threads_of(2, depth=1000))

    def test_large_values(self) -> None:
        builder = _threads_of(1, depth=1)
        builder.sample([builder.function("huge")], value=2**60, time=7_000_000)
        self._check(builder)


def _threads_of(threads: int, depth: int) -> ProfileBuilder:
    builder = ProfileBuilder()
    builder.event()
    program = builder.mapping("/usr/bin/prog", build_id="0123456789abcdef")
    for number in range(threads):
        thread = builder.thread(f"worker {number}", 100, 100 + number, "prog")
        locations = [
            builder.location(0x400010 + 16 * level, program, [(f"level_{level}", "prog.c", level + 1)], is_caller=True)
            for level in range(depth)
        ]
        builder.sample(locations, thread, time=number * 1000, value=1_000_000 + number)
    return builder
