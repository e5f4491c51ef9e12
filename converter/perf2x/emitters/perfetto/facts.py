"""Facts about the recording: its clock and the machine."""

from perf2x.emitters.perfetto.message import message, number, packet, text
from perf2x.emitters.perfetto.trace_schema import BuiltinClock, Clock, ClockSnapshot, SystemInfo, TracePacket, Utsname
from perf2x.model.printable_text import printable
from perf2x.model.profile.profile import Meta


def clock_snapshot(meta: Meta) -> bytes:
    """Encode the wall-clock time of the recording's start; nothing where the file does not tell."""
    if not meta.wall_start_ns:
        return b""
    clocks = ((BuiltinClock.BOOTTIME, meta.start_ns), (BuiltinClock.REALTIME, meta.wall_start_ns))
    readings = (number(Clock.CLOCK_ID, clock) + number(Clock.TIMESTAMP, time) for clock, time in clocks)
    snapshot = b"".join(message(ClockSnapshot.CLOCKS, reading) for reading in readings)
    snapshot += number(ClockSnapshot.PRIMARY_TRACE_CLOCK, BuiltinClock.BOOTTIME)
    time = number(TracePacket.TIMESTAMP, meta.start_ns)
    return packet(time + message(TracePacket.CLOCK_SNAPSHOT, snapshot))


def system_info(meta: Meta) -> bytes:
    """Encode kernel and architecture; nothing where the file tells neither."""
    if not meta.os_release and not meta.arch:
        return b""
    names = text(Utsname.SYSNAME, "Linux") + text(Utsname.RELEASE, printable(meta.os_release))
    names += text(Utsname.MACHINE, printable(meta.arch))
    time = number(TracePacket.TIMESTAMP, meta.start_ns)
    return packet(time + message(TracePacket.SYSTEM_INFO, message(SystemInfo.UTSNAME, names)))
