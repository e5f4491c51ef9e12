"""Formats samples and their callchains as dump_sample in tools/perf/util/session.c does.

One additional line (``... fields:``) has all fields that are single numbers.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from perf2x.base.abi import MISC_CPUMODE_MASK, CallchainContext, EventType, ReadFormat, SampleType
from perf2x.base.abi.register_numbers import NAMES
from perf2x.base.columnar import flatnonzero
from perf2x.model.recording import Event, ReadValues, Samples
from perf2x.model.recording.branch_types import (
    PRIVILEGES,
    SPECULATIONS,
    TYPES,
    chosen_branches,
    privileges,
    speculations,
    type_numbers,
)
from perf2x.reader.records.tracepoint_decoder import decode_fields
from perf2x.reader.session_builder import SessionBuilder
from perf2x.tools.dump.record_fields import fields_text

# Fields that are columns of Samples, in the order of printing, before those of ``Samples.extra``.
_COLUMN_FIELDS = (
    (SampleType.IP, "ip"), (SampleType.TID, "pid"), (SampleType.TID, "tid"), (SampleType.TIME, "time"),
    (SampleType.ADDR, "addr"), (SampleType.CPU, "cpu"), (SampleType.PERIOD, "period"),
    (SampleType.WEIGHT | SampleType.WEIGHT_STRUCT, "weight"), (SampleType.DATA_SRC, "data_src"),
)  # fmt: skip
_MARKER_NAMES = {int(context): context.name for context in CallchainContext}
_ABI_NAMES = {0: "none", 1: "32-bit", 2: "64-bit"}
# Bits of Branches.flags with a letter: mispredicted, predicted, abort, in a transaction.
_FLAG_LETTERS = ((0, "M"), (1, "P"), (3, "A"), (2, "T"))


def sample_lines(
    batch: Samples, row: int, event: Event, session: SessionBuilder, misc: int, branch_filter: Sequence[str]
) -> Iterator[str]:
    """Yield the rest of the sample's first line, after "PERF_RECORD_SAMPLE", then the lines below it.

    ``misc`` is from the record header. An empty ``branch_filter`` selects all branches.
    """
    addr = 0 if batch.addr is None else int(batch.addr[row])
    head = f"{batch.pid[row]}/{batch.tid[row]}: {int(batch.ip[row]):#x}"
    yield f"(IP, {misc & MISC_CPUMODE_MASK:#x}): {head} period: {batch.period[row]} addr: {f'{addr:#x}' if addr else 0}"
    yield f"... fields: {fields_text(_fields(batch, row, event))}"
    if event.sample_type & SampleType.CALLCHAIN:
        yield from _callchain_lines(batch.chain.row(row).tolist(), event)
    yield from _branch_lines(batch, row, branch_filter)
    yield from _register_lines(batch, row, event, session)
    if "read" in batch.extra:
        yield from _counter_lines(batch.extra["read"], row, event.read_format)
    yield from _variable_length_lines(batch, row, event, session)
    yield f" ... event: {event.name}"


def _fields(batch: Samples, row: int, event: Event) -> dict[str, Any]:
    names = [name for bits, name in _COLUMN_FIELDS if event.sample_type & bits]
    columns = {**batch.extra, **{name: getattr(batch, name) for name in Samples.__struct_fields__}}
    columns = {name: columns[name] for name in (*names, *batch.extra)}
    return {
        name: column[row] for name, column in columns.items() if isinstance(column, np.ndarray) and column.ndim == 1
    }


def chain_lines(chain: list[int]) -> list[str]:
    """Format a chain as callchain__printf does: ``... FP chain: nr:3``, then the entries."""
    lines = [f"... FP chain: nr:{len(chain)}"]
    for number, entry in enumerate(chain):
        marker = f" (PERF_CONTEXT_{_MARKER_NAMES[entry]})" if entry in _MARKER_NAMES else ""
        lines.append(f"..... {number:2}: {entry:016x}{marker}")
    return lines


def _callchain_lines(chain: list[int], event: Event) -> Iterator[str]:
    yield from chain_lines(chain)
    is_deferred = len(chain) >= 2 and chain[-2] == CallchainContext.USER_DEFERRED
    if is_deferred and "defer_callchain" in event.flags:
        yield "...... (deferred)"


def _branch_lines(batch: Samples, row: int, branch_filter: Sequence[str]) -> Iterator[str]:
    branches = batch.branches
    if branches is None:
        return
    begin, end = int(branches.offsets[row]), int(branches.offsets[row + 1])
    entries = begin + flatnonzero(chosen_branches(branches.flags[begin:end], branch_filter))
    yield f"... branch stack: nr:{end - begin}" + (f", {len(entries)} shown" if branch_filter else "")
    flags_of_entries = branches.flags[entries]
    columns = (branches.from_ip[entries], branches.to_ip[entries], flags_of_entries)
    decoded_columns = (type_numbers(flags_of_entries), speculations(flags_of_entries), privileges(flags_of_entries))
    rows = zip(entries - begin, *(column.tolist() for column in (*columns, *decoded_columns)), strict=True)
    for number, start, to, flags, type_number, speculation, privilege in rows:
        letters = "".join(letter if flags >> bit & 1 else " " for bit, letter in _FLAG_LETTERS)
        level = f" {PRIVILEGES[privilege].lower()}" if PRIVILEGES[privilege] else ""
        # bits of perf_branch_entry: 4–19 are the cycles, 33 and above are reserved (perf prints these, too)
        suffix = f"{flags >> 33:x} {TYPES[type_number]} {SPECULATIONS[speculation]}{level}".rstrip()
        yield f"..... {number:2}: {start:016x} -> {to:016x} {flags >> 4 & 0xFFFF} cycles {letters} {suffix}"
    counters = batch.extra.get("branch_counters")
    if counters is not None and len(entries):
        yield f"... branch stack counters: {' '.join(f'{int(value):#x}' for value in counters.values[entries])}"


def _register_lines(batch: Samples, row: int, event: Event, session: SessionBuilder) -> Iterator[str]:
    stacks = batch.user_stacks
    arch = session.features.get("arch", "")
    if stacks is not None and event.sample_type & SampleType.REGS_USER:
        yield from _register_set_lines("user", stacks.mask, int(stacks.abi[row]), stacks.regs[row].tolist(), arch)
    if stacks is not None and event.sample_type & SampleType.STACK_USER:
        yield f"... ustack: size {stacks.size[row]}, offset {int(stacks.start[row] * 8):#x}"
    if "regs_intr" in batch.extra:
        abi, regs = int(batch.extra["regs_intr_abi"][row]), batch.extra["regs_intr"][row].tolist()
        yield from _register_set_lines("intr", event.sample_regs_intr, abi, regs, arch)


def _register_set_lines(kind: str, mask: int, abi: int, regs: list[int], arch: str) -> Iterator[str]:
    if not abi:  # PERF_SAMPLE_REGS_ABI_NONE, as in a kernel thread
        return
    names = NAMES.get(arch, ())
    yield f"... {kind} regs: mask {mask:#x} ABI {_ABI_NAMES.get(abi, abi)}"
    bits = [bit for bit in range(64) if mask >> bit & 1]
    for bit, value in zip(bits, regs, strict=True):
        yield f".... {names[bit] if bit < len(names) else f'r{bit}':<5} 0x{value:016x}"


def _counter_lines(values: ReadValues, row: int, read_format: int) -> Iterator[str]:
    yield "... sample_read:"
    if values.enabled is not None:
        yield f"...... time enabled {int(values.enabled[row]):016x}"
    if values.running is not None:
        yield f"...... time running {int(values.running[row]):016x}"
    begin, end = int(values.offsets[row]), int(values.offsets[row + 1])
    if read_format & ReadFormat.GROUP:
        yield f".... group nr {end - begin}"
    for entry in range(begin, end):
        parts = [f"id {int(values.id[entry]):016x}"] if values.id is not None else []
        parts.append(f"value {int(values.value[entry]):016x}")
        parts += [f"lost {values.lost[entry]}"] if values.lost is not None else []
        yield f"..... {', '.join(parts)}"


def _variable_length_lines(batch: Samples, row: int, event: Event, session: SessionBuilder) -> Iterator[str]:
    if batch.raw is not None and event.sample_type & SampleType.RAW:
        raw = batch.raw.row(row).tobytes()
        text = _format_tracepoint(raw, event, session)
        yield f"... {event.name}: {text}" if text else f"... raw: {len(raw)} bytes {raw.hex(' ')}"
    aux = batch.extra.get("aux")
    if aux is not None and event.sample_type & SampleType.AUX:
        yield f"... aux: {len(aux.row(row))} bytes"


def _format_tracepoint(raw: bytes, event: Event, session: SessionBuilder) -> str:
    """Format fields as ``prev_comm=sleeper prev_pid=774``; "" without a recorded format."""
    formats: dict[str, Any] = session.features.get("tracing_data", {}).get("formats", {})
    format_entry = formats.get(str(event.config)) if event.type == EventType.TRACEPOINT else None
    if format_entry is None:
        return ""
    values = decode_fields(format_entry["fields"], raw, session.byte_order)
    return " ".join(f"{name}={value}" for name, value in values.items() if not name.startswith("common_"))
