"""Our tables equal the layouts of a C compiler for the real header (layouts.c printed layouts.txt)."""

from pathlib import Path

import pytest

from perf2x.base.abi import struct_layouts, uapi
from perf2x.reader.records.variable_fields import BRANCH_ENTRY_WORDS

PRINTED = dict(line.rsplit(" ", 1) for line in (Path(__file__).parent / "layouts.txt").read_text().splitlines())
NOT_KEPT = {"reserved_2", "flags"}


@pytest.mark.parametrize("order", ["<", ">"])
def test_fields_of_the_attr_have_the_compilers_offsets(order: struct_layouts.ByteOrder) -> None:
    dtype = struct_layouts.attr_dtype(order)
    assert dtype.itemsize == int(PRINTED["sizeof.perf_event_attr"]) == struct_layouts.ATTR_SIZE_NEWEST
    offsets = {name: dtype.fields[name][1] for name in dtype.names or () if dtype.fields and name not in NOT_KEPT}
    assert offsets == {name: int(PRINTED[f"perf_event_attr.{name}"]) for name in offsets}
    assert len(offsets) == sum(1 for line in PRINTED if line.startswith("perf_event_attr.") and "bit" not in line)


def test_every_revision_has_its_stated_size() -> None:
    at = 0
    for size, fields in struct_layouts.ATTR_REVISIONS:
        at += sum(int(kind[1]) for _, kind in fields)
        assert at == size


def test_attr_flags_have_the_compilers_bits() -> None:
    printed = [(line.split(" ")[0].split("."), int(bit)) for line, bit in PRINTED.items() if line.endswith(" bit")]
    bits = {name: bit for (owner, name), bit in printed if owner == "perf_event_attr"}
    ours = {name: bit for bit, name in enumerate(uapi.ATTR_FLAGS) if name != "precise_ip_hi"}
    assert ours == bits


def test_header_and_branch_entries_have_the_compilers_layout() -> None:
    assert int(PRINTED["sizeof.perf_event_header"]) == struct_layouts.HEADER_SIZE
    assert int(PRINTED["sizeof.perf_branch_entry"]) == 8 * BRANCH_ENTRY_WORDS
    bits = {"mispred": 0, "predicted": 1, "in_tx": 2, "abort": 3, "cycles": 4, "type": 20, "spec": 24}
    bits |= {"new_type": 26, "priv": 30}
    assert {name: int(PRINTED[f"perf_branch_entry.{name} bit"]) for name in bits} == bits


def test_constants_equal_the_compilers() -> None:
    assert int(PRINTED["PERF_RECORD_CALLCHAIN_DEFERRED"]) == uapi.RecordType.CALLCHAIN_DEFERRED
    assert int(PRINTED["PERF_RECORD_MMAP2"]) == uapi.RecordType.MMAP2
    assert int(PRINTED["PERF_CONTEXT_USER_DEFERRED"]) == uapi.CallchainContext.USER_DEFERRED
    assert int(PRINTED["PERF_CONTEXT_MAX"]) == uapi.CALLCHAIN_CONTEXT_MAX
    assert int(PRINTED["PERF_SAMPLE_WEIGHT_STRUCT"]) == uapi.SampleType.WEIGHT_STRUCT
