"""Forged context switches: their event, its format, and threads that run, leave, end and begin."""

import struct

from tests.forge import Event, Exit, Fork, Sample, Stamp, Switch
from tests.forge import kernel as k

FORMAT = """name: sched_switch
ID: 316
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;

\tfield:pid_t prev_pid;\toffset:4;\tsize:4;\tsigned:1;
\tfield:pid_t next_pid;\toffset:8;\tsize:4;\tsigned:1;
"""
NEXT_PID = 8
USER = 0xFFFFFFFFFFFFFE00
RAW = Event().sample_type | k.RAW
TRACED = Event(name="sched:sched_switch", type=2, config=316, period=1, sample_type=RAW)
MS = 1_000_000
CLOCK = Event(period=MS)
"""One sample a millisecond."""
STATES = FORMAT + "\tfield:long prev_state;\toffset:16;\tsize:8;\tsigned:1;\n"


def tracing_data(order: str, text: str = FORMAT) -> bytes:
    """The container of one system with one format file."""

    def sized(body: bytes) -> bytes:
        return struct.pack(order + "Q", len(body)) + body

    head = b"\x17\x08\x44tracing" + b"0.6\0" + bytes([order == ">", 8]) + struct.pack(order + "I", 4096)
    pages = b"header_page\0" + sized(b"") + b"header_event\0" + sized(b"") + struct.pack(order + "I", 0)
    systems = struct.pack(order + "I", 1) + b"sched\0" + struct.pack(order + "I", 1) + sized(text.encode())
    return head + pages + systems + struct.pack(order + "II", 0, 0)


def switch(tid: int, time: int, *, out: bool = False, preempted: bool = False, pid: int = 7, cpu: int = 0) -> Switch:
    return Switch(is_out=out, preempted=preempted, stamp=Stamp(pid=pid, tid=tid, time=time, cpu=cpu))


def ran(tid: int, time: int, pid: int = 7) -> Sample:
    return Sample(pid=pid, tid=tid, ip=0x1000 * tid, time=time, period=MS, chain=(USER, 0x1000 * tid))


def leaves(tid: int, time: int, to: int = 0, state: int = 1, order: str = "<") -> Sample:
    raw = struct.pack(order + "4xiixxxxq", tid, to, state)
    return Sample(pid=tid, tid=tid, ip=0x1000 * tid, time=time, chain=(USER, 0x1000 * tid), raw=raw)


def ended(tid: int, time: int, pid: int = 7) -> Exit:
    return Exit(pid=pid, tid=tid, ppid=1, ptid=1, time=time, stamp=Stamp(pid=pid, tid=tid, time=time))


def born(tid: int, time: int, pid: int = 7, parent: int = 7) -> Fork:
    return Fork(pid=pid, tid=tid, ppid=7, ptid=parent, time=time, stamp=Stamp(pid=pid, tid=tid, time=time))
