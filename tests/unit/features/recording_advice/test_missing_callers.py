"""Callers that frame pointers miss, counted against pyelftools' tables of call frame information."""

from pathlib import Path

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile

from perf2x import Loaded, SymbolOptions, read
from perf2x.base.abi.uapi import CpuMode
from perf2x.features.recording_advice.choose_advice import ChainReport, advice
from perf2x.model.profile.profile import Profile
from tests.support.command import perf2x
from tests.support.recordings import CORPUS

SYMFS = CORPUS / "common" / "symfs"
RBP = 6


def counted(loaded: Loaded) -> int:
    return next(one.without_caller for one in loaded.reports if isinstance(one, ChainReport))


def frameless_by_hand(profile: Profile, symfs: Path) -> int:
    """Samples in user code of files in ``symfs`` where the rule at the sampled instruction does not use rbp."""
    found, tables = 0, {}
    for stack, count in zip(profile.samples.stack.tolist(), profile.samples.count.tolist(), strict=True):
        location = int(profile.stacks.location[stack])
        mapping = int(profile.locations.mapping[location])
        if profile.locations.mode[location] != CpuMode.USER or mapping < 0:
            continue
        path = symfs / profile.strings[int(profile.mappings.filename[mapping])].lstrip("/")
        if not path.is_file():
            continue
        if path not in tables:
            with path.open("rb") as file:
                elf = ELFFile(file)
                segments = [one.header for one in elf.iter_segments("PT_LOAD")]
                entries = [one for one in elf.get_dwarf_info().EH_CFI_entries() if hasattr(one, "lsda_pointer")]
                rows = [(one.header, one.get_decoded().table) for one in entries]
            tables[path] = segments, rows
        segments, rows = tables[path]
        start, offset = (int(column[mapping]) for column in (profile.mappings.start, profile.mappings.offset))
        offset += int(profile.locations.address[location]) - start
        at = next(one.p_vaddr + offset - one.p_offset for one in segments if 0 <= offset - one.p_offset < one.p_filesz)
        for header, table in rows:
            if 0 <= at - header.initial_location < header.address_range:
                rule = [row["cfa"] for row in table if row["pc"] <= at][-1]
                found += count * (rule.reg != RBP)
    return found


@pytest.mark.parametrize("name", ["zstd", "shapes", "calls", "user_only"])
def test_samples_without_a_frame_are_those_of_another_reader(name: str) -> None:
    loaded = read(str(CORPUS / name / "perf.data"), symbols=SymbolOptions(symfs=SYMFS))
    assert counted(loaded) == frameless_by_hand(loaded.profile, SYMFS)


def test_the_addresses_with_most_samples_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perf2x.features.recording_advice.missing_callers._MAX_LOCATIONS", 1)
    loaded = read(str(CORPUS / "shapes" / "perf.data"), symbols=SymbolOptions(symfs=SYMFS))
    profile = loaded.profile
    at = np.bincount(profile.stacks.location[profile.samples.stack], profile.samples.count)
    assert counted(loaded) == at.max()


def test_only_what_frame_pointers_lead_through_is_counted() -> None:
    copied = read(str(CORPUS / "unwind" / "perf.data"), symbols=SymbolOptions(symfs=SYMFS))
    assert counted(copied) == 0 == counted(read(str(CORPUS / "zstd" / "perf.data"), symbols=None))


@pytest.mark.parametrize(("callers", "is_said"), [(50, False), (51, True)])
def test_above_a_twentieth_it_is_said(callers: int, is_said: bool) -> None:
    loaded = read(str(CORPUS / "zstd" / "perf.data"), symbols=None)
    found = advice(ChainReport(samples=1000, by_frame_pointer=1000, without_caller=callers), loaded.profile, None, "x")
    assert ("missing_callers" in {one.about for one in found}) == is_said
    assert [one.sentence() for one in found if one.about == "missing_callers"] == [
        "The caller of the sampled function is missing in 5 % of the samples, as it had no frame there: record with "
        "perf record --call-graph dwarf."
    ] * is_said
    cut = advice(
        ChainReport(samples=1000, by_frame_pointer=1000, cut_off=500, without_caller=callers), loaded.profile, None, "x"
    )
    assert {"cut_stacks", "missing_callers"} & {one.about for one in cut} == {"cut_stacks"}


def test_a_report_states_no_callers_that_may_be_missing() -> None:
    words = ("report", CORPUS / "zstd" / "perf.data", "--symfs", SYMFS, "--kallsyms", CORPUS / "common" / "kallsyms.xz")
    steps = perf2x(*words).out.partition("#### Look at next")[2].partition("####")[0]
    assert "is missing in 24 % of the samples" in steps and "takes 23.5 % by itself. " in steps
    assert "is for calls from" not in steps and "hottest path" not in steps
    steps = perf2x("report", CORPUS / "unwind" / "perf.data", "--symfs", SYMFS).out.partition("#### Look at next")[2]
    assert "is for calls from" in steps and "hottest path" in steps
