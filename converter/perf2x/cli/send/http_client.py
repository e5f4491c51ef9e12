"""Posts a profile: TLS, a limit of time for everything, retries as OTLP/HTTP wants them, no redirects.

Source of truth: docs/specification.md of opentelemetry-proto, "OTLP/HTTP Response".
"""

import gzip
import random
import ssl
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from email.message import Message
from email.utils import parsedate_to_datetime
from http.client import HTTPException, HTTPMessage
from typing import IO

from msgspec import Struct

from perf2x.base.errors import OptionError, OutputError
from perf2x.cli.send.destination import Destination
from perf2x.cli.send.send_settings import SendSettings
from perf2x.cli.send.server_answer import reason, rejected

MOST_SENT = 64 << 20
"""Bytes of a profile before compression, which servers take by default."""
_MOST_READ = 4 << 20
_RETRIED = frozenset({429, 502, 503, 504})
_REFUSALS = 2
"""Attempts after one that nobody listened to: servers start in seconds, or the address is wrong."""
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0


class Clock(Struct, frozen=True):
    """Time and chance, so that tests need neither."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    today: Callable[[], float] = time.time
    chance: Callable[[], float] = random.random


class _Answer(Struct, frozen=True):
    """What came back: a status, or (0) why nothing did."""

    status: int
    body: bytes = b""
    content_type: str = ""
    retry_after: str = ""
    trouble: str = ""
    refused: bool = False
    """Nobody listens at the address."""
    final: bool = False
    """Another attempt would end as this one did."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Headers may be secrets of the server that was named, and of no other."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        """Follow nothing."""


def post(data: bytes, place: Destination, settings: SendSettings, clock: Clock | None = None) -> str:
    """Post a profile; return the server's remark, "" without one. OutputError where it did not take all of it."""
    clock = clock or Clock()
    if len(data) > MOST_SENT:
        raise OutputError(
            f"the profile has {len(data):,} bytes, more than servers take ({MOST_SENT:,}): "
            "send less of it (--event, --time, --pid), or one event at a time (--per-event)"
        )
    request, opener = _request(data, place, settings), _opener(settings)
    end, attempt = clock.now() + settings.seconds, 0
    while True:
        answer = _attempt(opener, request, end - clock.now())
        pause = _pause(answer, attempt, clock)
        if pause is None or clock.now() + pause >= end:
            return _remark(answer, place, attempt)
        clock.sleep(pause)
        attempt += 1


def _request(data: bytes, place: Destination, settings: SendSettings) -> urllib.request.Request:
    headers = {**settings.headers, "Content-Type": place.content_type, "User-Agent": "perf2x"}
    if settings.compress and place.is_otlp:
        data = gzip.compress(data, 6, mtime=0)
        headers["Content-Encoding"] = "gzip"
    return urllib.request.Request(place.url, data, headers, method="POST")


def _opener(settings: SendSettings) -> urllib.request.OpenerDirector:
    try:
        context = ssl.create_default_context(cafile=settings.certificate or None)
        if settings.client_certificate:
            context.load_cert_chain(settings.client_certificate, settings.client_key or None)
    except OSError as error:  # ssl.SSLError is one, too
        raise OptionError(f"OTEL_EXPORTER_OTLP_CERTIFICATE, _CLIENT_CERTIFICATE or _CLIENT_KEY: {error}") from None
    return urllib.request.build_opener(_NoRedirects, urllib.request.HTTPSHandler(context=context))


def _attempt(opener: urllib.request.OpenerDirector, request: urllib.request.Request, seconds: float) -> _Answer:
    """Send once; a thread does, because a server that answers byte by byte outlasts every socket's own limit."""
    answers: list[_Answer] = []
    worker = threading.Thread(target=lambda: answers.append(_exchange(opener, request, seconds)), daemon=True)
    worker.start()
    worker.join(seconds)
    return answers[0] if answers else _Answer(0, trouble="no answer in time", final=True)


def _exchange(opener: urllib.request.OpenerDirector, request: urllib.request.Request, seconds: float) -> _Answer:
    try:
        with opener.open(request, timeout=seconds) as answer:
            return _answer(answer.status, answer.headers, answer)
    except urllib.error.HTTPError as error:
        with error:
            return _answer(error.code, error.headers, error)
    except (OSError, HTTPException, ValueError) as error:
        cause = getattr(error, "reason", error)
        trouble = str(cause) or type(cause).__name__
        refused, final = isinstance(cause, ConnectionRefusedError), isinstance(cause, ssl.SSLError)
        return _Answer(0, trouble=trouble, refused=refused, final=final)


def _answer(status: int, headers: Message, body: IO[bytes]) -> _Answer:
    try:
        read = body.read(_MOST_READ + 1)
    except (OSError, HTTPException):
        read = b""  # the status tells enough
    kind = headers.get("Content-Type", "").lower()
    return _Answer(status, read[:_MOST_READ], kind, headers.get("Retry-After", ""), final=len(read) > _MOST_READ)


def _pause(answer: _Answer, attempt: int, clock: Clock) -> float | None:
    """Return the seconds to wait before the next attempt; None where there must be none."""
    if answer.final or (answer.status and answer.status not in _RETRIED):
        return None
    if answer.refused and attempt == _REFUSALS:
        return None
    if answer.retry_after:
        asked = _seconds(answer.retry_after, clock)
        if asked is not None:
            return asked
    return min(_FIRST_PAUSE * 2.0**attempt, _LONGEST_PAUSE) * (0.5 + clock.chance())


def _seconds(text: str, clock: Clock) -> float | None:
    """Read ``Retry-After``: seconds, or a date; None for neither."""
    if text.isascii() and text.isdigit():
        return float(min(int(text[:10]), 86_400))
    try:
        return max(parsedate_to_datetime(text).timestamp() - clock.today(), 0.0)
    except (ValueError, OverflowError, OSError):
        return None


def _remark(answer: _Answer, place: Destination, retries: int) -> str:
    """Return what a server that took the profile remarks; OutputError says why one did not."""
    tried = f" after {retries + 1} attempts" if retries else ""
    if not answer.status:
        raise OutputError(f"cannot send to {place.shown}{tried}: {answer.trouble}")
    if not 200 <= answer.status < 300:
        why = reason(answer.body, answer.content_type)
        raise OutputError(f"{place.shown} answered {answer.status}{tried}" + (f": {why}" if why else ""))
    if not place.is_otlp:
        return ""
    if answer.final:
        raise OutputError(f"{place.shown} answered more than {_MOST_READ:,} bytes: it is not known what it took")
    number, remark = rejected(answer.body, answer.content_type or place.content_type)
    if number:
        raise OutputError(f"{place.shown} refused {number:,} profiles" + (f": {remark}" if remark else ""))
    return remark
