"""Rows that lie in a temporary file are those that were written."""

import os

import numpy as np
import pytest

from perf2x.base.files import row_spool, unpack_limit
from perf2x.base.files.row_spool import RowSpool
from perf2x.errors import FormatError


@pytest.mark.parametrize("at_once", [1, 40, 1 << 20])
def test_rows_come_back(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_spool, "_BYTES_AT_ONCE", at_once)
    spool, columns = RowSpool(2), np.arange(24, dtype=np.int32).reshape(2, 12)
    for start in (0, 5, 6):
        spool.extend(*columns[:, start : {0: 5, 5: 6, 6: 12}[start]])
        assert spool.read(start, start + 1).tolist() == columns[:, start : start + 1].tolist()
    assert len(spool) == 12
    for start, stop in ((0, 12), (3, 9), (4, 4), (11, 12)):
        rows = spool.read(start, stop)
        assert rows.tolist() == columns[:, start:stop].tolist()
        rows[:] = -1  # the reader's own
    assert spool.read(0, 12).tolist() == columns.tolist()


def test_few_rows_need_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpack_limit, "temporary_file", pytest.fail)
    spool = RowSpool(1)
    spool.extend(np.ones(1000, np.int32))
    assert spool.read(0, 1000).tolist() == [[1] * 1000]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_another_process_writes_what_this_one_reads() -> None:
    spool = RowSpool(2)
    spool.open()
    if not (child := os.fork()):
        spool.extend(np.array([1, 2], np.int32), np.array([3, 4], np.int32))
        spool.flush()
        os._exit(0)
    os.waitpid(child, 0)
    assert spool.read(0, 2).tolist() == [[1, 2], [3, 4]]


def test_no_room_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(unpack_limit, "temporary_file", refuse)
    with pytest.raises(FormatError, match=r"^samples: cannot make a temporary file: Permission denied"):
        RowSpool(2).open()
