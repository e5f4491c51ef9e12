"""Perfetto's own trace format, for ui.perfetto.dev and its trace processor.

A trace is a list of packets on numbered *sequences*. A packet can set defaults for later packets of its sequence, and
*intern* strings, frames or stacks, to which they refer by number (``iid``). Samples are written as samples, not as
slices, because a slice claims to know from when to when a function ran.

Source of truth: protos/perfetto/trace and the importers in src/trace_processor of Perfetto's repository.
"""

from collections.abc import Iterator
from typing import BinaryIO

from perf2x.emitters.encoding.protobuf import message, number, string
from perf2x.emitters.perfetto.packets_and_clocks import clock_snapshot, packet, sequence_start
from perf2x.emitters.perfetto.samples.sample_packets import sample_packets
from perf2x.emitters.perfetto.thread_ids import process_tree
from perf2x.emitters.perfetto.trace_schema import SystemInfo, TracePacket, Utsname
from perf2x.emitters.perfetto.tracks.counters_and_instants import (
    counter_packets,
    loss_packets,
    running_thread_packets,
    tracepoint_packets,
)
from perf2x.emitters.perfetto.tracks.thread_states import state_slice_packets, task_state_packets, thread_name_packets
from perf2x.model.plugin_options import FINISHED, START_TIME, Format, Needs
from perf2x.model.printable_text import printable
from perf2x.model.profile import Meta, Profile


class Perfetto(Format):
    """Perfetto's own trace, samples as samples: for ui.perfetto.dev 58 and later, the smallest timeline."""

    suffix = ".pftrace"
    needs = Needs(
        timeline=True,
        times=True,
        columns=frozenset({"cpu", "counts", "fields"}),
        honours=FINISHED | {START_TIME},
        binary=True,
        viewer="open it: ui.perfetto.dev, version 58 or later; older ones: --to chrome",
    )

    def emit(self, profile: Profile, out: BinaryIO) -> None:
        """Write the trace packet by packet."""
        out.writelines(self.packets(profile))

    def packets(self, profile: Profile) -> Iterator[bytes]:
        """Yield the trace, many packets at a time."""
        yield clock_snapshot(profile.meta) + sequence_start(profile.meta)
        yield _system_info(profile.meta)
        yield process_tree(profile)
        yield from sample_packets(profile)
        yield from counter_packets(profile)
        yield from running_thread_packets(profile)
        yield from thread_name_packets(profile)
        yield from task_state_packets(profile)
        yield from state_slice_packets(profile)
        yield from tracepoint_packets(profile)
        yield from loss_packets(profile)


def _system_info(meta: Meta) -> bytes:
    if not meta.os_release and not meta.arch:
        return b""
    names = string(Utsname.SYSNAME, "Linux") + string(Utsname.RELEASE, printable(meta.os_release))
    names += string(Utsname.MACHINE, printable(meta.arch))
    time = number(TracePacket.TIMESTAMP, meta.start_ns)
    return packet(time + message(TracePacket.SYSTEM_INFO, message(SystemInfo.UTSNAME, names)))
