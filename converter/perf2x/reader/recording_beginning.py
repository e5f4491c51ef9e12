"""What a recording and every earlier or cut state of it have in common: events, and the records up to the first sample.

::

    killed, or still running   |header|attrs|records …|SAMPLE|…
    cut                        |header|attrs|records …|SAMPLE|………
    whole                      |header|attrs|records …|SAMPLE|………………………|features|
                                       └───── digest ──────┘
"""

import hashlib
from collections.abc import Sequence

import numpy as np

from perf2x.base.abi.perffile import UserRecordType
from perf2x.base.abi.uapi import RecordType
from perf2x.model.recording.events import Event
from perf2x.reader.record_stream import RecordStream

_WIDTH = 16
_LAST = (int(RecordType.SAMPLE), int(UserRecordType.FINISHED_INIT))


def beginning_of(events: Sequence[Event], stream: RecordStream) -> bytes | None:
    """Digest of 16 bytes, None where there is no sample: the first one's time, thread and address tell sessions apart.

    Files of a directory grow side by side, so that only the first one counts, which perf ends by FINISHED_INIT.
    """
    digest = hashlib.blake2b(digest_size=_WIDTH)
    digest.update(repr([(event.type, event.config, event.sample_type, event.ids) for event in events]).encode())
    last = _LAST[: len(stream.sections)]
    none = [np.zeros(0, np.int32)] * sum(map(len, stream.plans))
    for number, block in stream.blocks(none):
        if number >= len(stream.plans[0]):
            break
        ends = np.flatnonzero(np.isin(block.types, last))
        stop = int(block.starts[ends[0]] * 8 + block.sizes[ends[0]]) if len(ends) else len(block.data)
        digest.update(block.data[:stop].tobytes())
        if len(ends):
            return digest.digest()
    return None
