"""A debuginfod server without a network: the same bytes for whatever it is asked."""

import io
import urllib.request
from collections.abc import Mapping
from typing import Any

URL = "http://debuginfod.invalid"


class _Answer(io.BytesIO):
    """What ``urlopen`` gives, as far as debugfiles/debuginfod.py looks at it."""

    def __init__(self, body: bytes, headers: Mapping[str, str]) -> None:
        super().__init__(body)
        self.headers = headers


def answer_with(body: bytes, size: int) -> None:
    """Let every request of this process be answered with ``body``, of which the header says ``size`` (0: nothing)."""
    headers = {"Content-Length": str(size)} if size else {}

    def urlopen(request: Any, timeout: float) -> _Answer:
        return _Answer(body, headers)

    urllib.request.urlopen = urlopen  # type: ignore[assignment]
