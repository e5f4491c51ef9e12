"""Formats records that have a decoder, by its columns, worded as perf_event__fprintf_* in tools/perf/util/event.c."""

from collections.abc import Callable, Mapping
from typing import Any

from perf2x.base.abi.uapi import MISC_CPUMODE_MASK, MISC_MMAP_BUILD_ID, MISC_MMAP_DATA, CallchainContext, RecordType

Columns = Mapping[str, Any]
RecordFormatter = Callable[[Columns, int, int], str]
_NAMESPACES = ("net", "uts", "ipc", "pid", "user", "mnt", "cgroup")
_PROTECTION = ((4, "x"), (2, "w"), (1, "r"))
_CONTEXTS = {int(context): context.name for context in CallchainContext}


def record_text(kind: int, columns: Columns, row: int, misc: int) -> tuple[str, list[str]]:
    """Return the rest of the record's first line, and the lines below it."""
    text = _FORMATTERS[kind](columns, row, misc)
    more = chain_lines(columns["chain"].row(row).tolist()) if kind == RecordType.CALLCHAIN_DEFERRED else []
    return text, more


def chain_lines(chain: list[int]) -> list[str]:
    """Format ``... FP chain: nr:3`` and the entries, markers with their names, as callchain__printf does."""
    lines = [f"... FP chain: nr:{len(chain)}"]
    for number, entry in enumerate(chain):
        marker = f" (PERF_CONTEXT_{_CONTEXTS[entry]})" if entry in _CONTEXTS else ""
        lines.append(f"..... {number:2}: {entry:016x}{marker}")
    return lines


def _mmap_text(columns: Columns, row: int, misc: int) -> str:
    return _mapping_text(columns, row, "", "r" if misc & MISC_MMAP_DATA else "x")


def _mmap2_text(columns: Columns, row: int, misc: int) -> str:
    prot, flags = int(columns["prot"][row]), int(columns["flags"][row])
    letters = "".join(letter if prot & bit else "-" for bit, letter in reversed(_PROTECTION))
    if misc & MISC_MMAP_BUILD_ID:
        file = f" <{columns['build_id'][row].hex()}>"
    else:
        numbers = [int(columns[name][row]) for name in ("major", "minor", "inode", "inode_generation")]
        file = " {:02x}:{:02x} {} {}".format(*numbers)
    return _mapping_text(columns, row, file, letters + ("s" if flags & 1 else "p"))


def _mapping_text(columns: Columns, row: int, file: str, letters: str) -> str:
    start, length, pgoff = (int(columns[name][row]) for name in ("start", "length", "pgoff"))
    place = f"[{start:#x}({length:#x}) @ {pgoff:#x}{file}]" if pgoff else f"[{start:#x}({length:#x}) @ 0{file}]"
    return f" {columns['pid'][row]}/{columns['tid'][row]}: {place}: {letters} {columns['filename'][row]}"


def _comm_text(columns: Columns, row: int, misc: int) -> str:
    exec_word = " exec" if columns["is_exec"][row] else ""
    return f"{exec_word}: {columns['comm'][row]}:{columns['pid'][row]}/{columns['tid'][row]}"


def _task_text(columns: Columns, row: int, misc: int) -> str:
    pid, tid, ppid, ptid = (columns[name][row] for name in ("pid", "tid", "ppid", "ptid"))
    return f"({pid}:{tid}):({ppid}:{ptid})"


def _lost_text(columns: Columns, row: int, misc: int) -> str:
    return f": id {columns['owner_id'][row]}: lost {columns['lost'][row]}"


def _lost_samples_text(columns: Columns, row: int, misc: int) -> str:
    return f": lost samples {columns['lost'][row]}"


def _throttle_text(columns: Columns, row: int, misc: int) -> str:
    return f": id {columns['owner_id'][row]} time {columns['own_time'][row]}"


def _aux_text(columns: Columns, row: int, misc: int) -> str:
    numbers = (f"{name}: {int(columns[name][row]):#x}" for name in ("offset", "size", "flags"))
    letters = "".join(letter for bit, letter in enumerate("TOPC") if int(columns["flags"][row]) >> bit & 1)
    return f" {' '.join(numbers)} [{letters}]".replace(" 0x0", " 0")


def _ksymbol_text(columns: Columns, row: int, misc: int) -> str:
    flags = int(columns["unregister"][row])
    place = f"addr {int(columns['start'][row]):x} len {columns['length'][row]}"
    return f" {place} type {columns['type'][row]} flags {flags:#x} name {columns['name'][row]}"


def _switch_text(columns: Columns, row: int, misc: int) -> str:
    out, preempted = columns["is_out"][row], columns["preempted"][row]
    return f" {'OUT preempt' if preempted else 'OUT        ' if out else 'IN         '}"


def _switch_cpu_wide_text(columns: Columns, row: int, misc: int) -> str:
    side = "next" if columns["is_out"][row] else "prev"
    other = f"{columns['next_prev_pid'][row]:5}/{columns['next_prev_tid'][row]:<5}"
    return f"{_switch_text(columns, row, misc)}  {side} pid/tid: {other}"


def _cgroup_text(columns: Columns, row: int, misc: int) -> str:
    return f" cgroup: {columns['id'][row]} {columns['path'][row]}"


def _namespaces_text(columns: Columns, row: int, misc: int) -> str:
    links = columns["links"].row(row).tolist()
    names = [*_NAMESPACES, *("UNKNOWN" for _ in links[2 * len(_NAMESPACES) :: 2])]
    pairs = zip(names, links[::2], links[1::2], strict=False)
    listed = ", ".join(f"{at}/{name}: {dev}/{inode:#x}" for at, (name, dev, inode) in enumerate(pairs))
    return f" {columns['pid'][row]}/{columns['tid'][row]} - nr_namespaces: {len(links) // 2} [{listed}]"


def _deferred_text(columns: Columns, row: int, misc: int) -> str:
    mode = misc & MISC_CPUMODE_MASK
    return f"(IP, {mode:#x}): {columns['pid'][row]}/{columns['tid'][row]}: {int(columns['cookie'][row]):#x}"


_FORMATTERS: dict[int, RecordFormatter] = {
    RecordType.MMAP: _mmap_text,
    RecordType.MMAP2: _mmap2_text,
    RecordType.COMM: _comm_text,
    RecordType.FORK: _task_text,
    RecordType.EXIT: _task_text,
    RecordType.LOST: _lost_text,
    RecordType.LOST_SAMPLES: _lost_samples_text,
    RecordType.THROTTLE: _throttle_text,
    RecordType.UNTHROTTLE: _throttle_text,
    RecordType.AUX: _aux_text,
    RecordType.KSYMBOL: _ksymbol_text,
    RecordType.SWITCH: _switch_text,
    RecordType.SWITCH_CPU_WIDE: _switch_cpu_wide_text,
    RecordType.CGROUP: _cgroup_text,
    RecordType.NAMESPACES: _namespaces_text,
    RecordType.CALLCHAIN_DEFERRED: _deferred_text,
}
