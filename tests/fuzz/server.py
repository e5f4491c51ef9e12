"""A debuginfod server without a network: the same bytes for every request."""

import io
import urllib.request
from collections.abc import Mapping
from typing import Any

URL = "http://debuginfod.invalid"


class _Answer(io.BytesIO):
    """The part of ``urlopen``'s response that base/binaries/find/debuginfod.py uses."""

    def __init__(self, body: bytes, headers: Mapping[str, str]) -> None:
        super().__init__(body)
        self.headers = headers


def answer_with(body: bytes, size: int) -> None:
    """Answer every request of this process with ``body`` and a Content-Length of ``size`` (0: none)."""
    headers = {"Content-Length": str(size)} if size else {}

    def urlopen(request: Any, timeout: float) -> _Answer:
        return _Answer(body, headers)

    urllib.request.urlopen = urlopen  # type: ignore[assignment]
