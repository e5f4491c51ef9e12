"""Matches deferred callchains to samples: by cookie, the nearest in time of the same thread."""

from collections import defaultdict
from types import SimpleNamespace

from tests.forge import kernel as k


def cookie_of(sample: SimpleNamespace) -> int | None:
    """The word behind PERF_CONTEXT_USER_DEFERRED, None when the sample has its user part inline or none."""
    chain = sample.chain
    return chain[-1] if len(chain) >= 2 and chain[-2] == k.CONTEXT_USER_DEFERRED else None


class Joiner:
    """Answers for one recording; ``record_for`` gives None when the file holds no chain for the sample."""

    def __init__(self, records: list[SimpleNamespace]) -> None:
        self.by_cookie: dict[int, list[SimpleNamespace]] = defaultdict(list)
        self.execs: dict[int, list[int]] = defaultdict(list)
        for record in records:
            if record.kind == "CALLCHAIN_DEFERRED":
                self.by_cookie[record.cookie].append(record)
            if record.kind == "COMM" and record.is_exec:
                self.execs[record.pid].append(record.time or 0)

    def record_for(self, sample: SimpleNamespace) -> SimpleNamespace | None:
        cookie = cookie_of(sample)
        candidates = self.by_cookie.get(cookie, []) if cookie is not None else []
        own = [record for record in candidates if record.stamp_tid in (None, sample.tid)]
        leaders = [record for record in candidates if record.stamp_tid == sample.pid]
        nearest = min(own or leaders, key=lambda record: _distance(sample, record), default=None)
        return nearest if own or nearest is None or self._by_exec(sample, nearest) else None

    def _by_exec(self, sample: SimpleNamespace, record: SimpleNamespace) -> bool:
        """Exec from a thread that is not the leader gives it the leader's thread id (fs/exec.c, de_thread)."""
        if record.stamp_pid != sample.pid or record.stamp_tid != record.stamp_pid:
            return False
        low, high = sorted((sample.time or 0, record.time or 0))
        return any(low <= time <= high for time in self.execs[sample.pid])


def _distance(sample: SimpleNamespace, record: SimpleNamespace) -> tuple[int, int, int]:
    if sample.time is None:
        return 0, abs(record.at - sample.at), record.at
    return abs(record.time - sample.time), record.time < sample.time, record.at
