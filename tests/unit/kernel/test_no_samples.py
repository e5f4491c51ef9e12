"""A conversion without a single sample says why and writes nothing, unless that is allowed."""

import gzip
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from perf2x.base.diagnostics import Diagnostics
from tests import forge
from tests.forge.session import container, zstd
from tests.support.command import perf2x, recording

EVENTS = (forge.Event(),)
SIDEBAND = [forge.Comm(pid=1, tid=1, comm="a"), forge.Mmap2(pid=1, tid=1, addr=4096, len=4096)]
SAMPLE = forge.Sample(pid=1, tid=1, ip=5000)


def forged(records: list[object], **session: object) -> bytes:
    return forge.write_file(forge.Session(events=EVENTS, **session), records)  # type: ignore[arg-type]


def nothing_sampled() -> bytes:
    return forged(SIDEBAND)


def killed() -> bytes:
    return forged(SIDEBAND, unfinished=True)


def damaged_pipe() -> bytes:
    """The first record behind the attributes has an impossible size."""
    whole = forged([SAMPLE] * 9, pipe=True)
    at = whole.index(struct.pack("<I", 9), 200)
    return whole[:at] + b"\t\0\0\0\0\0\0\0" + whole[at + 8 :]


def cut() -> bytes:
    whole = forged([SAMPLE] * 9)
    plain = container(forge.Session(events=EVENTS), [SAMPLE] * 9)
    return whole[: whole.index(plain.records[0]) + 4]


def no_attributes() -> bytes:
    return b"PERFILE2" + struct.pack("<Q", 16) + struct.pack("<IHH", 68, 0, 8)


def only_trace() -> bytes:
    return forged([forge.Raw(type=71, body=struct.pack("<QQQIIII", 0, 0, 0, 0, 0, 0, 0))])


def unpackable() -> bytes:
    return forged([forge.Raw(type=81, body=bytes(96))])


def lost() -> bytes:
    return forged([forge.Lost(lost=7)])


def malformed() -> bytes:
    return forged([forge.Raw(type=9, body=bytes(8))])


def wrapper_cut() -> bytes:
    return gzip.compress(forged([*SIDEBAND, forge.Comm(pid=1, tid=1, comm="b"), SAMPLE], pipe=True))[:-40]


CASES: dict[Callable[[], bytes], str] = {
    nothing_sampled: "nothing was sampled while perf record ran",
    killed: "perf record was killed before it wrote a sample",
    damaged_pipe: "its records are damaged at {path}, byte 0x",
    cut: "its records are damaged at {path}, byte 0x",
    no_attributes: "the file defines no event",
    only_trace: "there is only hardware trace",
    unpackable: "its compressed records cannot be unpacked ({path}, byte 0x",
    lost: "the kernel lost them all",
    malformed: "all of its samples are damaged (1)",
    wrapper_cut: "the compressed file is cut off or damaged",
}  # fmt: skip


@pytest.mark.parametrize("make", CASES, ids=lambda make: make.__name__)
def test_the_reason_for_no_samples_is_given(make: Callable[[], bytes], tmp_path: Path) -> None:
    path, out = tmp_path / "perf.data", tmp_path / "out.folded"
    path.write_bytes(make())
    for words in (("convert", path, "-o", out), ("top", path), ("diff", path, path)):
        ran = perf2x(*words)
        assert ran.code == 1
        assert ran.out == ""
        assert ran.err.startswith(f"perf2x: {path}"), ran.err
        assert f": no samples: {CASES[make].format(path=path)}" in ran.err
        assert ran.err.count("\n") == 1
        assert not out.exists()


DAMAGED = (damaged_pipe, cut, unpackable, malformed, wrapper_cut)


@pytest.mark.parametrize("make", CASES, ids=lambda make: make.__name__)
def test_info_shows_what_it_can_read_and_fails_for_damage(make: Callable[[], bytes], tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    path.write_bytes(make())
    ran = perf2x("info", path)
    assert "samples: " in ran.out and "records:" in ran.out
    assert ran.err.startswith(f"perf2x: {path}: no samples: {CASES[make].format(path=path)}")
    assert ran.err.count("\n") == 1
    assert ran.code == (1 if make in DAMAGED else 0)
    assert bool(perf2x("info", path, "-q").err) == (make in DAMAGED)


@pytest.mark.parametrize("make", CASES, ids=lambda make: make.__name__)
def test_dump_shows_what_it_can_read_and_fails_for_damage(make: Callable[[], bytes], tmp_path: Path) -> None:
    """A damaged sample has its line, which says so."""
    path = tmp_path / "perf.data"
    path.write_bytes(make())
    ran, failed = perf2x("dump", path), make in DAMAGED and make is not malformed
    assert ran.code == (1 if failed else 0)
    assert ("no samples: " + CASES[make].format(path=path) in ran.err) == failed
    assert perf2x("dump", path, "-n", "0").code == 0, "what was not walked is not judged"


def test_damage_of_a_recording_with_samples_is_said_but_no_failure(tmp_path: Path) -> None:
    """It is a line of info's page, and the last line of dump."""
    path = tmp_path / "perf.data"
    path.write_bytes(forged([SAMPLE, forge.Raw(type=81, body=bytes(96))]))
    assert (perf2x("info", path).code, perf2x("info", path).err) == (0, "")
    ran = perf2x("dump", path)
    assert (ran.code, ran.err.partition(";")[0]) == (0, "lost: 1 compressed record that cannot be unpacked")


def test_a_record_that_unpacks_to_too_much_is_refused_by_every_command(tmp_path: Path) -> None:
    bomb = zstd().compress(bytes(80 << 20))
    path, out = tmp_path / "perf.data", tmp_path / "out"
    path.write_bytes(forged([forge.Raw(type=81, body=bomb + bytes(-len(bomb) % 8))]))
    words = (
        ("info",),
        ("dump",),
        ("top",),
        ("convert", "-t", "svg", "-o", out),
        ("bundle", "-o", out),
        ("view",),
        ("diff", path),
    )
    for name, *more in words:
        ran = perf2x(name, path, *more)
        assert ran.code == 1, name
        assert "its compressed records cannot be unpacked" in ran.err and "unpacks to more than" in ran.err, name
        assert not out.exists()


def test_a_bundle_without_samples_has_to_be_allowed(tmp_path: Path) -> None:
    path, out = tmp_path / "perf.data", tmp_path / "out.tar.gz"
    path.write_bytes(killed())
    ran = perf2x("bundle", path, "-o", out)
    assert (ran.code, out.exists()) == (1, False)
    assert "no samples: perf record was killed before it wrote a sample (--allow-empty continues anyway)" in ran.err
    assert perf2x("bundle", path, "-o", out, "--allow-empty").code == 0 and out.exists()


def test_a_filter_does_not_hide_it(tmp_path: Path) -> None:
    path = tmp_path / "perf.data"
    path.write_bytes(killed())
    ran = perf2x("top", path, "--pid", "1")
    assert (ran.code, "killed before it wrote a sample" in ran.err) == (1, True)


def test_allow_empty_writes_an_empty_output(tmp_path: Path) -> None:
    path, out = tmp_path / "perf.data", tmp_path / "out.folded"
    path.write_bytes(killed())
    ran = perf2x("convert", path, "-o", out, "--allow-empty")
    assert (ran.code, out.read_bytes()) == (0, b"")
    assert "0 samples of 0 events, 0 threads" in ran.err
    assert perf2x("info", path).code == 0 and perf2x("dump", path).code == 0


def test_one_of_several_may_be_empty(tmp_path: Path) -> None:
    path, out = tmp_path / "perf.data", tmp_path / "out.folded"
    path.write_bytes(nothing_sampled())
    assert perf2x("convert", path, recording("calls"), "-o", out, "--no-symbols").code == 0
    assert out.stat().st_size


def test_losses_are_described_in_words(tmp_path: Path) -> None:
    whole = Path(recording("calls")).read_bytes()
    path = tmp_path / "perf.data"
    path.write_bytes(whole[:40_000])
    ran = perf2x("convert", path, "-o", tmp_path / "out.folded", "--no-symbols")
    assert " bytes missing at the end of the file" in ran.err and "file cut" not in ran.err


def test_every_diagnostic_has_words() -> None:
    """Names are said in words of their own, in the singular and in the plural."""
    counts = Diagnostics()
    counts.add("file_cut", "", 6657)
    counts.add("lost_samples", "", 1)
    counts.add("synthetic_elsewhere", "", 2)
    assert [count.text for count in counts.counts.values()] == [
        "6,657 bytes missing at the end of the file", "1 lost sample", "2 synthetic elsewhere",
    ]  # fmt: skip


def test_a_vmlinux_that_is_none_is_named(tmp_path: Path) -> None:
    none = tmp_path / "vmlinux"
    none.write_text("no ELF file but a text that is longer than its header would be, which has 64 bytes")
    for words in (("convert", "-o", tmp_path / "out.folded"), ("top",), ("bundle", "-o", tmp_path / "out.tgz")):
        ran = perf2x(words[0], recording("calls"), *words[1:], "--vmlinux", none)
        assert ran.code == 2
        assert (
            ran.err == f"perf2x: --vmlinux {none}: not a readable ELF file: it does not begin with the magic number\n"
        )
    assert list(tmp_path.iterdir()) == [none]
