"""Asks perf which packets it finds in Arm SPE trace, and which samples it makes of them, and stores its answers.

Run by hand; needs perf 7.2.

``python -m tests.support.ask_spe [COMMAND …]``: words in front of ``perf``, such as ``chroot``; then perf reads each
recording as ``/root/spe/perf.data`` there, and ``SPE_ANSWERS_FOLDER`` is that folder.
"""

import json
import lzma
import os
import re
import subprocess
import sys
from pathlib import Path

from tests.support.spe_traces import ITRACES, damaged, recording, recording_of

ANSWERS = Path(__file__).parents[1] / "unit/reader/spe/data/perf_answers.json.xz"
SEEDS = range(36)
DUMPED = range(8)
_OPERATIONS = {"48", "49", "4a"}
_PACKET = re.compile(r"\.  ([0-9a-f]{8}): ((?: [0-9a-f]{2})+) +(\S.*)")
_FIELDS = "pid,tid,cpu,time,event,ip,addr,weight,data_src,phys_addr,period"
_LINE = re.compile(
    r"\s*(-?\d+)/(-?\d+)\s+\[(\d+)]\s+(\d+)\.(\d+):\s+(\d+)\s+(\S+):\s+([0-9a-f]+)\s+([0-9a-f]+) \|.*?\|BLK +\S+\s+"
    r"(\d+)\s+([0-9a-f]+)\s+((?:0x\S+\s+)*)([0-9a-f]+)"
)


def itrace_of(seed: int) -> str:
    return ITRACES[seed % len(ITRACES)]


def rows_of(text: str) -> list[list[object]]:
    """[time, cpu, pid, tid, event, period, address, data_src, weight, ip, physical address, branches] by sample."""
    rows: list[list[object]] = []
    for line in text.splitlines():
        found = _LINE.fullmatch(line)
        assert found, line
        pid, tid, cpu, seconds, ns, period, event, *rest, branches, physical = found.groups()
        weight = rest[2]
        when = int(seconds) * 10**9 + int(ns)
        address, source, ip, where = (int(word, 16) for word in (rest[0], rest[1], rest[3], physical))
        stack = " ".join(branches.split())
        numbers = (address, source, int(weight), ip, where)
        rows.append([when, int(cpu), int(pid), int(tid), event, int(period), *numbers, stack])
    return rows


def packets_of(text: str) -> list[tuple[int, str]]:
    """Offset behind each packet, and perf's words for it; of padding, and of operations, which it often words wrongly,
    none."""
    found = (match.groups() for match in map(_PACKET.fullmatch, text.splitlines()) if match)
    kept = ((at, raw, words) for at, raw, words in found if words != "PAD" and raw.split()[0] not in _OPERATIONS)
    return [(int(at, 16) + len(raw) // 3, words.strip()) for at, raw, words in kept]


def _ask(data: bytes, *words: str) -> str:
    Path(os.environ["SPE_ANSWERS_FOLDER"], "perf.data").write_bytes(data)
    command = [*sys.argv[1:], "perf", "script", *words, "-i", "/root/spe/perf.data"]
    return subprocess.run(command, capture_output=True, text=True, errors="replace", check=True).stdout


def main() -> None:
    samples = {}
    for seed in SEEDS:
        itrace = itrace_of(seed)
        fields = _FIELDS + (",brstack" if "l" in itrace else "")
        samples[seed] = rows_of(_ask(recording(seed), "--ns", f"--itrace={itrace}", "-F", fields))
    packets = {seed: packets_of(_ask(recording_of(damaged(seed)), "-D")) for seed in DUMPED}
    answers = {"samples": samples, "packets": packets}
    ANSWERS.write_bytes(lzma.compress(json.dumps(answers, separators=(",", ":")).encode(), preset=9))


if __name__ == "__main__":
    main()
