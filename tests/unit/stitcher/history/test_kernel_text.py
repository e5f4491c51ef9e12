"""The kernel's text, which no lookup is needed for, against lookups of every address."""

from pathlib import Path

import numpy as np
import pytest

from perf2x.kernel.load import load
from perf2x.kernel.load_options import LoadOptions
from perf2x.stitcher.history.mapping_lookup import KernelText
from perf2x.stitcher.stacks import frame_keys
from tests import forge
from tests.forge import kernel as k

TEXT, MODULE = 0xFFFFFFFF81000000, 0xFFFFFFFFC0000000
PLACES = [TEXT, TEXT + 0x900, TEXT + 0x1FFF, TEXT + 0x2000, TEXT - 1, MODULE + 8, MODULE + 0x1000, 0x1010, 0x5000]


def records(inside: int | None = None) -> list[forge.Record]:
    """Kernel and user addresses as of every mapping; ``inside``: length of a mapping that comes to lie in the text."""
    stamp = forge.Stamp(1, 1, 1)
    made: list[forge.Record] = [
        forge.Mmap(pid=1, tid=1, addr=0x1000, len=0x1000, stamp=stamp),
        _kernel(TEXT, 0x2000, "vmlinux", 5),
        _kernel(MODULE, 0x1000, "[xfs]", 30),
    ]
    made += [] if inside is None else [_kernel(TEXT + 0x800, inside, "[late]", 40)]
    for pid, time in ((1, 3), (1, 10), (2, 20), (1, 35), (2, 50)):
        for place in PLACES:
            chain = (k.CONTEXT_KERNEL, place, place + 4, k.CONTEXT_USER, 0x1100, place)
            made.append(forge.Sample(pid=pid, tid=pid, time=time, ip=place, chain=chain))
    return made


def _kernel(start: int, length: int, name: str, time: int) -> forge.Record:
    stamp = forge.Stamp(0xFFFFFFFF, 0, time)
    return forge.Mmap(pid=0xFFFFFFFF, tid=0, addr=start, len=length, filename=name, misc=k.KERNEL, stamp=stamp)


def stacks_of(path: Path) -> list[list[tuple[str, int]]]:
    profile = load([str(path)], LoadOptions(symbols=None, timeline=True)).profile
    files = [profile.strings[row] for row in profile.mappings.filename.tolist()]
    places = [
        (files[mapping] if mapping >= 0 else "", address)
        for mapping, address in zip(profile.locations.mapping.tolist(), profile.locations.address.tolist(), strict=True)
    ]
    stacks = []
    for row in profile.samples.stack.tolist():
        stacks.append([])
        while row >= 0:
            stacks[-1].append(places[profile.stacks.location[row]])
            row = int(profile.stacks.parent[row])
    return stacks


@pytest.mark.parametrize("inside", [None, 0x400, 0x4000])
def test_frames_are_those_of_lookups(inside: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, told = tmp_path / "perf.data", []
    path.write_bytes(forge.write_file(forge.Session(), records(inside)))
    holds = KernelText.holds

    def counted(self: KernelText, *asked: np.ndarray) -> np.ndarray:
        held = holds(self, *asked)
        told.append(held.sum())
        return held

    monkeypatch.setattr(KernelText, "holds", counted)
    by_text = stacks_of(path)
    assert (sum(told) > 0) == (inside is None)
    assert len({name for stack in by_text for name, _ in stack}) == 4 + (inside is not None)
    monkeypatch.setattr(frame_keys, "kernel_text_of", lambda *_: None)
    assert stacks_of(path) == by_text


def test_high_addresses_of_unknown_mode_are_the_kernels(tmp_path: Path) -> None:
    """Between addresses of the process, before and after a module is loaded; −0x999 marks no mode that is known."""
    path, made = tmp_path / "perf.data", records()[:3]
    for time in (20, 40):
        chain = (k.CONTEXT_USER, 0x1100, 2**64 - 0x999, MODULE, 0x1200, TEXT + 8)
        made.append(forge.Sample(pid=1, tid=1, time=time, ip=0x1100, chain=chain))
    path.write_bytes(forge.write_file(forge.Session(), made))
    early, late = ([name for name, _ in stack] for stack in stacks_of(path))
    assert early == ["/bin/prog", "", "/bin/prog", "vmlinux"]
    assert late == ["/bin/prog", "[xfs]", "/bin/prog", "vmlinux"]


@pytest.mark.parametrize("kernel", ["too large to be laid out", "gone at the end"])
def test_text_that_no_offset_stands_for_is_looked_up(
    kernel: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, place = tmp_path / "perf.data", 0xFFFF_9000_0000_0000
    if kernel == "gone at the end":
        made: list[forge.Record] = [
            forge.Ksymbol(addr=place, len=0x1000, unregister=gone, stamp=forge.Stamp(0, 0, time))
            for gone, time in ((False, 5), (True, 30))
        ]
    else:
        made = [_kernel(0xFFFF_0000_0000_0000, 1 << 48, "vmlinux", 5)]
    for time in (3, 10, 50):
        chain = (k.CONTEXT_KERNEL, place, place + 4)
        made.append(forge.Sample(pid=1, tid=1, time=time, ip=place, chain=chain))
    path.write_bytes(forge.write_file(forge.Session(), made))
    found = stacks_of(path)
    assert len({name for stack in found for name, _ in stack}) == 2
    monkeypatch.setattr(frame_keys, "kernel_text_of", lambda *_: None)
    assert stacks_of(path) == found
