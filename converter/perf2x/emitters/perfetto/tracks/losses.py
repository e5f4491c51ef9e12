"""Lost records as instants on a track of their own."""

from collections.abc import Iterator

import numpy as np

from perf2x.base.columnar.arrays import U64, AnyArray
from perf2x.emitters.encoding.protobuf_cells import Cells, beside, nested, numbers
from perf2x.emitters.perfetto.message import COMMON_SEQUENCE, GOES_ON, STARTS, message, packet, packet_rows
from perf2x.emitters.perfetto.trace_schema import InternedData, TracePacket
from perf2x.emitters.perfetto.track_schema import DebugAnnotation, EventType, TrackEvent
from perf2x.emitters.perfetto.tracks.track_ids import TrackKind, global_track, interned_names, track_ids
from perf2x.model.profile.profile import Profile

_NAMES = ("lost records", "lost samples")
_FACTS = ("count", "cpu")


def loss_packets(profile: Profile) -> Iterator[bytes]:
    """Yield an instant for each time that the kernel had no room; it says so behind the gap."""
    losses = profile.losses
    if losses is None or not len(losses):
        return
    count = len(losses)
    tables = interned_names(InternedData.EVENT_NAMES, _NAMES)
    tables += interned_names(InternedData.DEBUG_ANNOTATION_NAMES, _FACTS)
    yield global_track(TrackKind.LOSSES, "lost")
    yield packet(message(TracePacket.INTERNED_DATA, tables), COMMON_SEQUENCE, STARTS)
    cpu = _fact(2, np.maximum(losses.cpu, 0))
    fields = [
        _fact(1, losses.lost),
        cpu.without(losses.cpu < 0),
        numbers(TrackEvent.TYPE, np.full(count, EventType.TYPE_INSTANT)),
        numbers(TrackEvent.NAME_IID, 1 + losses.samples_only.astype(np.int64)),
        numbers(TrackEvent.TRACK_UUID, track_ids(TrackKind.LOSSES, np.zeros(count, np.int64))),
    ]
    end = np.uint64(profile.meta.start_ns + profile.meta.duration_ns)
    time: U64 = np.where(losses.time > 0, losses.time, end)  # perf counts lost samples when it ends, and writes no time
    yield packet_rows(time, nested(TracePacket.TRACK_EVENT, beside(fields)), COMMON_SEQUENCE, GOES_ON)


def _fact(name: int, values: AnyArray) -> Cells:
    annotation = [
        numbers(DebugAnnotation.NAME_IID, np.full(len(values), name)),
        numbers(DebugAnnotation.UINT_VALUE, values),
    ]
    return nested(TrackEvent.DEBUG_ANNOTATIONS, beside(annotation))
